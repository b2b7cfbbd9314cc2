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
    ("text", "problem"),
    [
        ("", "a.prop: the configuration is empty"),
        ("# nothing\n\n", "a.prop: the configuration is empty"),
        ("gen\nTASK: X", "a.prop:1: 'gen' belongs to no key; expected KEY: value"),
        (f"{SMALL}QUANT_FUNCTION: gen", "a.prop:5: unknown key 'QUANT_FUNCTION'; expected TASK, "),
        (f"{SMALL}Task: X", "a.prop:5: unknown key 'Task'; expected TASK, "),
        (f"{SMALL}XYZ: 1", "a.prop:5: unknown key 'XYZ'; expected TASK, "),
        (f"{SMALL}OVERLAP: on", "a.prop:5: OVERLAP is given twice in this block"),
        (f"{SMALL}POOLS: 1\nPOOL: 2", "a.prop:6: POOL is given twice in this block"),
        (SMALL.replace("q", "ep"), "a.prop:2: METRICS 'ep' is not possible; expected nxCG or ep"),
        (
            SMALL.replace("q\n", "nxG\n"),
            "a.prop:2: METRICS 'nxG' is not possible; expected nxCG or",
        ),
        (SMALL.replace("off", "of"), "a.prop:3: OVERLAP 'of' is not possible; expected on or off"),
        (SMALL.replace("gen", "genlift"), "a.prop:4: QUANT_FUNCTIONS 'genlift' is not possible"),
        (SMALL.replace("gen", "gen,\n?"), "a.prop:5: QUANT_FUNCTIONS '?' is not possible"),
        (f"{SMALL}ALPHA: 2", "a.prop:5: ALPHA '2' is not possible; expected a number from 0 to 1"),
        (f"{SMALL}ALPHA: nan", "a.prop:5: ALPHA 'nan' is not possible"),
        (f"{SMALL}ALPHA: one", "a.prop:5: ALPHA 'one' is not possible"),
        (f"{SMALL}DCV: 0", "a.prop:5: DCV '0' is not possible; expected a rank"),
        (f"{SMALL}DCV: 10, 2.5", "a.prop:5: DCV '2.5' is not possible; expected a rank"),
        (
            f"{SMALL}QUERY_TYPE: CO-S",
            "a.prop:5: QUERY_TYPE 'CO-S' is not possible; expected CO or ",
        ),
        (f"{SMALL}POOLS:", "a.prop:1: POOLS has no value"),
        (f"{SMALL}POOLS: # none\n", "a.prop:1: POOLS has no value"),
        (SMALL.replace("q", "nxCG"), "a.prop:1: nxCG is measured at cut-offs; DCV is missing"),
        (SMALL.replace("METRICS: q\n", ""), "a.prop:1: METRICS has no value in this block"),
        (SMALL.partition("\n")[2], "a.prop:1: TASK has no value in this block"),
        (f"{SMALL}{SMALL[:29]}", "a.prop:5: OVERLAP has no value in this block"),
        (
            SMALL.replace("\n", " ", 1),
            "a.prop:1: METRICS has no value in this block",
        ),
        (f"{SMALL}OVERLAP on", "a.prop:5: QUANT_FUNCTIONS 'OVERLAP' is not possible"),
    ],
)
def test_a_bad_file_is_refused_with_the_line(text: str, problem: str) -> None:
    assert refused(text)[0].startswith(problem)


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
