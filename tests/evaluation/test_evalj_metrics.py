"""The element <metrics> of EvalJ: entries become measures, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalj_files import DISTANCES, PRINTED, configuration
from foveal.errors import InputError
from foveal.evaluation import PRESETS
from foveal.evaluation.evalj import read_metrics
from foveal.files.source import Source
from foveal.measures import parse_measures


def entries(inside: str) -> list[str]:
    source = Source.of_text(f"<metrics>\n{inside}\n</metrics>", "a.xml")
    return [text for block in read_metrics(source) for text in block.texts]


def test_the_printed_metrics_ask_for_what_the_preset_does() -> None:
    (block,) = read_metrics(Source.of_text(PRINTED))
    assert block.tasks == ("BestInContext",)
    assert len(block.texts) == 3 * len(DISTANCES)
    asked = {m.label for text in block.texts for m in parse_measures(text)}
    assert asked == {measure.label for measure in PRESETS["2006.BestInContext"].measures}


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("<EPRUM/>", "EPRUM"),
        ('<EPRUM><behaviour value="Classic"/></EPRUM>', "EPRUM(behaviour=classic)"),
        ('<EPRUM><behaviour value="T2I"><T value="100"/></behaviour></EPRUM>', "behaviour=t2i,T=1"),
        ('<EPRUM><generator value="IdealTargetGenerator"/></EPRUM>', "EPRUM(targets=ideal)"),
        (
            (
                '<EPRUM><generator value="PassageTargetGenerator"/>'
                '<behaviour value="Hierarchical"/></EPRUM>'
            ),
            "EPRUM(targets=passages)",
        ),
        (
            (
                '<EPRUM><generator value="IdealTargetGenerator"/><binary value="false"/>'
                '<quantisation value="Exh"/></EPRUM>'
            ),
            "EPRUM(targets=ideal,weight=exh)",
        ),
        (
            '<EPRUM><generator value="IdealTargetGenerator"/><quantisation value="gen"/></EPRUM>',
            "EPRUM(targets=ideal,weight=quant,quant=gen)",
        ),
        ('<EPRUM><behaviour value="bepdistance"><a value="0.1"/></behaviour></EPRUM>', "(A=0.1)"),
    ],
)
def test_entries_become_parameters(inside: str, text: str) -> None:
    average, curve = entries(inside)
    assert text in average
    assert curve == f"{average}@curve"
    assert len(parse_measures(curve)) > 1


def test_bepd_takes_its_distance_in_either_case() -> None:
    assert entries('<BEPD/><BEPD><a value="10"/></BEPD><BEPD><A value=".1"/></BEPD>') == [
        *("BEPD", "BEPD(A=10)", "BEPD(A=.1)"),
    ]


@pytest.mark.parametrize(
    ("inside", "line"),
    [
        ("", 1),
        ("<PRUM/>", 2),
        ('<BEPD onyl="x"/>', 2),
        ("<BEPD>\n<b/></BEPD>", 3),
        ("<BEPD><a/></BEPD>", 2),
        ('<BEPD><a value="0"/></BEPD>', 2),
        ('<BEPD><a value="1"/>\n<A value="2"/></BEPD>', 3),
        ('<BEPD><a value="1"><b/></a></BEPD>', 2),
        ('<BEPD><generator value="PassageTargetGenerator"/><a value="10"/></BEPD>', 2),
        ('<EPRUM><a value="10"/></EPRUM>', 2),
        ('<EPRUM><behaviour value="Classic"><a value="2"/></behaviour></EPRUM>', 2),
        ('<EPRUM><binary value="no"/></EPRUM>', 2),
        ('<EPRUM><binary value="false"/></EPRUM>', 2),
        ('<EPRUM><quantisation value="Ex"/></EPRUM>', 2),
        ('<EPRUM><generator value="BEP"/></EPRUM>', 2),
        ('<EPRUM><behaviour value="Random"/></EPRUM>', 2),
    ],
)
def test_bad_metrics_are_refused_with_the_line(inside: str, line: int) -> None:
    with pytest.raises(InputError) as error:
        entries(inside)
    assert error.value.problems[0].line == line


def test_entries_for_the_same_tasks_are_one_block(tmp_path: Path) -> None:
    text = '<metrics><BEPD only="A"/><EPRUM/><BEPD only="A" id="b"/><BEPD only="A, B"/></metrics>'
    blocks = configuration(tmp_path, text, "m.xml")
    assert [(block.tasks, len(block.texts)) for block in blocks] == [
        (("A",), 2),
        ((), 2),
        (("A", "B"), 1),
    ]
