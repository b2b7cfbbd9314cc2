"""The page on the index file is true: a reader that knows only the page finds what is there."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xml_trees import Spans, Tree, document, expected, index_of, trees

PAGE = Path(__file__).resolve().parents[2] / "docs" / "index-format.md"


def blake(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Header and sections, every byte accounted for."""
    data = path.read_bytes()
    magic, version, length, digest = struct.unpack_from("<8sII16s", data)
    assert (magic, version) == (b"FOVEALIX", 1)
    head = data[32 : 32 + length]
    assert blake(head) == digest
    header = json.loads(head)
    at = begin = (32 + length + 63) // 64 * 64
    assert not data[32 + length : begin].strip(b"\0")
    sections = {}
    for name, entry in header["sections"].items():
        assert begin + entry["offset"] == at
        raw = data[at : at + entry["bytes"]]
        assert blake(raw).hex() == entry["hash"]
        sections[name] = np.frombuffer(raw, entry["dtype"])
        until = (at + entry["bytes"] + 63) // 64 * 64
        assert not data[at + entry["bytes"] : until].strip(b"\0")
        at = until
    assert at == len(data)
    return header, sections


def elements(header: dict[str, Any], sections: dict[str, Any]) -> dict[str, Spans]:
    paths: list[str] = []
    table = [sections[f"path_{name}"] for name in ("parent", "tag", "ordinal")]
    for number, (parent, tag, ordinal) in enumerate(zip(*table, strict=True)):
        assert parent < number
        above = paths[parent] if parent >= 0 else ""
        paths.append(f"{above}/{header['tags'][tag]}[{ordinal}]")
    assert len(set(paths)) == len(paths) == header["paths"]
    bounds = sections["doc_bounds"].tolist()
    assert (bounds[0], bounds[-1]) == (0, header["elements"])
    found: dict[str, Spans] = {}
    *names, rest = sections["doc_names"].tobytes().decode().split("\n")
    assert rest == ""
    for name, first, last in zip(names, bounds[:-1], bounds[1:], strict=True):
        own = sections["path"][first:last].tolist()
        assert own == sorted(set(own))
        spans = zip(sections["start"][first:last], sections["end"][first:last], strict=True)
        found[name] = {paths[p]: (int(s), int(e)) for p, (s, e) in zip(own, spans, strict=True)}
    return found


@settings(max_examples=40)
@given(st.lists(trees, min_size=1, max_size=4), st.sampled_from(["keep", "merge", "strip"]))
def test_a_reader_that_follows_the_page(
    tmp_path_factory: pytest.TempPathFactory, some: list[Tree], whitespace: str
) -> None:
    folder = tmp_path_factory.mktemp("format")
    files: dict[str, str | bytes] = {f"{i}.xml": document(t) for i, t in enumerate(some)}
    index_of(folder, files, whitespace=whitespace)
    header, sections = read(folder / "index")
    texts = [expected(tree, whitespace)[0] for tree in some]
    wanted = {str(i): expected(tree, whitespace)[1] for i, tree in enumerate(some)}
    assert elements(header, sections) == wanted
    assert header["documents"] == len(some)
    assert header["elements"] == sum(map(len, wanted.values()))
    assert header["characters"] == sum(map(len, texts))
    assert header["whitespace"] == whitespace
    assert sections["doc_length"].tolist() == list(map(len, texts))
    assert sections["doc_digest"].tobytes() == b"".join(blake(t.encode()) for t in texts)


def test_the_page_names_every_section_with_its_type_and_every_key(tmp_path: Path) -> None:
    index_of(tmp_path, {"d.xml": "<a/>"})
    header, _ = read(tmp_path / "index")
    page = PAGE.read_text()
    for name, entry in header["sections"].items():
        dtype = entry["dtype"].replace("|", "\\|")
        assert f"| `{name}` | `{dtype}` |" in page
    for key in header:
        assert f"`{key}`" in page
    order = [page.index(f"| `{name}` | `") for name in header["sections"]]
    assert order == sorted(order)
