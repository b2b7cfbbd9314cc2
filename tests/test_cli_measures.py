"""``foveal measures``: the list, the explanations, the presets, the properties."""

from __future__ import annotations

import pytest

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


def test_an_unknown_measure_gets_suggestions(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["measures", "MAiPP"])
    assert stopped.value.code == 2
    assert "did you mean MAiP" in capsys.readouterr().err


def test_one_preset_is_shown_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures", "--presets", "2005.CO.Thorough"])
    lines = capsys.readouterr().out.splitlines()
    assert set(PRESETS["2005.CO.Thorough"].summary) <= set(lines)
    assert lines[-1] == "[--max-results 1500]"


def test_one_thing_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["measures", "iP", "--properties"])
    assert stopped.value.code == 2
    assert "leave out NAME" in capsys.readouterr().err
