"""Documents as elements: every path and every offset, against a naive reading of the same tree."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveal.collection import WHITESPACE, DocumentError
from foveal.collection.parsing import Recorder
from xml_trees import Tree, batch_spans, document, expected, trees

modes = pytest.mark.parametrize("whitespace", WHITESPACE)


def spans(data: str | bytes, whitespace: str = "keep") -> dict[str, tuple[int, int]]:
    recorder = Recorder(whitespace=whitespace)
    recorder.add("d", data.encode() if isinstance(data, str) else data)
    return batch_spans(recorder.batch())[0]


def test_an_element_is_what_stands_between_its_tags() -> None:
    assert spans("<a>x<b>yz</b><b/>.</a>") == {
        "/a[1]": (0, 4),
        "/a[1]/b[1]": (1, 3),
        "/a[1]/b[2]": (3, 3),
    }


def test_comments_instructions_and_cdata_boundaries_hold_no_text() -> None:
    assert spans("<a>x<!-- no --><?no no?><![CDATA[<y>]]><b/>z</a>") == {
        "/a[1]": (0, 5),
        "/a[1]/b[1]": (4, 4),
    }


def test_ordinals_count_siblings_of_the_same_qualified_name() -> None:
    assert list(spans("<a><m:p/><p/><q/><p/><n:p/></a>")) == [
        "/a[1]",
        "/a[1]/m:p[1]",
        "/a[1]/p[1]",
        "/a[1]/q[1]",
        "/a[1]/p[2]",
        "/a[1]/n:p[1]",
    ]


def test_a_character_beyond_the_basic_plane_counts_one() -> None:
    assert spans("<a>𝄞<b>𝄞é</b></a>")["/a[1]/b[1]"] == (1, 3)


@pytest.mark.parametrize(
    ("whitespace", "root", "first", "second"),
    [
        ("keep", (0, 14), (3, 8), (9, 11)),
        ("merge", (0, 6), (1, 5), (5, 5)),  # " x y z", also where a run of blanks holds tags
        ("strip", (0, 8), (0, 5), (5, 5)),
    ],
)
def test_white_space_counts_as_declared(
    whitespace: str, root: object, first: object, second: object
) -> None:
    found = spans("<a> \n <b>x\t\ny </b>\n<b>  </b>\n z</a>", whitespace)
    assert found == {"/a[1]": root, "/a[1]/b[1]": first, "/a[1]/b[2]": second}


def test_a_no_break_space_is_no_white_space() -> None:
    assert spans("<a>\N{NO-BREAK SPACE}\N{EM SPACE}</a>", "merge")["/a[1]"] == (0, 2)
    assert spans("<a>\N{NO-BREAK SPACE}<b/></a>", "strip")["/a[1]"] == (0, 1)


def test_a_text_node_is_not_split_by_comments_when_white_space_is_stripped() -> None:
    assert spans("<a> <!-- x --> y</a>", "strip")["/a[1]"] == (0, 3)
    assert spans("<a> <!-- x --> <b/> y</a>", "strip")["/a[1]"] == (0, 2)


@modes
@given(st.lists(trees, min_size=1, max_size=4))
def test_random_documents(whitespace: str, some: list[Tree]) -> None:
    recorder = Recorder(whitespace=whitespace)
    for number, tree in enumerate(some):
        recorder.add(str(number), document(tree))
    batch = recorder.batch()
    assert batch.documents == tuple(map(str, range(len(some))))
    digests = [batch.digests[i : i + 16] for i in range(0, len(batch.digests), 16)]
    for tree, found, length, digest in zip(
        some, batch_spans(batch), batch.lengths, digests, strict=True
    ):
        text, wanted = expected(tree, whitespace)
        assert found == wanted
        assert length == len(text)
        assert digest == hashlib.blake2b(text.encode(), digest_size=16).digest()


@given(trees, trees)
def test_a_document_that_fails_leaves_no_trace(first: Tree, second: Tree) -> None:
    recorder, alone = Recorder(), Recorder()
    recorder.add("1", document(first))
    with pytest.raises(DocumentError):
        recorder.add("broken", document(second) + b"<rest>")
    with pytest.raises(DocumentError):
        recorder.add("nameless", document(second), name_tag="no-such-tag")
    recorder.add("2", document(second))
    alone.add("1", document(first))
    alone.add("2", document(second))
    one, other = recorder.batch(), alone.batch()
    assert batch_spans(one) == batch_spans(other)
    assert (one.documents, one.digests) == (other.documents, other.digests)
    assert one.paths.tags == other.paths.tags


@modes
def test_a_text_node_longer_than_expats_buffer(whitespace: str) -> None:
    long = ("word  " * 20_000).encode()
    size = {"keep": 120_000, "merge": 100_000, "strip": 120_000}[whitespace]
    found = spans(b"<a><p>" + long + b"</p>" + b" " * 20_000 + b"<q/>.</a>", whitespace)
    assert found["/a[1]/p[1]"] == (0, size)
    between = {"keep": 20_000, "merge": 0, "strip": 0}[whitespace]
    assert found["/a[1]/q[1]"] == (size + between, size + between)


@pytest.mark.parametrize(("whitespace", "size"), [("keep", 7), ("merge", 4), ("strip", 7)])
def test_plain_text_is_one_element(whitespace: str, size: int) -> None:
    recorder = Recorder(whitespace=whitespace)
    recorder.add("t", "a  b \n ")
    recorder.add("blank", "   ")
    one, blank = batch_spans(recorder.batch())
    assert one == {"/text[1]": (0, size)}
    assert blank == {"/text[1]": (0, {"keep": 3, "merge": 1, "strip": 0}[whitespace])}


def test_many_elements_and_tags() -> None:
    body = "".join(f"<t{i % 300}>{i}</t{i % 300}>" for i in range(50_000))
    found = spans(f"<a>{body}</a>")
    assert len(found) == 50_001
    assert found["/a[1]/t7[1]"] == (7, 8)
    assert f"/a[1]/t199[{50_000 // 300}]" in found


@pytest.mark.parametrize(
    ("tag", "name"),
    [("id", "12 b"), ("b", "b"), ("title", "x"), ("a", "x12 b.7")],
)
def test_a_document_may_be_named_by_an_element(tag: str, name: str) -> None:
    recorder = Recorder()
    recorder.add("before", b"<a><id>0</id></a>")
    data = b"<a><title>x</title><id>\n12 <b>b</b> </id>.<r><id>7</id></r></a>"
    if tag == "a":
        data = data.replace(b"\n", b"").replace(b" </id>", b"</id>")
    recorder.add("path", data, name_tag=tag)
    assert recorder.batch().documents == ("before", name)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<a/>", "no <id> element to name the document by"),
        (b"<a><id> </id></a>", "the document's name is empty"),
        (b"<a><id>x\ny</id></a>", "the document's name is empty, holds a line break"),
    ],
)
def test_documents_without_a_name_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        Recorder().add("path", data, name_tag="id")


@pytest.mark.parametrize("name", ["", "a\nb", "\udc80"])
def test_names_that_cannot_be_written_are_refused(name: str) -> None:
    recorder = Recorder()
    with pytest.raises(DocumentError, match="the document's name"):
        recorder.add(name, b"<a/>")
    with pytest.raises(DocumentError, match="the document's name"):
        recorder.add(name, "x")
    assert recorder.batch().documents == ()


def test_an_empty_batch() -> None:
    batch = Recorder().batch()
    assert len(batch.path) == len(batch.paths.parent) == len(batch.lengths) == 0
