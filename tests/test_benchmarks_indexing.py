"""The collection of the indexing benchmark is valid and repeatable."""

from __future__ import annotations

from pathlib import Path

from benchmarks.articles import PARTS, generate

from foveal.collection import Collection, build_index


def content(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    assert generate(tmp_path / "a", 200_000) == generate(tmp_path / "b", 200_000)
    generate(tmp_path / "c", 200_000, seed=1)
    assert content(tmp_path / "a") == content(tmp_path / "b") != content(tmp_path / "c")


def test_articles_are_as_long_and_dense_as_those_of_wikipedia(tmp_path: Path) -> None:
    articles = generate(tmp_path / "a", 2_000_000)
    index = build_index(tmp_path / "a", tmp_path / "index")
    assert len(index) == articles
    assert 4000 < 2_000_000 / articles < 12_000
    assert 50 < index.elements / articles < 150
    assert {doc.partition("/")[0] for doc in Collection.open(tmp_path / "index")} == set(PARTS)
