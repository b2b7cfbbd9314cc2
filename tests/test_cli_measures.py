"""``foveal measures``: the list, the explanations, the presets, the properties."""

from __future__ import annotations

from itertools import pairwise

import pytest

from foveal.analysis.properties import FAMILIES, OPINION, PROPERTIES
from foveal.cli import main
from foveal.evaluation import PRESETS
from foveal.measures import Measure, all_measures


def listed(text: str) -> dict[str, list[str]]:
    """The first words of the lines below each heading."""
    parts = [part.splitlines() for part in text.split("\n\n")]
    assert all(line.startswith("  ") for _, *lines in parts for line in lines)
    return {heading: [line.split()[0] for line in lines] for heading, *lines in parts}


def test_the_list_names_every_measure_under_headings(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures"])
    groups = listed(capsys.readouterr().out)
    names = [name for own in groups.values() for name in own]
    assert sorted(names) == sorted(measure.spelling for measure in all_measures())
    first = next(iter(groups.values()))
    assert {"iP@x", "AiP", "charP[@k]", "evR[@k]"} <= set(first)  # passages and RAG


@pytest.mark.parametrize("measure", all_measures(), ids=lambda m: m.name)
def test_an_explanation_holds_formula_parameters_source_and_an_executed_example(
    measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["measures", measure.name])
    text = capsys.readouterr().out
    assert measure.formula in text
    assert measure.source in text
    for parameter in measure.parameters:
        assert f"{parameter.name}={parameter.allowed}" in text
        assert parameter.description in text
    assert text.splitlines()[-1].endswith(f"= {measure.example.value:.4f}")


def test_aliases_and_whole_spellings_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures", "MAgP"])
    by_alias = capsys.readouterr().out
    main(["measures", "AgP(beta=2)"])
    assert capsys.readouterr().out == by_alias


def test_an_unknown_measure_gets_suggestions(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["measures", "MAiPP"])
    assert stopped.value.code == 2
    assert "did you mean MAiP" in capsys.readouterr().err


def test_presets_are_listed_with_their_measures(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures", "--presets"])
    text = capsys.readouterr().out
    groups = listed(text)
    assert sorted(name for own in groups.values() for name in own) == list(PRESETS)
    assert "2009.Focused" in groups["INEX 2009"]
    (restricted,) = [line for line in text.splitlines() if "2010.RestrictedFocused" in line]
    assert "at most 1000 characters per topic" in restricted
    assert max(map(len, text.splitlines())) < 200


def test_one_preset_is_shown_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures", "--presets", "2005.CO.Thorough"])
    lines = capsys.readouterr().out.splitlines()
    assert set(PRESETS["2005.CO.Thorough"].summary) <= set(lines)
    assert lines[-1] == "[--max-results 1500]"


def table_rows(text: str) -> dict[str, list[str]]:
    """The cells of the property table by family, without their notes."""
    head, *lines = text.partition("\n\n")[0].splitlines()
    names = list(PROPERTIES)
    starts = [head.index(f"  {name}") + 2 for name in names]
    return {
        line[: starts[0]].strip(): [
            line[a:b].split()[0] for a, b in pairwise([*starts, len(line) + 1])
        ]
        for line in lines
    }


def test_properties_are_a_row_for_each_family(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures", "--properties"])
    text = capsys.readouterr().out
    rows = table_rows(text)
    assert list(rows) == [family.name for family in FAMILIES]
    for family in FAMILIES:
        cells = [family.cells[name] for name in PROPERTIES]
        marks = [
            ("*" if family.cells[name].paper else "~") if name == OPINION else ""
            for name in PROPERTIES
        ]
        assert rows[family.name] == [f"{c.value}{m}" for c, m in zip(cells, marks, strict=True)]
    assert max(map(len, text.splitlines())) <= 105


def test_properties_note_where_the_paper_says_something_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["measures", "--properties"])
    text = " ".join(capsys.readouterr().out.split())
    for family in FAMILIES:
        for name in PROPERTIES:
            cell = family.cells[name]
            assert cell.note in text
            if cell.disputed:
                assert f"the paper says {cell.paper}; {cell.note}" in text
        assert " ".join(family.measures) in text


def test_one_thing_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["measures", "iP", "--properties"])
    assert stopped.value.code == 2
    assert "leave out NAME" in capsys.readouterr().err
