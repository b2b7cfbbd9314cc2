"""``foveal measures``: the list, the explanations, the presets."""

from __future__ import annotations

import pytest

from foveal.campaign import PRESETS
from foveal.cli import main
from foveal.measures import Measure, all_measures


def test_the_list_names_every_measure(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures"])
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [measure.spelling for measure in all_measures()]


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
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(PRESETS)
    (restricted,) = [line for line in lines if line.startswith("2010.RestrictedFocused")]
    assert "at most 1000 characters per topic" in restricted
