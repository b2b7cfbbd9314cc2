"""Assessments list only some elements: what that must, and must not, change."""

from __future__ import annotations

from pathlib import Path

import pytest

import foveal
from foveal.collection import BuildOptions, Collection, build_index
from foveal.collection.placement import place_judgements
from foveal.errors import FovealError
from foveal.evaluation.conversion import derive_elements
from foveal.files.source import Source

TEN = "x" * 10


def pool(*elements: str, topic: str = "1") -> str:
    return (
        f'<assessments pool="{topic}" topic="{topic}"><file name="d">{"".join(elements)}</file>'
        "</assessments>"
    )


def element(path: str, exhaustivity: str, size: int, rsize: int) -> str:
    return f'<element path="{path}" exhaustivity="{exhaustivity}" size="{size}" rsize="{rsize}"/>'


def run_of(*paths: str, topic: str = "1") -> str:
    lines = [f"{topic} Q0 d {i} {9 - i} mine {path}" for i, path in enumerate(paths, 1)]
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d.xml").write_text(f"<a><p>{TEN}</p><p>{TEN}</p></a>")
    build_index(tmp_path / "docs", tmp_path / "index")
    return tmp_path


def score(folder: Path, measure: str, *, index: bool = True, **options: object) -> float:
    results = foveal.evaluate(
        folder / "mine.run",
        folder / "j.xml",
        [measure],
        collection=folder / "index" if index else None,
        **options,
    )
    return next(iter(results.aggregate()["mine"].values()))


def test_a_child_that_is_not_listed_is_no_text_of_its_parent(folder: Path) -> None:
    listed = [element("/a[1]", "2", 20, 10), element("/a[1]/p[1]", "?", 10, 10)]
    (folder / "mine.run").write_text(run_of("/a[1]/p[1]", "/a[1]"))
    values = []
    for judged in (listed, [*listed, element("/a[1]/p[2]", "0", 10, 0)]):
        (folder / "j.xml").write_text(pool(*judged))
        values += [
            score(folder, "MAep(quant=gen5,overlap=on)", index=index) for index in (True, False)
        ]
    assert values == [0, 0, 0, 0]


def test_a_result_that_is_not_listed_has_no_size_to_share(folder: Path) -> None:
    (folder / "j.xml").write_text(pool(element("/a[1]", "2", 20, 20)))
    (folder / "mine.run").write_text(run_of("/a[1]/p[2]"))
    assert score(folder, "GR(targets=ideal)@1", recompute=False) == pytest.approx(0.5)
    with pytest.raises(FovealError, match=r"mine\.run:1: targets=ideal needs results that are"):
        score(folder, "GR(targets=ideal)@1", index=False)
    assert score(folder, "GR(targets=ideal,behaviour=classic)@1", index=False) == 0


def test_elements_of_one_extent_are_two_elements(folder: Path) -> None:
    (folder / "docs" / "d.xml").write_text(f"<a><h>12345</h><s><p>{TEN}</p></s></a>")
    build_index(folder / "docs", folder / "other")
    (folder / "q.jsonl").write_text('{"topic":"1","doc":"d","spans":[{"start":5,"end":15}]}\n')
    values = []
    for path in ("/a[1]/s[1]", "/a[1]/s[1]/p[1]"):
        (folder / "mine.run").write_text(run_of(path))
        results = foveal.evaluate(
            folder / "mine.run",
            folder / "q.jsonl",
            ["GR(targets=ideal,behaviour=classic)@1", "nxCG(overlap=on)@1"],
            collection=folder / "other",
        )
        values.append(list(results.aggregate()["mine"].values()))
    assert values == [[1, 1], [0, 1]]


def test_exhaustivity_weighs_only_where_it_was_graded(folder: Path) -> None:
    (folder / "mine.run").write_text(run_of("/a[1]"))
    (folder / "j.xml").write_text(
        pool('<element path="/a[1]" size="20" rsize="20"/>').replace("exhaustivity", "")
    )
    with pytest.raises(FovealError, match="weight=exh takes grades of exhaustivity"):
        score(folder, "EPRUM(targets=ideal,weight=exh)")


