"""Every number of the specification's worked examples, on its toy collection.

D1 a[0,100): s1[0,60) of p1[0,20) p2[20,40) p3[40,60), s2[60,100) of p4[60,80) p5[80,100);
highlighted [10,40) [70,80), BEP 10. D2 a[0,50): p1[0,25) p2[25,50), all highlighted, BEP 0.
D3 a[0,40): not relevant.
"""

from __future__ import annotations

import pytest

import foveal
from foveal.measures import parse_measure
from foveal.measures.alignment import Alignment, Gold, Overlap
from foveal.measures.toy import JUDGEMENTS, judgements, parse_run
from foveal.model import Judgements, Run

PLACES = {
    "p1": "D1:0-20",
    "p2": "D1:20-40",
    "s1": "D1:0-60",
    "p4": "D1:60-80",
    "s2": "D1:60-100",
    "a": "D1:0-100",
    "D2": "D2:0-50",
    "D2.p1": "D2:0-25",
    "D3": "D3:0-40",
}


def value(run: str, measure: str, *, union: bool = False) -> float:
    results = parse_run(" ".join(PLACES.get(item, item) for item in run.split()))
    gold = Gold(Judgements.from_highlights(JUDGEMENTS).combined())
    run = Run.from_frame(results, name="toy")
    overlap = Overlap.UNION if union else Overlap.UNCHANGED
    return float(parse_measure(measure).score_topics(Alignment(run, gold, overlap))[0])


CASES = [
    # 1.3, overlap policy union
    ("p2 s1 D2", "union", "charP@1 1", "charP@2 .5", "charP@3 .7273"),
    ("p2 s1 D2", "union", "charR@1 .2222", "charR@2 .3333", "charR@3 .8889"),
    ("p2 s1 D2", "allow", "charR@3 1.1111"),
    # 11, HiXEval
    ("p2 s1 a", "allow", "HiP@1 1", "HiP@2 .375", "HiP@3 .2222"),
    ("p2 s1 a", "allow", "HiR@1 .2222", "HiR@2 .3333", "HiR@3 .4444"),
    ("p2 s1 a", "allow", "HiF@1 .3636", "HiF@2 .3529", "HiF@3 .2963"),
    ("p2 s1 a", "allow", "HiP(alpha=0)@1 1", "HiP(alpha=0)@2 .625", "HiP(alpha=0)@3 .5"),
    # rval at alpha=.5: general 20, 20, 25; printed 20, 20, 20
    ("p2 s1 a", "allow", "HiR(alpha=0.5)@3 .7222", "HiR(alpha=0.5,rval=printed)@3 .6667"),
    # six copies of p2, then s1: printed -5, general 20
    ("p2 p2 p2 p2 p2 p2 s1", "allow", "HiR(alpha=0.5)@6 .7778", "HiR(alpha=0.5)@7 1"),
    ("p2 p2 p2 p2 p2 p2 s1", "allow", "HiR(alpha=0.5,rval=printed)@7 .7222"),
    # 12, Focused
    ("p2 D2 D3 s2", "allow", "charP@1 1", "charP@2 1", "charP@3 .6364", "charP@4 .5333"),
    ("p2 D2 D3 s2", "allow", "charR@1 .2222", "charR@2 .7778", "charR@3 .7778", "charR@4 .8889"),
    ("p2 D2 D3 s2", "allow", "iP@0.00 1", "iP@0.77 1", "iP@0.78 .5333", "iP@0.88 .5333"),
    ("p2 D2 D3 s2", "allow", "iP@0.89 0", "AiP .8304", "MAiP .8304"),
    # 13.1, scores of D1 {p2, s2}
    (
        "p2 s2",
        "allow",
        "gP@1 .6",
        "gP(beta=0.25)@1 .51",
        "gP(beta=0.5)@1 .5357",
        "gP(beta=2)@1 .6818",
    ),
    # 13.2, ranking D3, D1 {p2, s2}, D2 {p1}
    ("D3 p2 s2 D2.p1", "allow", "gP@1 0", "gP@2 .3", "gP@3 .4222", "gP@5 .2533"),
    ("D3 p2 s2 D2.p1", "allow", "gP(short=last)@5 .4222", "gR@1 0", "gR@2 .5", "gR@3 1"),
    ("D3 p2 s2 D2.p1", "allow", "gRw@1 0", "gRw@2 .4444", "gRw@3 1", "gR'@2 .4444"),
    ("D3 p2 s2 D2.p1", "allow", "AgP .3611", "AgPw .3679", "AgPw(form=11) .3611"),
    ("D3 p2 s2 D2.p1", "allow", "igP@0 .4222", "igP@0.5 .4222", "igP@1 .4222"),
    # 13.3, T2I reading of D1 {p2, s2}
    ("p2 s2", "allow", "gP(score=T2I,irr=15)@1 .6667", "gP(score=T2I)@1 .4"),
    # 14.1, BEPD with L = 63.33
    ("p2 D3 D2:25-50", "allow", "BEPD .7903", "BEPD(A=.01) .0421", "BEPD(A=.1) .2949"),
    ("p2 D3 D2:25-50", "allow", "BEPD(A=10) .9732", "BEPD(A=100) .9972"),
    # 14.2, Best in Context
    ("p2 D3 D2:25-50", "allow", "gP(score=BEP)@1 .98", "gP(score=BEP)@2 .49"),
    ("p2 D3 D2:25-50", "allow", "gP(score=BEP)@3 .6433", "AgP(score=BEP) .8117"),
    ("p2 D3 D2:25-50", "allow", "AgP(score=BEP,n=1000) .8225", "AgP(score=BEP,n=50) .6167"),
    # 16, T2I: D1@0, D3@0, D2@25, D1@60
    ("p1 D3 D2:25-50 s2", "allow", "T2I(T=5,mode=read) .1111", "T2I(T=15,mode=read) .8056"),
    ("p1 D3 D2:25-50 s2", "allow", "T2I(T=40,mode=read) .8889", "T2I(T=5) .1111"),
    ("p1 D3 D2:25-50 s2", "allow", "T2I(T=15) .8056", "T2I(T=40) .8056"),
    ("p1 D3 D2:25-50 s2", "allow", "T2Ieffort(T=15,mode=read)@1 55"),
    ("p1 D3 D2:25-50 s2", "allow", "T2Ieffort(T=15,mode=read)@2 70"),
    ("p1 D3 D2:25-50 s2", "allow", "T2Ieffort(T=15,mode=read)@3 95"),
    ("p1 D3 D2:25-50 s2", "allow", "T2Ieffort(T=15,mode=read)@4 130"),
    ("p1 D3 D2:25-50 s2", "allow", "T2IcharP(T=15,mode=read)@4 .5"),
    ("p1 D3 D2:25-50 s2", "allow", "T2IcharR(T=15,mode=read)@4 .7222"),
    ("p1 D3 D2:25-50 s2", "allow", "T2Ieffort(T=5)@4 16", "T2Ieffort(T=15)@4 38"),
    ("p1 D3 D2:25-50 s2", "allow", "T2IR(T=15)@4 1", "T2Ieffort(T=40)@4 63"),
    # 17, documents
    ("D3 a D2", "allow", "P@1 0", "P@2 .5", "P@3 .6667", "AP .5833", "MAP .5833"),
    # 18, overlap
    ("p2 s1 p4 D2 p1", "allow", "SetOverlap .6", "ListOverlap .4", "MeanOverlap .2667"),
    ("p2 s1 p4 D2 p1", "allow", "Redundancy .2353", "MeanOverlap@2 .1667"),
    ("s1 p1 p2", "allow", "SetOverlap 1", "ListOverlap .6667"),
    ("p2 p1 s1", "allow", "SetOverlap 1", "ListOverlap .3333"),
]


