"""What every registered measure must be: declared in full, its example true, sane at the edges."""

from __future__ import annotations

import inspect
import math
import pickle
import subprocess
import sys
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaigns
import foveal.measures
import naive
from foveal.errors import UsageError
from foveal.measures import (
    Cutoff,
    Measure,
    all_measures,
    find_measure,
    parse_measure,
    parse_measures,
)
from foveal.measures.measure import FAMILIES, Choice, Need
from foveal.measures.toy import run_example
from scoring import score

EVERY = [
    measure
    if not measure.cutoff.required
    else measure @ ("3" if measure.cutoff is Cutoff.RANK else "0.1")
    for measure in all_measures()
]
every_measure = pytest.mark.parametrize("measure", EVERY, ids=str)
OF_TEXT = [m for m in EVERY if not m.structural and Need.ANSWERS not in m.needs]
"""Those of elements have their campaigns, and these tests, in test_structural.py; those of answers
have theirs in test_citations.py."""


@every_measure
def test_the_declaration_is_complete(measure: Measure) -> None:
    assert inspect.getdoc(type(measure)) != inspect.getdoc(Measure)
    assert measure.formula
    assert measure.source
    assert all(p.description for p in measure.parameters)


@every_measure
def test_the_example_gives_the_stated_value(measure: Measure) -> None:
    shown = parse_measure(measure.example.measure or measure.name)
    assert shown.name == measure.name
    assert run_example(shown, measure.example) == pytest.approx(measure.example.value, abs=5e-5)


@every_measure
def test_text_and_python_forms_are_the_same_thing(measure: Measure) -> None:
    assert parse_measure(repr(measure)) == measure
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert len({measure, parse_measure(measure.label)}) == 1


# Drawing a campaign takes longer than all measures on it: each is for all of them.


@given(campaign=campaigns.campaigns())
@settings(max_examples=60)
def test_values_stay_in_range(campaign: campaigns.Campaign) -> None:
    for measure in OF_TEXT:
        value = campaigns.score(measure, *campaign, union=True)
        low, high = measure.range
        within = low <= value <= (math.inf if high is None else high + 1e-12)
        assert within or math.isnan(value), f"{measure}: {value}"


@given(documents=campaigns.judged_documents())
@settings(max_examples=60)
def test_a_topic_without_results_scores_zero(documents: dict[str, naive.Doc]) -> None:
    about_the_topic = {"num_rel", "rel_size", "RBPres", "rejected"}
    for measure in OF_TEXT:
        value = campaigns.score(measure, [], documents)
        zero = math.isnan(value) or value == 0
        assert zero or measure.name in about_the_topic, f"{measure}: {value}"


@given(campaign=campaigns.campaigns())
@settings(max_examples=60)
def test_nothing_relevant_is_undefined_or_a_count(campaign: campaigns.Campaign) -> None:
    results, documents = campaign
    barren = {name: naive.Doc(doc.length) for name, doc in documents.items()}
    for measure in OF_TEXT:
        value = campaigns.score(measure, results, barren)
        assert math.isnan(value) != measure.always_defined, f"{measure}: {value}"


@given(campaign=campaigns.campaigns())
@settings(max_examples=60)
def test_the_same_answer_twice(campaign: campaigns.Campaign) -> None:
    """Also after all others have looked at the same topic, and in the other order."""
    one, other = campaigns.new_view(*campaign), campaigns.new_view(*campaign)
    first = [score(measure, one) for measure in OF_TEXT]
    for seen in (one, other):
        again = [score(measure, seen) for measure in reversed(OF_TEXT)]
        for measure, value, repeated in zip(OF_TEXT, first, reversed(again), strict=True):
            same = value == repeated or (math.isnan(value) and math.isnan(repeated))
            assert same, f"{measure}: {value}, then {repeated}"


@st.composite
def ideal_campaigns(draw: st.DrawFn) -> campaigns.Campaign:
    """Exactly the relevant passages, documents by decreasing amount of relevant text."""
    documents = draw(campaigns.judged_documents())
    passages = {n: sorted(_maximal(doc)) for n, doc in documents.items()}
    documents = {
        name: naive.Doc(doc.length, doc.spans, passages[name][0][0] if passages[name] else None)
        for name, doc in documents.items()
    }
    order = sorted(passages, key=lambda n: -sum(e - s for s, e in passages[n]))
    return [(name, *span) for name in order for span in passages[name]], documents


def _maximal(doc: naive.Doc) -> list[tuple[int, int]]:
    chars = {x for s, e in doc.spans for x in range(s, e)}
    starts = sorted(x for x in chars if x - 1 not in chars)
    ends = sorted(x + 1 for x in chars if x + 1 not in chars)
    return list(zip(starts, ends, strict=True))


@given(campaign=ideal_campaigns())
@settings(max_examples=60)
def test_an_ideal_run_scores_one(campaign: campaigns.Campaign) -> None:
    for measure in (measure for measure in OF_TEXT if measure.ideal is not None):
        value = campaigns.score(measure, *campaign)
        assert (
            math.isnan(value)
            or value == pytest.approx(measure.ideal, abs=1e-12)
            or (measure.name == "judged" and not campaign[0])
        ), f"{measure}: {value}"


