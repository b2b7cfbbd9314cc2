"""Hostile and odd documents: a clear error in little memory, and nothing is fetched."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from foveal.collection import (
    BuildOptions,
    DocumentError,
    Limits,
    build_index,
)
from foveal.collection.parsing import Recorder
from inputs import refusal
from xml_trees import batch_spans, index_of


def text_length(data: bytes, limits: Limits | None = None) -> int:
    recorder = Recorder(limits=limits)
    recorder.add("d", data)
    return int(recorder.batch().lengths[0])


def error(data: bytes, limits: Limits | None = None) -> str:
    return refusal(text_length, data, limits, error=DocumentError)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket and, beyond what is open already, no file."""

    def refuse(*args: object, **options: object) -> None:
        raise AssertionError(f"opened {args}")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("io.open", refuse)
    monkeypatch.setattr("os.open", refuse)


# -- what real collections have -------------------------------------------------------------------


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE article SYSTEM "../article.dtd">',
        '<!DOCTYPE article PUBLIC "-//LBIN//DTD IEEE//EN" "http://localhost:1/x.dtd">',
        '<!DOCTYPE article SYSTEM "file:///etc/passwd" [<!ENTITY own "owned">]>',
        "<!DOCTYPE article [<!ELEMENT article (#PCDATA)><!ATTLIST article x CDATA 'y'>]>",
        '<!DOCTYPE article [<!ENTITY % ext SYSTEM "file:///etc/passwd"> %ext;]>',
        '<!DOCTYPE article [<!ENTITY ext SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE article [<!NOTATION gif PUBLIC "gif"><!ENTITY pic SYSTEM "a.gif" NDATA gif>]>',
    ],
)
def test_a_doctype_is_accepted_and_nothing_fetched(doctype: str, offline: None) -> None:
    assert text_length(f"{doctype}<article>text</article>".encode()) == 4


def test_entities_of_the_internal_subset_resolve() -> None:
    head = b'<!DOCTYPE a SYSTEM "x" [<!ENTITY me "Ann"> <!ENTITY lt "&#38;#60;">]>'
    recorder = Recorder()
    recorder.add("d", head + b"<a>&me;<b>&lt;</b>&me;</a>")
    assert batch_spans(recorder.batch()) == [{"/a[1]": (0, 7), "/a[1]/b[1]": (3, 4)}]


def test_elements_inside_entities_are_elements() -> None:
    recorder = Recorder()
    recorder.add("d", b'<!DOCTYPE a [<!ENTITY e "<b>x</b>y">]><a>&e;&e;</a>')
    assert batch_spans(recorder.batch()) == [
        {"/a[1]": (0, 4), "/a[1]/b[1]": (0, 1), "/a[1]/b[2]": (2, 3)}
    ]


@pytest.mark.parametrize("head", [b"", b'<!DOCTYPE a SYSTEM "a.dtd">', b"<!DOCTYPE a [ ]>"])
def test_standard_entities_need_no_declaration(head: bytes) -> None:
    assert text_length(head + b"<a>&eacute;&nbsp;&mdash;&alpha;&lsqb;</a>") == 5


@pytest.mark.parametrize("head", [b"", b'<!DOCTYPE a SYSTEM "a.dtd">'])
def test_an_unknown_entity_is_named_with_its_place(head: bytes) -> None:
    message = "line 2, column 4: entity &foo; is not declared and not a standard one"
    assert error(head + b"<a>\nxy &foo;</a>") == message


