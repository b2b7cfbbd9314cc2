"""Several index files as one collection: all that a merged index says, they say too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import call
from foveal.collection import BuildOptions, Collection, Shard, build_index, sources
from foveal.collection.several import Several
from inputs import refusal
from small_documents import documents

PLAIN = {"path", "source", "verify", "open", "find", "parts", "header"}
"""What names files or counts within them; tested by itself below."""


def plain(value: object) -> object:
    """A value that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, pl.Series):
        return value.to_list()
    if isinstance(value, pl.DataFrame):
        return value.to_dict(as_series=False)
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    return value


def asked(collection: Collection) -> dict[str, Callable[[Collection], object]]:
    """A call of everything that a collection can do, by its name."""
    docs = [*collection, "foreign"]
    pairs = [
        (doc, xpath)
        for doc in collection
        for xpath, *_ in collection.all_elements(doc)
        for xpath in (xpath, xpath.replace("[1]", ""), f"{xpath}/text()[1].0", f"{xpath}/no[1]")
    ]
    pairs += [("foreign", "/a[1]"), (docs[0], "nonsense")]
    doc = pl.Series([d for d, _ in pairs][::-1], dtype=pl.String)
    xpath = pl.Series([x for _, x in pairs][::-1], dtype=pl.String)
    names, one = pl.Series(docs[::-1], dtype=pl.String), docs[-2]
    root = collection.all_elements(one)[0]
    numbers = np.arange(len(collection.paths))
    zero, last = np.array([0]), np.array([root.end])
    return {
        "__len__": len,
        "__iter__": list,
        # Empty elements at one place come in any order.
        "all_elements": lambda c: [sorted(c.all_elements(d)) for d in c],
        "ancestors": lambda c: [
            c.ancestors(d, e.xpath) for d in c for e in sorted(c.all_elements(d))
        ],
        "children": lambda c: [
            sorted(c.children(d, e.xpath)) for d in c for e in sorted(c.all_elements(d))
        ],
        "count_nonempty": lambda c: c.count_nonempty(),
        "digests": lambda c: c.digests(),
        "documents": lambda c: c.documents,
        "element": lambda c: c.element(one, root.xpath),
        "elements": lambda c: c.elements,
        "elements_inside": lambda c: sorted(c.elements_inside(one, 0, root.end)),
        "lengths": lambda c: c.lengths(names),
        "lengths_of": lambda c: c.lengths_of(np.arange(-1, len(c))),
        "mean_length": lambda c: c.mean_length,
        "numbers": lambda c: c.numbers(names),
        "path_columns": lambda c: c.path_columns(),
        "path_counts": lambda c: c.path_counts(),
        "path_depths": lambda c: c.path_depths(),
        "path_numbers": lambda c: c.path_numbers(xpath),
        "path_tags": lambda c: c.path_tags(),
        "paths": lambda c: c.paths,
        "point": lambda c: c.point(one, 0),
        "points": lambda c: c.points(one, last, np.array([True])),
        "resolve": lambda c: c.resolve(doc, xpath),
        "resolve_numbered": lambda c: c.resolve_numbered(doc, c.numbers(doc), xpath),
        "smallest_around": lambda c: c.smallest_around(one, 0, 0),
        "smallest_elements": lambda c: c.smallest_elements(one, zero, last),
        "trees": lambda c: c.trees(names),
        "whitespace": lambda c: c.whitespace,
        "xpaths": lambda c: c.xpaths(numbers[::-1]),
    }


def compare(several: Collection, merged: Collection) -> None:
    for name, question in asked(merged).items():
        assert plain(question(several)) == plain(question(merged)), name


@given(st.lists(st.lists(documents, min_size=1, max_size=3), min_size=1, max_size=4))
@settings(max_examples=20)
def test_they_are_one_collection(groups: list[list[str]]) -> None:
    with TemporaryDirectory() as name:
        root = Path(name)
        (root / "parts").mkdir()
        parts = []
        for g, group in enumerate(groups):
            (root / f"g{g}").mkdir()
            for i, text in enumerate(group):
                (root / f"g{g}" / f"d{g}-{i}.xml").write_text(text)
            parts.append(root / "parts" / f"{g}.fvx")
            build_index(root / f"g{g}", parts[-1])
        build_index(parts, root / "merged")
        several, merged = Collection.open(root / "parts"), Collection.open(root / "merged")
        assert isinstance(several, Several)
        compare(several, merged)
        several.verify()
        shared = set(several.header)
        assert {key: merged.header[key] for key in shared} == several.header


def test_everything_that_a_collection_can_do_is_compared(parts: Path, merged: Path) -> None:
    public = {name for name in dir(Several) if not name.startswith("_")} - PLAIN
    questions = asked(Collection.open(merged))
    assert public <= set(questions)
    compare(Collection.open(parts), Collection.open(merged))


