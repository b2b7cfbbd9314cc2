"""EvalJ's property files: those that were printed, how they may be written, what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalj_files import BROWSE, FOCUSSED, OF_2006, SMALL, STRICT, STRUCTURED, THOROUGH, labels
from foveal.errors import InputError
from foveal.evaluation import PRESETS
from foveal.evaluation.evalj import TaskBlock, read_properties
from foveal.files.source import Source


def read(text: str) -> tuple[TaskBlock, ...]:
    return read_properties(Source.of_text(text, "a.prop"))


def refused(text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        read(text)
    return error.value.lines()


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        (FOCUSSED, "2005.CO.Focussed"),
        (STRUCTURED, "2005.COS.Focussed"),
        (THOROUGH, "2005.CO.Thorough"),
        (STRICT, "2005.SSCAS"),
        (BROWSE, "2005.CO.FetchBrowse"),
        (BROWSE.replace("CO.", "COS."), "2005.COS.FetchBrowse"),
    ],
)
def test_a_printed_block_asks_for_what_the_preset_of_its_task_does(text: str, preset: str) -> None:
    (block,) = read(text)
    asked = labels(block.texts)
    assert asked == {measure.label for measure in PRESETS[preset].measures}
    assert PRESETS[preset].is_for(block.tasks[0])


def test_the_three_metrics_mean_what_evalj_reported() -> None:
    (block,) = read(SMALL.replace("q\n", "nxCG, ep/gr, q\n") + "DCV: 10, 25\n")
    inside = "quant=gen,overlap=off"
    assert block.texts == (
        *(f"{name}({inside})@{k}" for name in ("nxCG", "MAnxCG") for k in (10, 25)),
        f"nxCG({inside})@curve",
        *(f"MAep({inside})", f"iMAep({inside})", f"ep({inside})@curve"),
        *(f"Q({inside})", f"Rmeasure({inside})"),
    )


def test_lists_are_cross_products_but_alpha_has_no_say_without_overlap() -> None:
    (block,) = read(
        "TASK: X\nMETRICS: q\nALPHA: 0.5, 1\nOVERLAP: on off\nQUANT_FUNCTIONS: gen,strict"
    )
    assert sorted(text for text in block.texts if text.startswith("Q")) == sorted(
        f"Q(quant={quant},overlap={overlap})"
        for quant in ("gen", "strict")
        for overlap in ("on,alpha=0.5", "on,alpha=1", "off")
    )


def test_a_list_of_tasks_makes_a_block_for_each() -> None:
    blocks = read(BROWSE.replace("CO.FetchBrowse", "CO.FetchBrowse, CO.Thorough"))
    assert [block.tasks for block in blocks] == [("CO.FetchBrowse",), ("CO.Thorough",)]
    assert blocks[0].texts[0] == "FBarticle(score=MAep,quant=gen)"
    assert blocks[1].texts[0] == "MAep(quant=gen,overlap=on,alpha=1.0)"


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace(": ", "="),
        SMALL.replace(": ", " = "),
        SMALL.replace("\n", "\r\n"),
        f"\ufeff{SMALL}",
        SMALL.replace("\n", "  # because\n"),
        SMALL.replace(": ", ":\n    "),
        f"{SMALL.partition(chr(10))[2]}TASK: CO.Thorough",
        SMALL.replace("off", "OFF").replace("q\n", "Q\n").replace("gen", "Gen"),
    ],
    ids=["equals", "spaced", "crlf", "bom", "comments", "continued", "task last", "case"],
)
def test_one_block_may_be_written_in_many_ways(text: str) -> None:
    (block,) = read(text)
    (expected,) = read(SMALL)
    assert block.tasks == expected.tasks
    assert block.texts == expected.texts


def test_a_sign_within_a_path_starts_no_comment() -> None:
    (block,) = read(f"{SMALL}SUBMISSIONRUNS_DIR: runs#1/ #2, more runs/\n")
    assert list(block.properties["SUBMISSIONRUNS_DIR"]) == ["runs#1/"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("gen\nTASK: X", 1),
        (f"{SMALL}QUANT_FUNCTION: gen", 5),
        (f"{SMALL}OVERLAP: on", 5),
        (f"{SMALL}POOLS: 1\nPOOL: 2", 6),
        (SMALL.replace("q\n", "nxG\n"), 2),
        (SMALL.replace("off", "of"), 3),
        (SMALL.replace("gen", "gen,\n?"), 5),
        (f"{SMALL}ALPHA: 2", 5),
        (f"{SMALL}ALPHA: nan", 5),
        (f"{SMALL}DCV: 0", 5),
        (f"{SMALL}DCV: 10, 2.5", 5),
        (f"{SMALL}QUERY_TYPE: CO-S", 5),
        (f"{SMALL}POOLS: # none\n", 1),
        (SMALL.replace("q", "nxCG"), 1),  # at no cut-off
        (SMALL.replace("METRICS: q\n", ""), 1),
        (SMALL.partition("\n")[2], 1),
        (f"{SMALL}{SMALL[:29]}", 5),
        (SMALL.replace("\n", " ", 1), 1),
    ],
)
def test_a_bad_file_is_refused_with_the_line(text: str, line: int) -> None:
    assert refused(text)[0].startswith(f"a.prop:{line}: ")


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_an_empty_file_is_refused(text: str) -> None:
    assert len(refused(text)) == 1


def test_everything_wrong_is_said_at_once() -> None:
    found = refused("TASK: X\nMETRIC: q\nOVERLAP: of\nDCV: x, 3, y\n")
    assert [problem.split(": ")[0] for problem in found] == [f"a.prop:{n}" for n in (2, 3, 4, 4)]


WORDS = st.text("abcAOV_:=#,*$./ -\n\r\t+09", max_size=60)


@settings(max_examples=60)
@given(st.lists(st.one_of(WORDS, st.sampled_from([*SMALL.splitlines(), *OF_2006.splitlines()]))))
def test_any_text_is_read_or_refused_with_places(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        blocks = read(text)
    except InputError:
        assert all(problem.startswith("a.prop:") for problem in refused(text))
    else:
        assert all(block.texts and block.tasks for block in blocks)