@pytest.mark.parametrize(
    "encoding",
    ["latin1", "iso-8859-15", "windows-1252", "cp437", "macintosh", "utf-16", "utf-8-sig"],
)
def test_other_encodings_by_declaration(encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    data = f'<?xml version="1.0" encoding="{declared}"?><a>né<b>é</b></a>'.encode(encoding)
    assert text_length(data) == 3


@pytest.mark.parametrize(
    "encoding", ["klingon", "shift_jis", "euc-jp", "gb18030", "idna", "punycode", "utf-7", "rot13"]
)
def test_encodings_that_are_not_read(encoding: str) -> None:
    message = error(f'<?xml version="1.0" encoding="{encoding}"?><a/>'.encode())
    assert "line 1, column 1: the declared encoding is not read; expected UTF-8" in message


def test_utf16_that_is_damaged_or_nests_too_deep() -> None:
    assert error("<a>\nx".encode("utf-16") + b"\x00\xd8").startswith("line 2, column 2: ")
    assert "more than 1000 deep" in error(("<a>" * 1001).encode("utf-16"))


# -- what is broken -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<a>\n<b></a>", "line 2, column 6: mismatched tag"),
        (b"<a>\n\n  x & y</a>", "line 3, column 6: not well-formed (invalid token)"),
        (b"<a/><b/>", "line 1, column 5: junk after document element"),
        (
            b"<a><b>",
            "line 1, column 7: the document breaks off here, before its root element is closed",
        ),
        (b"<a x='1' x='2'/>", "line 1, column 10: duplicate attribute"),
        (b"", "line 1, column 1: the document breaks off here, before its root element is closed"),
        (
            b" \n ",
            "line 2, column 2: the document breaks off here, before its root element is closed",
        ),
        (b"plain text", "line 1, column 1: syntax error"),
        (b"<a>\x00</a>", "line 1, column 4: not well-formed (invalid token)"),
        (b"<a>\xff</a>", "line 1, column 4: not well-formed (invalid token)"),
        (b"\x1f\x8b\x08\x00\x00", "line 1, column 1: not well-formed (invalid token)"),
    ],
)
def test_malformed_documents_are_refused_with_line_and_column(data: bytes, message: str) -> None:
    assert error(data) == message


# -- what is hostile ------------------------------------------------------------------------------


def laughs(levels: int) -> bytes:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels))
    return f'<!DOCTYPE a [<!ENTITY e0 "lol">{entities}]><a>&e{levels - 1};</a>'.encode()


def chain(length: int) -> bytes:
    entities = "".join(f'<!ENTITY e{i} "&e{i - 1};">' for i in range(1, length))
    return f'<!DOCTYPE a [<!ENTITY e0 "x">{entities}]><a>&e{length - 1};</a>'.encode()


def blown_up(content: bytes, references: int, place: bytes = b"<a>%s</a>") -> bytes:
    return b'<!DOCTYPE a [<!ENTITY e "%s">]>' % content + place % (b"&e;" * references)


