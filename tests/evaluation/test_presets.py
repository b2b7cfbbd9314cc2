"""Official settings: what each task of 2002 to 2010 expands to, and which runs it is for."""

from __future__ import annotations

import pytest

from foveal.errors import UsageError
from foveal.evaluation import PRESETS, Preset, find_preset
from foveal.evaluation.presets import normalise_task

EARLY = tuple(name for name in PRESETS if int(name[:4]) <= 2006)


def labels(name: str) -> list[str]:
    return [measure.label for measure in PRESETS[name].measures]


def plain(name: str) -> list[str]:
    """The labels without the points of curves."""
    texts = [text for text in PRESETS[name].texts if not text.endswith("@curve")]
    return [measure.label for measure in Preset(name, tuple(texts)).measures]


def curves(name: str) -> list[str]:
    return [text for text in PRESETS[name].texts if text.endswith("@curve")]


def test_every_task_of_every_year_is_there() -> None:
    assert set(PRESETS) == {
        *("2002.CO", "2002.CAS", "2003.CO", "2003.SCAS", "2003.VCAS", "2004.CO", "2004.VCAS"),
        *(f"2005.{t}.{task}" for t in ("CO", "COS") for task in ("Thorough", "Focussed")),
        *("2005.CO.FetchBrowse", "2005.COS.FetchBrowse"),
        *("2005.SSCAS", "2005.SVCAS", "2005.VSCAS", "2005.VVCAS"),
        *("2006.Thorough", "2006.Focused", "2006.RelevantInContext", "2006.BestInContext"),
        *(f"{y}.{t}" for y in (2007, 2008, 2009) for t in ("Focused", "RelevantInContext")),
        *(f"{y}.BestInContext" for y in (2007, 2008, 2009)),
        *("2009.Thorough", "2010.Efficiency", "2010.RelevantInContext"),
        *("2010.RestrictedFocused", "2010.RestrictedRelevantInContext"),
    }


@pytest.mark.parametrize("name", ["2002.CO", "2002.CAS"])
def test_2002(name: str) -> None:
    assert labels(name) == ["inex_eval(quant=strict2)", "inex_eval(quant=gen2)"]


@pytest.mark.parametrize("name", ["2003.CO", "2003.SCAS", "2003.VCAS"])
def test_2003(name: str) -> None:
    assert set(labels(name)) == {
        *("inex_eval", "inex_eval(quant=strict)"),
        *("inex_eval_ng", "inex_eval_ng(quant=strict)"),
        *("inex_eval_ng(variant=s)", "inex_eval_ng(variant=s,quant=strict)"),
    }


@pytest.mark.parametrize("name", ["2004.CO", "2004.VCAS"])
def test_2004_has_seven_functions_and_their_mean(name: str) -> None:
    functions = ["strict3", "gen3", "sog", "e3s321", "e3s32", "s3e321", "s3e32", "mean7"]
    assert labels(name) == [f"inex_eval(quant={quant})" for quant in functions]


def test_2006() -> None:
    assert plain("2006.Thorough") == ["MAep"]
    assert curves("2006.Thorough") == ["ep@curve"]
    ranks = (5, 10, 25, 50)
    on_and_off = [*(f"nxCG(overlap=on)@{k}" for k in ranks), *(f"nxCG@{k}" for k in ranks)]
    assert labels("2006.Focused") == on_and_off
    assert labels("2006.RelevantInContext") == ["AgP", *(f"gP@{k}" for k in ranks)]
    distances = ["(A=0.01)", "(A=0.1)", "", "(A=10)", "(A=100)"]
    best = [f"{name}{a}" for name in ("BEPD", "EPRUM") for a in distances]
    assert plain("2006.BestInContext") == best
    assert len(curves("2006.BestInContext")) == 5


def test_runs_up_to_2006_are_cut_at_1500_results() -> None:
    assert {PRESETS[name].max_results for name in EARLY} == {1500}
    assert {p.max_results for name, p in PRESETS.items() if name not in EARLY} == {None}


def test_the_focused_tasks_of_2005_and_2006_warn_of_overlap() -> None:
    warned = {name for name, preset in PRESETS.items() if preset.warn_overlap}
    assert warned == {"2005.CO.Focussed", "2005.COS.Focussed", "2006.Focused"}


def test_cos_tasks_are_about_topics_with_a_castitle() -> None:
    about = {name for name, preset in PRESETS.items() if preset.castitles_only}
    assert about == {f"2005.COS.{task}" for task in ("Thorough", "Focussed", "FetchBrowse")}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("2005.CO.Focused", "2005.CO.Focussed"),
        ("2005.CO.Focussed", "2005.CO.Focussed"),
        ("2005.CO+S.Focused", "2005.COS.Focussed"),
        ("2005.sscas", "2005.SSCAS"),
        ("2006.Focussed", "2006.Focused"),
        ("2006.AllInContext", "2006.RelevantInContext"),
        ("2006.allincontext", "2006.RelevantInContext"),
        ("2006.Best in Context", "2006.BestInContext"),
        ("2005.CO.Fetch-Browse", "2005.CO.FetchBrowse"),
    ],
)
def test_every_spelling_of_a_task_is_known(written: str, name: str) -> None:
    assert find_preset(written).name == name


@pytest.mark.parametrize(
    ("written", "meant"),
    [("2005.Thorough", "2005.CO.Thorough"), ("2004.SCAS", "2004.VCAS"), ("06.Focus", "2006.Fo")],
)
def test_an_unknown_task_gets_suggestions(written: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"unknown task '{written}'; did you mean .*{meant}"):
        find_preset(written)


@pytest.mark.parametrize(
    ("declared", "preset"),
    [
        ("CO.Thorough", "2005.CO.Thorough"),
        ("CO.Focused", "2005.CO.Focussed"),
        ("COS.FetchBrowse", "2005.COS.FetchBrowse"),
        ("CO+S.Thorough", "2005.COS.Thorough"),
        ("2005.SSCAS", "2005.SSCAS"),
        ("vvcas", "2005.VVCAS"),
        ("Thorough", "2006.Thorough"),
        ("Focussed", "2006.Focused"),
        ("AllInContext", "2006.RelevantInContext"),
        ("CO", "2003.CO"),
        ("CAS", "2002.CAS"),
    ],
)
def test_a_run_is_for_the_task_it_declares(declared: str, preset: str) -> None:
    assert PRESETS[preset].is_for(declared)


@pytest.mark.parametrize(
    ("declared", "preset"),
    [
        ("COS.Thorough", "2005.CO.Thorough"),
        ("CO", "2005.CO.Thorough"),
        ("Thorough", "2005.CO.Thorough"),
        ("SVCAS", "2005.VSCAS"),
        ("Focused", "2006.Thorough"),
        ("2005.Thorough", "2006.Thorough"),
    ],
)
def test_a_run_is_not_for_another_task(declared: str, preset: str) -> None:
    assert not PRESETS[preset].is_for(declared)


def test_no_two_tasks_are_one_under_another_spelling() -> None:
    assert len({normalise_task(name) for name in PRESETS}) == len(PRESETS)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
def test_the_summary_holds_every_measure_once(preset: Preset) -> None:
    """Each item, with its cut-offs taken apart, gives the measures again."""
    texts = []
    for item in preset.summary:
        bare, _, cutoffs = item.partition("@")
        texts += [f"{bare}@{at}" for at in cutoffs.split(",")] if cutoffs else [bare]
    again = Preset(preset.name, tuple(texts))
    assert sorted(map(str, again.measures)) == sorted(map(str, preset.measures))
    assert len(texts) == len(preset.texts)
