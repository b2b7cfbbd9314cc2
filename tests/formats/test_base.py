"""The table of formats: every record is whole, and files are recognised by it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import get_args

import pytest

import foveal
from foveal.formats import (
    Format,
    Kind,
    Parsed,
    detect_format,
    detect_kind,
    find_format,
    list_formats,
)
from inputs import text_source

ALL = list(list_formats())


def test_the_table_names_every_format_once() -> None:
    named = [(form.kind, form.name) for form in ALL]
    assert len(set(named)) == len(named)
    assert {kind for kind, _ in named} == set(get_args(Kind))


@pytest.mark.parametrize("form", ALL, ids=lambda form: f"{form.kind}-{form.name}")
def test_the_example_of_a_format_is_recognised_and_read(form: Format) -> None:
    if not form.example:
        return
    source = text_source(form.example)
    assert detect_kind(source) == form.kind
    assert detect_format(source, form.kind) is form
    parsed = form.parse(source)
    assert parsed.problems == []
    assert parsed.content is not None


def test_a_name_of_another_kind_is_unknown() -> None:
    with pytest.raises(foveal.UsageError, match="unknown format 'parquet'; expected fol or trec"):
        find_format("parquet", "judgements")


def test_a_format_that_cannot_be_written_is_not_offered() -> None:
    assert find_format("trec-genomics", "run").write is None
    with pytest.raises(foveal.UsageError, match="unknown format 'trec-genomics'"):
        find_format("trec-genomics", "run", to_write=True)


LISTS = Format(
    "lists",
    "run",
    "A topic and its documents.",
    "topic: a b\n",
    lambda source: b": " in source.head[1],
    lambda source: Parsed(foveal.Run.from_results({"t": [(source.head[1].decode(), 0, 1)]}), []),
)


def offer(monkeypatch: pytest.MonkeyPatch, load) -> None:
    point = SimpleNamespace(name="lists", value="lists:LISTS", load=load)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])


def test_another_package_adds_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, lambda: LISTS)
    assert detect_format(text_source("topic: a b\n"), "run") is LISTS
    assert list(list_formats("run"))[-1] is LISTS
    assert find_format("lists", "run") is LISTS


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (lambda: 1 / 0, r"cannot be loaded \(ZeroDivisionError"),
        (lambda: 7, "expected a foveal.formats.Format"),
    ],
)
def test_a_bad_entry_point_is_refused_by_name(monkeypatch, load, message: str) -> None:
    offer(monkeypatch, load)
    with pytest.raises(foveal.UsageError, match=f"'lists = lists:LISTS'.*{message}"):
        list(list_formats("run"))


@pytest.mark.parametrize("kind", ["run", "judgements", "pool", "results"])
def test_xml_of_another_root_is_refused_by_every_kind(kind: Kind) -> None:
    with pytest.raises(foveal.InputError, match=r"root element <other>; expected "):
        detect_format(text_source("<other/>"), kind)