@pytest.fixture(autouse=True, scope="module")
def small_batches() -> object:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sources, "_BATCH_FILES", 2)
        yield


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    folder = tmp_path / "articles"
    folder.mkdir()
    for i in range(12):
        (folder / f"{i:02}.xml").write_text(f"<a><t{5 - i % 5}/><p>one</p><p>{i} two</p></a>")
    return folder


@pytest.fixture
def parts(articles: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(1, 13):  # 10 to 12 come before 2 by name, and some have no document
        build_index(articles, folder / f"{number}.fvx", shard=Shard(number, 12))
    return folder


@pytest.fixture
def merged(articles: Path, tmp_path: Path) -> Path:
    build_index(articles, tmp_path / "merged")
    return tmp_path / "merged"


def test_elements_are_found_by_number(parts: Path, merged: Path) -> None:
    """Which number an element has is the matter of its file, but one has one and others none."""
    several, whole = Collection.open(parts), Collection.open(merged)
    doc = np.repeat(np.arange(-1, len(whole)), len(whole.paths) + 1)
    path = np.tile(np.arange(-1, len(whole.paths)), len(whole) + 1)
    found, expected = several.find(doc, path), whole.find(doc, path)
    assert ((found >= 0) == (expected >= 0)).all()
    assert sorted(found[found >= 0].tolist()) == list(range(whole.elements))


def test_the_hash_is_of_all_files(parts: Path) -> None:
    before = Collection.open(parts).source
    assert before.path == str(parts)
    assert Collection.open(parts).source == before
    (parts / "extra.fvx").write_bytes(b"")
    build_index(write_one(parts.parent / "extra.xml"), parts / "extra.fvx")
    assert Collection.open(parts).source.sha256 != before.sha256


def write_one(path: Path, name: str = "extra") -> Path:
    path.write_text(f"<a>{name}</a>")
    return path


def test_scoring_with_several_files(
    parts: Path, merged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, judged = tmp_path / "run", tmp_path / "judged.jsonl"
    rows = [f"1 Q0 {i:02} {i + 1} {20 - i} mine /a[1]/p[{1 + i % 2}]" for i in range(12)]
    run.write_text("\n".join(rows))
    spans = [{"start": 0, "end": 4}]
    lines = ({"topic": "1", "doc": f"{i:02}", "spans": spans} for i in range(0, 12, 3))
    judged.write_text("\n".join(map(json.dumps, lines)))
    command = ["evaluate", str(run), "-j", str(judged), "-m", "charP", "-m", "nxCG@5", "-C"]
    expected = call(capsys, *command, str(merged))
    assert expected.code == 0, expected
    assert call(capsys, *command, str(parts)) == expected


def test_statistics_of_several_files(
    parts: Path, merged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = call(capsys, "stats", str(merged))
    found = call(capsys, "stats", str(parts))
    assert found.out == expected.out.replace(str(merged), str(parts), 1)


# -- what does not make one collection ------------------------------------------------------------


def test_a_directory_without_an_index(tmp_path: Path) -> None:
    message = f"{tmp_path}: holds no index; expected files *.fvx of foveal index"
    assert refusal(Collection.open, tmp_path) == message


def test_a_shard_that_is_missing(parts: Path) -> None:
    (parts / "7.fvx").unlink()
    message = "is shard 1/12 of 'articles', but not there: 7; expected all"
    assert refusal(Collection.open, parts) == f"{parts / '1.fvx'}: {message}"


def test_a_document_in_two_files(parts: Path) -> None:
    build_index(write_one(parts.parent / "03.xml"), parts / "x.fvx")
    several = Collection.open(parts)
    message = refusal(several.resolve, pl.Series(["03"]), pl.Series(["/a[1]"]))
    (shard,) = (p for p in parts.glob("*.fvx") if p.stem != "x" and "03" in Collection.open(p))
    assert message == (
        f"{parts / 'x.fvx'}: holds document '03' like {shard}; expected one of each name"
    )


def test_files_of_other_white_space(parts: Path) -> None:
    build_index(write_one(parts.parent / "x.xml"), parts / "x.fvx", BuildOptions("merge"))
    message = refusal(Collection.open, parts)
    assert message == (
        f"{parts / 'x.fvx'}: was built with white space 'merge', but {parts / '1.fvx'} with "
        "'keep'; expected the same"
    )


def test_a_file_that_is_no_index(parts: Path) -> None:
    (parts / "x.fvx").write_text("x")
    assert refusal(Collection.open, parts) == f"{parts / 'x.fvx'}: is no collection index of Foveal"


def test_all_damaged_files_are_told(parts: Path) -> None:
    damaged = [path for path in sorted(parts.iterdir()) if len(Collection.open(path))][:2]
    for path in damaged:
        data = bytearray(path.read_bytes())
        length = int.from_bytes(data[12:16], "little")
        data[-(-(32 + length) // 64) * 64] ^= 1
        path.write_bytes(bytes(data))
    message = refusal(Collection.open(parts).verify)
    lines = {f"{path}: the index is damaged: section doc_bounds differs" for path in damaged}
    assert set(message.splitlines()) == lines
