"""What EvalJ's configurations score: topics and pools that count, values, files of results."""

from __future__ import annotations

from pathlib import Path

import pytest

import foveal
from evalj_files import (
    PLACES,
    PRINTED,
    SMALL,
    configuration,
    planned,
)
from foveal.errors import InputError
from foveal.evaluation.evalj import plan, score
from inex2005 import SIZES, assessments, write_campaign


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_campaign(tmp_path)


def scored(folder: Path, text: str, **options) -> list[foveal.Results]:
    return list(score(planned(folder, text), **options))


def test_a_worked_example(folder: Path) -> None:
    """Gains 1.6 and 0.8 against the ideal 1.6, 1 and 0.8; nothing for the other CO+S topic."""
    text = SMALL.replace("q", "nxCG, ep/gr, q") + f"DCV: 1 2\nQUERY_TYPE: CO+S\n{PLACES}"
    (results,) = scored(folder, text)
    assert results.topics == ("202", "203")
    value = {name: results["thorough", name, "202"] for name in results.measures}
    assert value["nxCG(quant=gen)@1"] == pytest.approx(1)
    assert value["nxCG(quant=gen)@2"] == pytest.approx(2.4 / 2.6)
    assert value["MAnxCG(quant=gen)@2"] == pytest.approx((1 + 2.4 / 2.6) / 2)
    assert value["nxCG(quant=gen)@1500"] == pytest.approx(2.4 / 3.4)
    assert value["MAep(quant=gen)"] == pytest.approx((1 + 1.8 / 2) / 3)
    assert value["Q(quant=gen)"] == pytest.approx((2.6 / 2.6 + 4.4 / 4.6) / 3)
    assert results["thorough", "MAep(quant=gen)"] == pytest.approx((1 + 1.8 / 2) / 6)


@pytest.mark.parametrize(
    ("kind", "topics"),
    [("CO+S", ("202", "203")), ("COS", ("202", "203")), ("CAS", ("250",)), ("CO+S CAS", None)],
)
def test_a_query_type_selects_topics(folder: Path, kind: str, topics: tuple[str, ...]) -> None:
    text = SMALL.replace("CO.Thorough", "SSCAS" if kind == "CAS" else "CO.Thorough")
    (results,) = scored(folder, f"{text}QUERY_TYPE: {kind}\n{PLACES}")
    assert results.topics == (topics or ("202", "203", "250"))


def test_types_may_come_from_the_topics_themselves(folder: Path) -> None:
    for topic, pool in (("202", "297"), ("203", "275")):
        path = folder / "official" / "CO+S" / pool / f"topic{topic}.xml"
        path.write_text(assessments(topic, pool, {"A": SIZES}))
    text = f"{SMALL}QUERY_TYPE: CO+S\n{PLACES}"
    with pytest.raises(InputError) as error:
        scored(folder, text)
    assert str(error.value).startswith(
        f"{folder / 'a.prop'}:5: the query type of topic '202' is not known: the assessments do"
    )
    topics = folder / "topics.xml"
    topics.write_text(
        '<inex_topics><inex_topic topic_id="202" query_type="CO+S"><title>x</title></inex_topic>'
        '<inex_topic topic_id="203" query_type="CO"><title>y</title></inex_topic></inex_topics>'
    )
    (results,) = scored(folder, text, topics_file=str(topics))
    assert results.topics == ("202",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("QUERY_TYPE: CO\n", "5: no topic to score is of type CO; the types are CAS, CO+S"),
        ("POOLS: 297,\n 279, 1\n", "6: no assessments of pool '279'"),
    ],
)
def test_topics_and_pools_that_are_not_there_are_refused(
    folder: Path, text: str, problem: str
) -> None:
    with pytest.raises(InputError) as error:
        scored(folder, f"{SMALL}{text}{PLACES}")
    assert str(error.value).startswith(f"{folder / 'a.prop'}:{problem}")


def test_one_run_and_metric_in_one_place_twice_is_refused(folder: Path) -> None:
    twice = f"{SMALL}POOLS: 297\n{PLACES}{SMALL}POOLS: 297, 301\n{PLACES}"
    with pytest.raises(InputError) as error:
        scored(folder, twice)
    assert str(error.value).startswith(
        f"{folder / 'a.prop'}:8: run 'thorough' has been scored by Q(quant=gen) in the block on "
        "line 1; "
    )


def test_metrics_score_best_in_context_runs_only(folder: Path) -> None:
    truth = folder / "judgements.jsonl"
    truth.write_text(
        '{"topic":"1","doc":"D","length":100,"bep":10,"spans":[{"start":10,"end":40}]}\n'
        '{"topic":"1","doc":"E","length":50,"bep":0,"spans":[{"start":0,"end":50}]}\n'
    )
    for name, task in (("best", "BestInContext"), ("thorough", "Thorough")):
        (folder / f"{name}.jsonl").write_text(
            f'{{"type":"header","format":"foveal-run","version":1,"run":"{name}","task":"{task}"}}\n'
            '{"topic":"1","doc":"D","bep":20}\n{"topic":"1","doc":"E","bep":0}\n'
        )
    runs = [str(folder / f"{name}.jsonl") for name in ("best", "thorough")]
    jobs = plan(configuration(folder, PRINTED, "m.xml"), runs=runs, judgements=[str(truth)])
    (results,) = score(jobs)
    assert results.runs == ("best",)
    same = foveal.evaluate(runs[0], truth, task="2006.BestInContext")
    assert set(results.measures) == set(same.measures)
    for measure in same.measures:
        assert results["best", measure] == same["best", measure]
