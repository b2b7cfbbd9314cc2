"""Indexes that stay open: one object for one file, another one when the file is another."""

from __future__ import annotations

from pathlib import Path

import pytest

from foveal.collection import build_index
from foveal.collection.element_index import open_cached
from foveal.errors import InputError


def built(folder: Path, text: str) -> Path:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "d.xml").write_text(text)
    (folder / "index").unlink(missing_ok=True)
    build_index(source, folder / "index")
    return folder / "index"


def test_an_index_is_opened_once(tmp_path: Path) -> None:
    index = built(tmp_path, "<a>one</a>")
    assert open_cached(index) is open_cached(str(index))


def test_a_new_index_at_the_same_place_is_opened_anew(tmp_path: Path) -> None:
    index = built(tmp_path, "<a>one</a>")
    assert open_cached(index).element("d", "/a").end == 3
    built(tmp_path, "<a>three</a>")
    assert open_cached(index).element("d", "/a").end == 5


def test_what_is_missing_or_no_index_is_refused_every_time(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match="no such file"):
            open_cached(tmp_path / "index")
    (tmp_path / "index").write_text("<a/>")
    for _ in range(2):
        with pytest.raises(InputError, match="is not a collection index"):
            open_cached(tmp_path / "index")
    assert open_cached(built(tmp_path, "<a>one</a>")).element("d", "/a").end == 3