def test_every_family_defines_the_names_that_the_registry_lists() -> None:
    for family, names in FAMILIES.items():
        module = import_module(f"foveal.measures.{family}")
        defined = [
            word
            for kind in vars(module).values()
            if isinstance(kind, type)
            and kind.__module__ == module.__name__
            and "name" in vars(kind)
            for word in (kind.name, *kind.aliases)
        ]
        assert sorted(names.split()) == sorted(defined)
        listed = [measure for measure in all_measures() if measure.name in names.split()]
        assert names.split() == [word for m in listed for word in (m.name, *m.aliases)]


def test_a_measure_is_an_attribute_of_the_package_and_imports_only_its_family() -> None:
    assert foveal.measures.iP == find_measure("iP")
    assert foveal.measures.MAiP == find_measure("AiP")
    assert not hasattr(foveal.measures, "ip")
    assert not hasattr(foveal.measures, "_iP")
    code = "import sys; from foveal.measures import iP; print('foveal.measures.xcg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_names_are_matched_exactly_first_then_without_case() -> None:
    assert find_measure("P").name == "P"
    assert find_measure("aip").name == "AiP"
    assert find_measure("char_f1").name == "charF"


@pytest.mark.parametrize("alias", ["MAP", "MAgP", "MAiP", "gR'", "AgP'", "MAgP'", "Precision"])
def test_aliases(alias: str) -> None:
    assert find_measure(alias).name in {"AP", "AgP", "AiP", "gRw", "AgPw", "P"}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("iP@.01", "iP@0.01"),
        ("iP@0.00", "iP@0.00"),
        ("iP@0.10", "iP@0.10"),
        ("iP@0.1230", "iP@0.123"),
        ("iP@1e-3", "iP@0.001"),
        ("gP(beta=1.0)@5", "gP@5"),
        ("gP( n = 500 , score = BEP )@10", "gP(score=BEP)@10"),
        ("AgPw(n=9,form=11,score=BEP)", "AgPw(form=11,score=BEP,n=9)"),
        ("BEPD(A=.1)", "BEPD(A=0.1)"),
        ("charP(budget=none)", "charP"),
        ("MAgP", "AgP"),
        ("gP(score=t2i)@5", "gP(score=T2I)@5"),
        ("gP(score=f)@5", "gP@5"),
        (
            "nxCG(quant=GENLIFTED,overlap=On,clamp=FALSE)@5",
            "nxCG(quant=genLifted,overlap=on,clamp=false)@5",
        ),
        ("charP(budget=None)", "charP"),
        ("BEPD(L=AUTO)", "BEPD"),
    ],
)
def test_canonical_spelling(text: str, canonical: str) -> None:
    assert parse_measure(text).label == canonical


@every_measure
def test_values_of_parameters_are_matched_without_case(measure: Measure) -> None:
    for parameter in measure.parameters:
        if isinstance(parameter, Choice):
            for option in parameter.options:
                exact = measure(**{parameter.name: option})
                assert measure(**{parameter.name: option.upper()}).label == exact.label
                assert measure(**{parameter.name: option.lower()}) == exact


def test_a_curve_is_all_its_points() -> None:
    points = parse_measures("iP@curve")
    assert [str(points[0]), str(points[10]), str(points[-1])] == ["iP@0.00", "iP@0.10", "iP@1.00"]
    assert [str(m) for m in parse_measures("igP(score=BEP)@curve")][:2] == [
        "igP(score=BEP)@0.0",
        "igP(score=BEP)@0.1",
    ]


@pytest.mark.parametrize(
    ("text", "gist"),
    [
        ("iPP@0.1", "did you mean iP"),
        ("iP", "needs a recall cut-off"),
        ("iP@1.5", "recall level from 0 to 1"),
        ("iP@nan", "recall level from 0 to 1"),
        ("P@0", "whole number from 1"),
        ("P@2.5", "whole number from 1"),
        ("AP@5", "takes no cut-off"),
        ("AP(x=1)", "it takes none"),
        ("gP(bta=1)@5", "it takes score, beta"),
        ("gP(beta=-1)@5", "a number from 0"),
        ("gP(score=G)@5", "F or BEP or T2I"),
        ("gP(score=T2)@5", "F or BEP or T2I"),
        ("gP(beta)@5", "expected parameter=value"),
        ("gP(beta=1,beta=2)@5", "given twice"),
        ("gP(beta=1", "cannot read measure"),
        ("HiP(alpha=2)@5", "from 0 to 1"),
        ("charP(budget=1.5)", "whole number from 1 to 1000000000000, or none"),
        ("T2I(T=0)", "a whole number from 1"),
        ("T2I(T=99999999999999999999)", "a whole number from 1"),
        ("AiP(points=1e9)", "from 2 to 100001"),
        ("charP(budget=1e300)", "whole number from 1 to 1000000000000, or none"),
        ("AgP(beta=1e200)", "a number from 0 to"),
        ("gP@1e400", "whole number from 1"),
        ("P@1_0", "whole number from 1"),
        ("iP@-0", "recall level from 0 to 1"),
        ("Gr@10", "did you mean GR or gR or gr?"),
        ("nxCG(clamp=maybe)@10", "expected true or false"),
        ("nxCG(quant=best)@10", "expected spec or strict or gen"),
        ("inex_eval(form=encyclopedia,unretrieved=random_tail)", "no random tail"),
        ("AP@curve", "has no curve"),
    ],
)
def test_what_is_wrong_with_a_measure_is_said(text: str, gist: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measures(text)
    assert gist in str(caught.value)