ADDED = "limit on input amplification factor (from DTD and entities) breached"
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a billion laughs": (lambda: laughs(10), ADDED),
    "quadratic text": (lambda: blown_up(b"x" * 100_000, 30_000), ADDED),
    "quadratic attribute": (
        lambda: blown_up(b"x" * 10_000, 500, b"<a x='%s'/>"),
        "an attribute of <a> has more than 1000000 characters",
    ),
    "a chain of entities": (
        lambda: chain(200_000),
        "more than 1000 attributes and nested entities are declared",
    ),
    "an entity of itself": (
        lambda: b'<!DOCTYPE a [<!ENTITY e "&f;"><!ENTITY f "&e;">]><a>&e;</a>',
        "recursive entity reference",
    ),
    "100,000 deep": (
        lambda: b"<a>" * 100_000 + b"</a>" * 100_000,
        "line 1, column 3001: elements are nested more than 1000 deep",
    ),
    "60 MB that only go deeper": (
        lambda: b"<a>\n" * 15_000_000,
        "line 1001, column 1: elements are nested more than 1000 deep",
    ),
    "20 MB of empty elements": (
        lambda: b"<a>" + b"<b/>" * 5_000_000 + b"</a>",
        "more than 2250000 elements in a document of 20000007 bytes",
    ),
    "a tag of 20 MB": (
        lambda: b"<a>\n<" + b"b" * 20_000_000 + b"/></a>",
        "line 2, column 1: a tag, comment or declaration has more than 4000000 bytes",
    ),
    "a tag of a million attributes": (
        lambda: b"<a " + b" ".join(b"a%d=''" % i for i in range(1_000_000)) + b"/>",
        "a tag, comment or declaration has more than 4000000 bytes",
    ),
    "a comment of 20 MB": (
        lambda: b"<a><!--" + b"x" * 20_000_000 + b"--></a>",
        "line 1, column 4: a tag, comment or declaration has more than 4000000 bytes",
    ),
    "an entity of 20 MB": (
        lambda: b"<!DOCTYPE a [<!ENTITY e '" + b"x" * 20_000_000 + b"'>]><a/>",
        "a tag, comment or declaration has more than 4000000 bytes",
    ),
    "default attributes at a million elements": (
        lambda: (
            b"<!DOCTYPE a [%s]><a>%s</a>"
            % (
                b"".join(b"<!ATTLIST b x%d CDATA 'y'>" % i for i in range(50_000)),
                b"<b/>" * 900_000,
            )
        ),
        "more than 1000 attributes and nested entities are declared",
    ),
    "an attribute of 20 MB": (
        lambda: b"<a><b x='" + b"y" * 20_000_000 + b"'/></a>",
        "line 1, column 4: a tag, comment or declaration has more than 4000000 bytes",
    ),
    "an external entity": (
        lambda: b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>',
        "the text refers to the external entity 'file:///etc/passwd'; nothing is fetched",
    ),
    "an external entity in an attribute": (
        lambda: b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a x="&e;"/>',
        "reference to external entity in attribute",
    ),
    "an external parameter entity": (
        lambda: b'<!DOCTYPE a [<!ENTITY % e SYSTEM "file:///etc/passwd"> %e;]><a>&x;</a>',
        "entity &x; is not declared and not a standard one",
    ),
    "a chain of parameter entities": (
        lambda: (
            b"<!DOCTYPE a [<!ENTITY %% e0 ''>%b%%e9999;]><a>&eacute;</a>"
            % b"".join(b"<!ENTITY %% e%d '&#37;e%d;'>" % (i, i - 1) for i in range(1, 10_000))
        ),
        "more than 1000 attributes and nested entities are declared",
    ),
    "parameter entities that repeat declarations": (
        lambda: (
            b"<!DOCTYPE a [<!ENTITY %% e0 '%b'>%b%%e5;]><a>&eacute;</a>"
            % (
                b"<!ENTITY x &#34;yyyyyyyyyyyyyyyy&#34;>" * 10,
                b"".join(
                    b"<!ENTITY %% e%d '%b'>" % (i, b"&#37;e%d;" % (i - 1) * 10) for i in range(1, 6)
                ),
            )
        ),
        "limit on input amplification factor (from DTD and entities) breached",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_end_in_a_clear_error(name: str, offline: None) -> None:
    make, message = HOSTILE[name]
    assert error(make()).endswith(message)


MEASURE = """
    import json, os, resource
    from test_safety import HOSTILE, error
    error(b"<a>")
    for name, (make, _) in HOSTILE.items():
        child = os.fork()  # which begins with the little memory that is in use here
        if child == 0:
            data = make()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            error(data)
            more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            print(json.dumps([name, more, len(data)]), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def memory() -> dict[str, tuple[int, int]]:
    """What each hostile document adds to the memory of a process of its own, and its size."""
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURE)],
        cwd=here,
        env={"PYTHONPATH": f"{here}:{here.parent}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    unit = 1 if sys.platform == "darwin" else 1024
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: (more * unit, size) for name, more, size in rows}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_take_little_memory(
    name: str, memory: dict[str, tuple[int, int]]
) -> None:
    more, size = memory[name]
    assert more < 60e6 + 2 * size


def test_default_attributes_are_not_read_for_every_element() -> None:
    head = b"<!DOCTYPE a [<!ATTLIST p x CDATA '" + b"x" * 2000 + b"'>]>"
    shorter = Limits(attribute=1000)  # than the attribute that each <p> would have
    assert text_length(head + b"<a>" + b"<p/>" * 100 + b"</a>", shorter) == 0
    assert "an attribute of <p> has more than 1000" in error(
        b"<a><p x='" + b"x" * 2000 + b"'/></a>", shorter
    )


def test_limits_are_bounds_that_are_allowed() -> None:
    limits = Limits(depth=3, attribute=5)
    assert text_length(b"<a><b><c>x</c></b></a>", limits) == 1
    message = "line 2, column 1: elements are nested more than 3 deep"
    assert error(b"<a><b><c>\n<d/></c></b></a>", limits) == message
    assert text_length(b"<a b='12345'/>", limits) == 0
    message = "line 1, column 1: an attribute of <a> has more than 5 characters"
    assert error(b"<a b='123456'/>", limits) == message


def test_a_document_as_deep_as_it_may_be_is_one() -> None:
    assert text_length(b"<s>" * 1000 + b"x" + b"</s>" * 1000) == 1


def test_a_document_of_many_own_entities_is_no_attack() -> None:
    entities = "".join(f'<!ENTITY c{i} "&#{i + 200};">' for i in range(5000))
    text = "".join(f"&c{i};" for i in range(5000))
    assert text_length(f"<!DOCTYPE a [{entities}]><a>{text}</a>".encode()) == 5000


def test_a_long_document_may_have_more_elements() -> None:
    limits = Limits(elements=2)
    assert text_length(b"<a><b/></a>", limits) == 0
    message = "line 2, column 1: more than 2 elements in a document of 15 bytes"
    assert error(b"<a><b/>\n<b/></a", limits) == message
    assert text_length(b"<a><b/>\n<b/></a>", limits) == 1  # 16 bytes
    entities = b'<!DOCTYPE a [<!ENTITY e "<b/><b/><b/><b/><b/>">]><a>&e;</a>'
    assert "more than 5 elements in a document of 59 bytes" in error(entities, limits)


def test_a_document_of_half_a_million_elements_is_one() -> None:
    row = b"<tr><td>1</td><td x='y'>&eacute;</td></tr>\n"
    assert text_length(b"<a>\n" + row * 170_000 + b"</a>") == 1 + 3 * 170_000


def test_a_tag_may_cross_the_bits_that_are_parsed_at_once() -> None:
    words = b"".join(b"<b i='%d'>%d</b>" % (i, i) for i in range(100_000))
    length = sum(len(str(i)) for i in range(100_000))
    assert text_length(b"<a>" + words + b"</a>") == length
    recorder = Recorder(whitespace="merge")
    recorder.add("d", b"<a>" + b" " * 2_000_000 + b"<b/> </a>")
    assert batch_spans(recorder.batch()) == [{"/a[1]": (0, 1), "/a[1]/b[1]": (1, 1)}]


@pytest.mark.parametrize("count", [4095, 4096, 4097, 10_000])
def test_thousands_of_standard_entities_are_text_like_any_other(count: int) -> None:
    recorder = Recorder(whitespace="strip")
    text = b"x&eacute;" * count
    recorder.add("d", b"<a>" + text + b"<b>" + text + b"</b> <b> &nbsp;</b></a>")
    assert batch_spans(recorder.batch()) == [
        {
            "/a[1]": (0, 4 * count + 2),
            "/a[1]/b[1]": (2 * count, 4 * count),
            "/a[1]/b[2]": (4 * count, 4 * count + 2),
        }
    ]


UNREAD = '<!DOCTYPE a [<!ENTITY % pe SYSTEM "pe.ent"> <!ENTITY one "1"> %pe; <!ENTITY two "22">]>'


def test_declarations_before_and_after_an_external_parameter_entity_are_read() -> None:
    assert text_length(f"{UNREAD}<a>&one;&eacute;&two;</a>".encode()) == 4
    message = "entity &three; is not declared and not a standard one"
    assert error(f"{UNREAD}\n<a>&three;</a>".encode()) == f"line 2, column 4: {message}"
    alone = f"<?xml version='1.0' standalone='yes'?>{UNREAD}"
    assert text_length(f"{alone}<a>&one;&two;</a>".encode()) == 3
    assert error(f"{alone}<a>&three;</a>".encode()).endswith("undefined entity")


def test_a_percent_sign_elsewhere_is_no_parameter_entity() -> None:
    head = "<!DOCTYPE a [<!-- %x; --> <!ENTITY e '&#37;y;'>]>"
    assert error(f"{head}<a>&no;%z;</a>".encode()).endswith("not a standard one")


def test_limits_reach_the_build(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"d.xml": "<a><b><c/></b></a>"}
    message = refusal(lambda: index_of(tmp_path, files, limits=Limits(depth=2)))
    assert message == "d.xml:1: column 7: elements are nested more than 2 deep"
    build_index(tmp_path / "source", tmp_path / "index", BuildOptions(limits=Limits(depth=3)))


def test_an_encoding_that_reads_nothing_fails_its_document_only(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    source.mkdir()
    (source / "bad.xml").write_text('<?xml version="1.0" encoding="undefined"?><a>x</a>')
    (source / "good.xml").write_text("<a>x</a>")
    index = build_index(source, tmp_path / "index", BuildOptions(max_errors=1))
    assert len(index) == 1
    assert "encoding is not read" in str(index.header["failures"][0])