@pytest.mark.parametrize(
    ("run", "policy", "measure", "expected"),
    [
        (run, policy, *expectation.rsplit(" ", 1))
        for run, policy, *expectations in CASES
        for expectation in expectations
    ],
)
def test_worked_example(run: str, policy: str, measure: str, expected: str) -> None:
    assert value(run, measure, union=policy == "union") == pytest.approx(float(expected), abs=5e-5)


def test_hixeval_with_the_relevant_characters_of_all_elements() -> None:
    run = Run.from_frame(parse_run("D1:20-40 D1:0-60 D1:0-100"), name="run")
    names = [f"HiR(alpha=0,trel=elements)@{k}" for k in (1, 2, 3)]
    results = foveal.evaluate(run, judgements(), names)
    expected = [0.0909, 0.2273, 0.4091]
    assert list(results.aggregate()["run"].values()) == pytest.approx(expected, abs=5e-5)


def test_the_weighted_average_may_prefer_swapped_documents_in_form_8_only() -> None:
    spans = {"X": 50, "Y": 30, "Z": 20, "N": 0}
    judgements = Judgements.from_highlights(
        {"1": {d: {"length": 60, "spans": [(0, n)] if n else []} for d, n in spans.items()}}
    )
    whole = {d: (d, 0, n or 10) for d, n in spans.items()}
    inserted = Run.from_results({"1": [whole[d] for d in "NXYZ"]}, name="RI")
    swapped = Run.from_results({"1": [whole[d] for d in "NYXZ"]}, name="RSI")
    scores = foveal.evaluate([inserted, swapped], judgements, ["AgP", "AgPw", "AgPw(form=11)"])
    assert scores.overall[0].tolist() == pytest.approx([0.6389, 0.6000, 0.6389], abs=5e-5)
    assert scores.overall[1].tolist() == pytest.approx([0.6389, 0.6333, 0.6389], abs=5e-5)


def test_t2i_alone_needs_the_lengths_of_documents() -> None:
    truth = foveal.Judgements.from_highlights({"1": {"d": {"spans": [(0, 10)]}}})
    run = foveal.Run.from_results({"1": [("d", 0, 10)]}, name="mine")
    assert foveal.evaluate([run], truth, ["AgP"])["mine", "AgP"] == 1
    with pytest.raises(foveal.InputError, match="needs lengths of the relevant documents"):
        foveal.evaluate([run], truth, ["AgP(score=T2I)"])


def test_a_topic_offers_what_the_page_on_new_measures_lists() -> None:
    run = Run.from_frame(parse_run("D1:20-40 D2:0-50 D1:30-50"), name="toy")
    gold = Gold(Judgements.from_highlights(JUDGEMENTS).combined())
    topic = Alignment(run, gold).topic("toy")
    assert topic.length.tolist() == [100, 50, 100]
    assert [topic.passages(row) for row in topic.row[:2]] == [[(10, 40), (70, 80)], [(0, 50)]]
    assert topic.new_size.tolist() == [20, 50, 10]