def test_a_topic_without_results_scores_0_also_with_a_random_tail(folder: Path) -> None:
    (folder / "j.xml").write_text(pool(element("/a[1]", "2", 20, 10)))
    (folder / "k.xml").write_text(pool(element("/a[1]", "2", 20, 10), topic="2"))
    (folder / "mine.run").write_text(run_of("/a[1]"))
    results = foveal.evaluate(
        folder / "mine.run",
        [folder / "j.xml", folder / "k.xml"],
        ["inex_eval(unretrieved=random_tail)"],
        collection=folder / "index",
    )
    assert results.values[0, 1, 0] == 0


def test_the_mean_of_seven_functions_is_that_of_their_means(folder: Path) -> None:
    grade = '<path path="/a[1]" exhaustiveness="{}" specificity="{}"/>'
    for topic, grades in (("1", (3, 3)), ("2", (1, 1))):
        text = pool(grade.format(*grades), topic=topic).replace('file name="d"', 'file file="d"')
        (folder / f"{topic}.xml").write_text(text)
    (folder / "mine.run").write_text(run_of("/a[1]"))
    results = foveal.evaluate(
        folder / "mine.run", [folder / "1.xml", folder / "2.xml"], task="2004.CO"
    )
    *seven, mean = results.aggregate()["mine"].values()
    assert mean == pytest.approx(sum(seven) / 7)
    assert mean not in (0, 1)
    assert len(results.measures) == 8
    alone = foveal.evaluate(
        folder / "mine.run", [folder / "1.xml", folder / "2.xml"], ["inex_eval(quant=mean7)"]
    )
    assert alone.aggregate() == {"mine": {"inex_eval(quant=mean7)": mean}}


def test_derived_assessments_can_be_read_back_with_their_index(folder: Path) -> None:
    text = f"<a> <p>{TEN}</p> tail <b>x</b></a>"
    (folder / "docs" / "d.xml").write_text(text)
    options = BuildOptions(whitespace="strip")
    build_index(folder / "docs", folder / "stripped", options)
    collection = Collection.open(folder / "stripped")
    judged = foveal.read_judgements(
        Source.of_text('{"topic":"1","doc":"d","spans":[{"start":3,"end":12}]}')
    )
    derived = derive_elements(place_judgements(judged, collection), collection)
    foveal.write_judgements(derived, folder / "pools", form="inex2006")
    again = place_judgements(foveal.read_judgements(folder / "pools"), collection)
    assert again.passages(0) == [(3, 12)]


def test_an_element_is_partly_seen_after_one_inside_it_that_is_not_listed(folder: Path) -> None:
    listed = [element("/a[1]", "2", 20, 10), element("/a[1]/p[1]", "1", 10, 10)]
    (folder / "j.xml").write_text(pool(*listed))
    for first, expected in (("/a[1]/p[2]", 0.5), ("/a[1]/p[2]/x[1]", 0.5), ("/b[1]", 1.0)):
        (folder / "mine.run").write_text(run_of(first, "/a[1]"))
        value = score(folder, "nxCG(quant=gen5,overlap=on)@2", index=False)
        assert value == expected, first
    (folder / "mine.run").write_text(run_of("/a[1]/p[2]", "/a[1]"))
    assert score(folder, "nxCG(quant=gen5,overlap=on)@2") == 0.5


def test_a_root_is_not_its_only_child(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d.xml").write_text(f"<a><p>{TEN}</p></a>")
    build_index(tmp_path / "docs", tmp_path / "index")
    assessed = element("/a[1]", "1", 10, 10), element("/a[1]/p[1]", "2", 10, 10)
    (tmp_path / "j.xml").write_text(pool(*assessed))
    for path, expected in (("/a[1]", 0), ("/a[1]/p[1]", 1)):
        (tmp_path / "mine.run").write_text(run_of(path))
        assert score(tmp_path, "GR(targets=ideal,behaviour=classic,quant=gen5)@1") == expected
