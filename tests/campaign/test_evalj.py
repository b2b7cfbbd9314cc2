"""EvalJ's configurations: the files that were printed, what they mean, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.campaign import PRESETS
from foveal.campaign.evalj import Configuration, Job, plan, read_configuration, result_files, score
from foveal.campaign.evalj_metrics import Gains, read_metrics
from foveal.campaign.evalj_properties import Block, read_properties
from foveal.errors import InputError, UsageError
from foveal.formats import Source
from foveal.measures import parse_measures
from inex2005 import SIZES, assessments, submission, write_campaign

POOLS = "275,297,273,353,300,283,309,327,292,319,321, 325,301,315,265,361,\n364,349,279"
"""As printed, over two lines."""

FOCUSSED = """\
TASK: CO.Focussed
METRICS: nxCG, ep/gr, q
ALPHA: 1.0
OVERLAP: on
QUANT_FUNCTIONS: gen, strict, genLifted
DCV: 10, 25, 50
ASSESSMENTS_DIR: ../adhoc2005/official/CO+S*/
QUERY_TYPE: CO+S
SUBMISSIONRUNS_DIR: ../inex2005_runs*/
"""
STRUCTURED = FOCUSSED.replace("CO.", "COS.") + f"POOLS: {POOLS}\n"
THOROUGH = FOCUSSED.replace("Focussed", "Thorough").replace("on", "off")
BROWSE = """\
TASK: CO.FetchBrowse
METRICS: ep/gr
ALPHA: 1.0
OVERLAP: on, off
QUANT_FUNCTIONS: gen, strict, genLifted
DCV: 10, 25, 50
"""
STRICT = """\
TASK: SSCAS #or SVCAS, VSCAS, VVCAS
METRICS: nxCG, ep/gr, q
ALPHA: 1.0
OVERLAP: off
QUANT_FUNCTIONS: gen, strict, genLifted
DCV: 10, 25, 50
ASSESSMENTS_DIR: ../official/SSCAS/ #or ../SVCAS/, ../VSCAS/, ../VVCAS/
QUERY_TYPE: CAS
SUBMISSIONRUNS_DIR: ../inex2005_runs*/
"""
OF_2006 = """\
TASK: Focused
METRICS: nxCG
ALPHA: 1.0
DCV: 5, 10, 25, 50
OVERLAP: on, off
QUANT_FUNCTIONS: gen
ASSESSMENTS_DIR: $aPath/2006_assessmentsv4/
SUBMISSIONRUNS_DIR: $aPath/2006_runsv1/*
RESULTS_DIR: $aPath/2006_results
"""
SMALL = "TASK: CO.Thorough\nMETRICS: q\nOVERLAP: off\nQUANT_FUNCTIONS: gen\n"


def read(text: str) -> tuple[Block, ...]:
    return read_properties(Source.of_text(text, "a.prop"))


def refused(text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        read(text)
    return error.value.lines()


def labels(texts: tuple[str, ...]) -> set[str]:
    """The measures of these texts; gen and strict under their names of 2005."""
    named = [t.replace("quant=gen,", "quant=gen5,").replace("=strict,", "=strict5,") for t in texts]
    named = [t.replace("quant=gen)", "quant=gen5)").replace("=strict)", "=strict5)") for t in named]
    return {measure.label for text in named for measure in parse_measures(text)}


# -- property files ----------------------------------------------------------------------------


def test_a_printed_block_reads_as_it_says() -> None:
    (block,) = read(FOCUSSED)
    assert block.tasks == ("CO.Focussed",)
    assert [metric.name for metric in block.metrics] == ["nxCG", "ep/gr", "q"]
    assert [word.text for word in block.query_types] == ["CO+S"]
    assert block.assessments == (("../adhoc2005/official/CO+S*/", 7),)
    assert block.runs == (("../inex2005_runs*/", 9),)
    assert (block.pools, block.results) == ((), None)


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
    asked = labels(tuple(text for metric in block.metrics for text in metric.texts))
    assert asked == {measure.label for measure in PRESETS[preset].measures}
    assert PRESETS[preset].is_for(block.tasks[0])


def test_the_blocks_of_2006_ask_for_what_the_presets_do() -> None:
    (block,) = read(OF_2006)
    (metric,) = block.metrics
    of_ranks = [text for text in metric.texts if text.startswith("nxCG") and "curve" not in text]
    assert {text.replace("quant=gen", "quant=spec") for text in of_ranks} == {
        f"nxCG(quant=spec,overlap={o})@{k}"
        for o in ("on,alpha=1.0", "off")
        for k in (5, 10, 25, 50)
    }


def test_the_three_metrics_mean_what_evalj_reported() -> None:
    gains = Gains(("gen",), ("off",), cutoffs=("10", "25"))
    inside = "quant=gen,overlap=off"
    assert gains.texts("nxCG") == (
        *(f"{name}({inside})@{k}" for name in ("nxCG", "MAnxCG") for k in (10, 25)),
        f"nxCG({inside})@curve",
    )
    assert gains.texts("ep/gr") == (f"MAep({inside})", f"iMAep({inside})", f"ep({inside})@curve")
    assert gains.texts("q") == (f"Q({inside})", f"Rmeasure({inside})")


def test_lists_are_cross_products_but_alpha_has_no_say_without_overlap() -> None:
    (block,) = read(
        "TASK: X\nMETRICS: q\nALPHA: 0.5, 1\nOVERLAP: on off\nQUANT_FUNCTIONS: gen,strict"
    )
    (metric,) = block.metrics
    assert sorted(text for text in metric.texts if text.startswith("Q")) == sorted(
        f"Q(quant={quant},overlap={overlap})"
        for quant in ("gen", "strict")
        for overlap in ("on,alpha=0.5", "on,alpha=1", "off")
    )


def test_a_list_of_tasks_makes_a_block_for_each() -> None:
    blocks = read(BROWSE.replace("CO.FetchBrowse", "CO.FetchBrowse, CO.Thorough"))
    assert [block.tasks for block in blocks] == [("CO.FetchBrowse",), ("CO.Thorough",)]
    assert blocks[0].metrics[0].texts[0] == "FBarticle(score=MAep,quant=gen)"
    assert blocks[1].metrics[0].texts[0] == "MAep(quant=gen,overlap=on,alpha=1.0)"


def test_several_blocks_stand_in_one_file() -> None:
    blocks = read(f"# official settings\n\n{FOCUSSED}\n{STRUCTURED}\n{THOROUGH}")
    assert [block.tasks[0] for block in blocks] == ["CO.Focussed", "COS.Focussed", "CO.Thorough"]
    assert [block.line for block in blocks] == [3, 13, 25]
    assert [len(block.pools) for block in blocks] == [0, 19, 0]
    assert blocks[1].pools[-1] == ("279", 23)


@pytest.mark.parametrize("key", ["POOL", "POOLS"])
def test_pools_have_two_names(key: str) -> None:
    (block,) = read(f"{SMALL}{key}: 1, 2")
    assert [pool.text for pool in block.pools] == ["1", "2"]


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
    assert [metric.texts for metric in block.metrics] == [m.texts for m in expected.metrics]


def test_a_sign_within_a_path_starts_no_comment() -> None:
    (block,) = read(f"{SMALL}SUBMISSIONRUNS_DIR: runs#1/ #2, more runs/\n")
    assert [word.text for word in block.runs] == ["runs#1/"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a.prop: the configuration is empty"),
        ("# nothing\n\n", "a.prop: the configuration is empty"),
        ("gen\nTASK: X", "a.prop:1: 'gen' belongs to no key; expected KEY: value"),
        (f"{SMALL}QUANT_FUNCTION: gen", "a.prop:5: unknown key 'QUANT_FUNCTION'; did you mean QU"),
        (f"{SMALL}Task: X", "a.prop:5: unknown key 'Task'; did you mean TASK?"),
        (f"{SMALL}XYZ: 1", "a.prop:5: unknown key 'XYZ' (known: TASK, METRICS, "),
        (f"{SMALL}OVERLAP: on", "a.prop:5: OVERLAP is already given on line 3"),
        (f"{SMALL}POOLS: 1\nPOOL: 2", "a.prop:6: POOL is already given on line 5"),
        (SMALL.replace("q", "ep"), "a.prop:2: METRICS 'ep' is not possible; expected nxCG, ep/gr"),
        (SMALL.replace("q\n", "nxG\n"), "a.prop:2: METRICS 'nxG' is not possible; expected nxCG,"),
        (SMALL.replace("off", "of"), "a.prop:3: OVERLAP 'of' is not possible; expected on or off"),
        (SMALL.replace("gen", "genlift"), "a.prop:4: QUANT_FUNCTIONS 'genlift' is not possible"),
        (SMALL.replace("gen", "gen,\n?"), "a.prop:5: QUANT_FUNCTIONS '?' is not possible"),
        (f"{SMALL}ALPHA: 2", "a.prop:5: ALPHA '2' is not possible; expected a number from 0 to 1"),
        (f"{SMALL}ALPHA: nan", "a.prop:5: ALPHA 'nan' is not possible"),
        (f"{SMALL}ALPHA: one", "a.prop:5: ALPHA 'one' is not possible"),
        (f"{SMALL}DCV: 0", "a.prop:5: DCV '0' is not possible; expected a rank"),
        (f"{SMALL}DCV: 10, 2.5", "a.prop:5: DCV '2.5' is not possible; expected a rank"),
        (f"{SMALL}QUERY_TYPE: CO-S", "a.prop:5: QUERY_TYPE 'CO-S' is not possible; expected CO, C"),
        (f"{SMALL}POOLS:", "a.prop:5: POOLS has no value"),
        (f"{SMALL}POOLS: # none\n", "a.prop:5: POOLS has no value"),
        (f"{SMALL}RESULTS_DIR: a, b", "a.prop:5: RESULTS_DIR names several folders; expected one"),
        (SMALL.replace("q", "nxCG"), "a.prop:2: nxCG is measured at cut-offs; DCV is missing"),
        (SMALL.replace("METRICS: q\n", ""), "a.prop:1: METRICS is missing from this block"),
        (SMALL.partition("\n")[2], "a.prop:1: TASK is missing from this block"),
        (f"{SMALL}{SMALL[:29]}", "a.prop:5: OVERLAP is missing from this block"),
        (
            SMALL.replace("\n", " ", 1),
            "a.prop:1: METRICS within a value; expected a line KEY: value for each",
        ),
        (f"{SMALL}OVERLAP on", "a.prop:5: OVERLAP within a value"),
    ],
)
def test_a_bad_file_is_refused_with_the_line(text: str, problem: str) -> None:
    assert refused(text)[0].startswith(problem)


@pytest.mark.parametrize(
    ("word", "meant"), [("genlift", "genLifted"), ("stricct", "strict"), ("e3s23", "e3s32")]
)
def test_a_misspelled_value_gets_a_suggestion(word: str, meant: str) -> None:
    (problem,) = refused(SMALL.replace("gen", word))
    assert problem.endswith(f"; did you mean {meant}?")


def test_everything_wrong_is_said_at_once() -> None:
    found = refused("TASK: X\nMETRIC: q\nOVERLAP: of\nDCV: x, 3, y\n")
    assert [problem.split(": ")[0] for problem in found] == [f"a.prop:{n}" for n in (2, 3, 4, 4)]


def test_a_file_that_is_not_text_is_refused() -> None:
    source = Source("a.prop", b"TASK: \xff\n", "")
    with pytest.raises(InputError, match=r"a\.prop:1: byte 0xff is not valid UTF-8"):
        read_properties(source)


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
        assert all(block.metrics and block.tasks for block in blocks)


# -- <metrics> ---------------------------------------------------------------------------------

DISTANCES = ("100", "10", "1", "0.1", "0.01")
PRINTED = "".join(
    [
        "<metrics>\n",
        *(
            f'<EPRUM id="eprum-bep-{a}" only="BestInContext">\n'
            '  <binary value="false"/>\n'
            '  <generator value="BEPTargetGenerator"/>\n'
            '  <quantisation value="Exh"/>\n'
            f'  <behaviour value="BEPDistance"><A value="{a}"/></behaviour>\n'
            "</EPRUM>\n"
            for a in DISTANCES
        ),
        *(f'<BEPD only="BestInContext" id="bepd-{a}"><a value="{a}"/></BEPD>\n' for a in DISTANCES),
        "</metrics>\n",
    ]
)


def entries(inside: str) -> list[tuple[str, ...]]:
    source = Source.of_text(f"<metrics>\n{inside}\n</metrics>", "a.xml")
    return [metric.texts for metric in read_metrics(source)]


def test_the_printed_metrics_ask_for_what_the_preset_does() -> None:
    metrics = read_metrics(Source.of_text(PRINTED))
    assert [metric.name for metric in metrics] == [
        f"{name}-{a}" for name in ("eprum-bep", "bepd") for a in DISTANCES
    ]
    assert {metric.only for metric in metrics} == {("BestInContext",)}
    asked = {m.label for metric in metrics for text in metric.texts for m in parse_measures(text)}
    assert asked == {measure.label for measure in PRESETS["2006.BestInContext"].measures}


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("<EPRUM/>", "EPRUM"),
        ('<EPRUM><behaviour value="BEPDistance"/></EPRUM>', "EPRUM"),
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
        (
            (
                '<EPRUM><generator value="IdealTargetGenerator"/><binary value="true"/>'
                '<quantisation value="gen"/></EPRUM>'
            ),
            "EPRUM(targets=ideal,quant=gen)",
        ),
        ('<EPRUM><behaviour value="bepdistance"><a value="0.1"/></behaviour></EPRUM>', "(A=0.1)"),
    ],
)
def test_entries_become_parameters(inside: str, text: str) -> None:
    ((average, curve),) = entries(inside)
    assert text in average
    assert curve == f"{average}@curve"
    assert len(parse_measures(curve)) > 1


def test_bepd_takes_its_distance_in_either_case() -> None:
    assert entries('<BEPD/><BEPD><a value="10"/></BEPD><BEPD><A value=".1"/></BEPD>') == [
        ("BEPD",),
        ("BEPD(A=10)",),
        ("BEPD(A=.1)",),
    ]


@pytest.mark.parametrize(
    ("inside", "problem"),
    [
        ("", "1: <metrics> holds no entry; expected <EPRUM> or <BEPD>"),
        ("<PRUM/>", "2: unknown metric <PRUM>; expected <EPRUM> or <BEPD>; did you mean EPRUM?"),
        ("<eprum/>", "2: unknown metric <eprum>; expected <EPRUM> or <BEPD>; did you mean EPRUM?"),
        ('<BEPD name="x"/>', "2: unknown attribute 'name' of <BEPD>; expected id, only"),
        ('<BEPD onyl="x"/>', "2: unknown attribute 'onyl' of <BEPD>; expected id, only; did you"),
        ('<BEPD only=""/>', '2: only="" names no task'),
        ('<BEPD id="x"/>\n<BEPD id="x"/>', "3: id 'x' is already that of the entry on line 2"),
        ("<BEPD>\n<b/></BEPD>", "3: unknown element <b> in <BEPD>; expected <a>, <A>"),
        ("<BEPD><a/></BEPD>", '2: <a> without a value; expected <a value="...">'),
        ('<BEPD><a value="0"/></BEPD>', "2: a '0' is not possible; expected a number above 0"),
        ('<BEPD><a value="x"/></BEPD>', "2: a 'x' is not possible; expected a number above 0"),
        ('<BEPD><a value="inf"/></BEPD>', "2: a 'inf' is not possible"),
        ("<BEPD><a>10</a></BEPD>", "2: text '10' in <a>; expected attributes and elements only"),
        ("<BEPD>10</BEPD>", "2: text '10' in <BEPD>"),
        ('<BEPD><a value="1"/>\n<A value="2"/></BEPD>', "3: a second <A>; the first is on line 2"),
        ('<BEPD><a value="1"><b/></a></BEPD>', "2: unknown element <b> in <a>; expected nothing"),
        ('<BEPD><a value="1" x="2"/></BEPD>', "2: unknown attribute 'x' of <a>; expected value"),
        ('<EPRUM><binary value="no"/></EPRUM>', "2: binary 'no' is not known; expected true or fa"),
        ('<EPRUM><binary value="false"/></EPRUM>', "2: <binary> is false, but there is no <quanti"),
        (
            '<EPRUM><quantisation value="Ex"/></EPRUM>',
            "2: quantisation 'Ex' is not known; expected",
        ),
        ('<EPRUM><quantization value="Exh"/></EPRUM>', "2: unknown element <quantization> in <EPR"),
        (
            '<EPRUM><generator value="BEP"/></EPRUM>',
            "2: generator 'BEP' is not known; expected BEP",
        ),
        (
            '<EPRUM><behaviour value="Random"/></EPRUM>',
            "2: behaviour 'Random' is not known; expect",
        ),
        (
            '<EPRUM><behaviour value="Classic"><A value="1"/></behaviour></EPRUM>',
            "2: unknown element <A> in <behaviour>; expected nothing",
        ),
        (
            '<EPRUM><behaviour value="T2I"><A value="1"/></behaviour></EPRUM>',
            "2: unknown element <A> in <behaviour>; expected <T>, <t>",
        ),
    ],
)
def test_bad_metrics_are_refused_with_the_line(inside: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        entries(inside)
    assert str(error.value).startswith(f"a.xml:{problem}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<metric/>", "a.xml:1: root element <metric>; expected <metrics>"),
        ("<metrics x='1'><BEPD/></metrics>", "a.xml:1: unknown attribute 'x'"),
        ("<metrics><BEPD></metrics>", "a.xml:1: not valid XML, column 18"),
        ("<!DOCTYPE m SYSTEM 'x'><metrics>&y;</metrics>", "a.xml:1: not valid XML"),
    ],
)
def test_other_xml_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read_metrics(Source.of_text(text, "a.xml"))
    assert str(error.value).startswith(problem)


def test_all_bad_entries_are_named() -> None:
    with pytest.raises(InputError) as error:
        entries('<BEPD><a value="x"/></BEPD>\n<EPRUM/>\n<X/>')
    assert [problem.line for problem in error.value.problems] == [2, 4]


def test_entries_for_the_same_tasks_are_one_block(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(
        '<metrics><BEPD only="A"/><EPRUM/><BEPD only="A" id="b"/><BEPD only="A, B"/></metrics>'
    )
    blocks = read_configuration(path).blocks
    assert [(block.tasks, len(block.metrics)) for block in blocks] == [
        (("A",), 2),
        ((), 1),
        (("A", "B"), 1),
    ]


# -- files -------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_campaign(tmp_path)


def configuration(folder: Path, text: str, name: str = "a.prop") -> Configuration:
    (folder / name).write_text(text)
    return read_configuration(folder / name)


def planned(folder: Path, text: str, **options) -> tuple[Job, ...]:
    return plan(configuration(folder, text), **options)


def names(files: tuple[object, ...]) -> list[str]:
    return [Path(str(file)).stem for file in files]


PLACES = "ASSESSMENTS_DIR: official/\nSUBMISSIONRUNS_DIR: runs/\n"


def test_a_task_selects_the_runs_that_declare_it(folder: Path) -> None:
    text = SMALL.replace("CO.Thorough", "CO.Thorough, COS.Focused, SSCAS") + PLACES
    jobs = planned(folder, text)
    assert [names(job.runs) for job in jobs] == [["thorough"], ["structured"], ["strict"]]


def test_paths_are_relative_to_the_configuration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "settings").mkdir()
    text = SMALL + PLACES.replace("official", "../official/CO+S").replace("runs", "../runs")
    monkeypatch.chdir(folder / "runs")
    (job,) = plan(configuration(folder, text, "settings/a.prop"))
    assert names(job.judgements) == ["topic203", "topic202"]
    assert names(job.runs) == ["thorough"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("official/CO+S/*/", ["topic203", "topic202"]),
        ("offici*/CO+S/29?/", ["topic202"]),
        ("official/*/[23]*/topic*.xml", ["topic250", "topic203", "topic202"]),
        ("official/CAS, official/CO+S/297/", ["topic250", "topic202"]),
        ("official/**/topic203.xml", ["topic203"]),
        ("official/CAS/301/topic250.xml, official/CAS", ["topic250"]),
    ],
)
def test_patterns_fit_files_and_folders(folder: Path, pattern: str, found: list[str]) -> None:
    (job,) = planned(folder, SMALL + PLACES.replace("official/", pattern))
    assert names(job.judgements) == found


def test_hidden_files_are_left_alone(folder: Path) -> None:
    (folder / "runs" / ".note").write_text("no run")
    (job,) = planned(folder, SMALL + PLACES)
    assert names(job.runs) == ["thorough"]


@pytest.mark.parametrize("form", ["$here", "${here}"])
def test_names_are_filled_in(folder: Path, form: str) -> None:
    text = SMALL + PLACES.replace(": ", f": {form}/")
    (job,) = planned(folder, text, define={"here": str(folder)})
    assert names(job.runs) == ["thorough"]


def test_what_a_name_stands_for_is_relative_to_where_we_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    (folder / "settings").mkdir()
    text = f"{SMALL}{PLACES.replace(': ', ': $here/')}RESULTS_DIR: $here/new"
    config = configuration(folder, text, "settings/a.prop")
    (job,) = plan(config, define={"here": folder.name})
    assert names(job.runs) == ["thorough"]
    assert job.results == Path(folder.name) / "new"


@pytest.mark.parametrize(
    ("text", "define", "problem"),
    [
        (PLACES.replace("runs/", "$x/runs"), {}, "6: $x is not defined; give --define x=PATH"),
        (PLACES.replace("runs/", "runs/*.txt"), {}, "6: nothing fits 'runs/*.txt'"),
        (PLACES.replace("runs/", "missing"), {}, "6: nothing fits 'missing'"),
        (PLACES.replace("official/", "runs/*.xml/"), {}, "5: nothing fits 'runs/*.xml/'"),
        (PLACES.replace("official/", "empty/"), {}, "5: 'empty/' holds no file"),
        (PLACES.replace("official/", "official/,no/"), {}, "5: nothing fits 'no/'"),
        (PLACES.partition("\n")[2], {}, "1: no assessments are named, neither here nor by -j"),
        (PLACES.partition("\n")[0], {}, "1: no runs are named, neither here nor as RUN..."),
        (f"{PLACES}RESULTS_DIR: runs/strict.xml", {}, "7: 'runs/strict.xml' is a file, not a fold"),
    ],
)
def test_paths_that_lead_nowhere_are_refused(
    folder: Path, text: str, define: dict[str, str], problem: str
) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(InputError) as error:
        planned(folder, SMALL + text, define=define)
    assert str(error.value).startswith(f"{folder / 'a.prop'}:{problem}")


def test_a_definition_that_fills_nothing_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"has no path with \$aPth to fill in"):
        planned(folder, SMALL + PLACES, define={"aPth": "x"})


def test_the_command_line_stands_for_the_paths_of_the_file(folder: Path) -> None:
    text = SMALL + PLACES.replace(": ", ": $undefined/")
    given = str(folder / "runs" / "thorough.xml")
    (job,) = planned(folder, text, runs=[given], judgements=["elsewhere"])
    assert (job.runs, job.judgements) == ((given,), ("elsewhere",))


def test_a_task_that_no_run_declares_is_refused_with_those_that_are(folder: Path) -> None:
    with pytest.raises(InputError) as error:
        planned(folder, SMALL.replace("CO.Thorough", "CO.Thoroug") + PLACES)
    assert str(error.value) == (
        f"{folder / 'a.prop'}:1: no run declares the task CO.Thoroug; they declare "
        "CO.FetchBrowse, CO.Focussed, SSCAS, COS.Focussed, CO.Thorough; did you mean CO.Thorough?"
    )


def test_runs_without_a_task_are_left_out_and_counted(folder: Path) -> None:
    (folder / "runs" / "silent.xml").write_text(submission("s", None, {"202": ["A /article[1]"]}))
    (folder / "runs" / "plain.run").write_text("202 Q0 A 1 1 plain 0 10\n")
    (job,) = planned(folder, SMALL + PLACES)
    assert names(job.runs) == ["thorough"]
    (warning,) = job.warnings
    assert warning.startswith("runs that declare no task, left out: 2 (")
    for name in ("thorough", "focussed", "structured", "browsed", "strict"):
        (folder / "runs" / f"{name}.xml").unlink()
    with pytest.raises(InputError, match=r"no run declares the task CO\.Thorough; none does"):
        planned(folder, SMALL + PLACES)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lines.jsonl", '{"type":"header","task":"CO.Thorough"}\n{"topic":"202","doc":"A"}\n'),
        (
            "old.xml",
            "<?xml version='1.0'?>\n<!-- <inex-submission task='X'> -->\n"
            + submission("old", "CO.Thorough", {"202": ["A /article[1]"]}),
        ),
        (
            "year.xml",
            submission("year", "2005.CO.Thorough", {"202": ["A /article[1]"]}),
        ),
        (
            "entity.xml",
            "<!DOCTYPE inex-submission [<!ENTITY t 'CO.Thorough'>]>\n"
            + submission("entity", "&t;", {"202": ["A /article[1]"]}),
        ),
        (
            "wide.xml",
            submission("wide", "CO.Thorough", {"202": ["A /article[1]"]}).replace(
                "<inex-submission", '<?xml version="1.0" encoding="UTF-16"?>\n<inex-submission'
            ),
        ),
    ],
)
def test_the_declared_task_is_found_in_any_run(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(text, encoding="utf-16" if "UTF-16" in text else None)
    (job,) = planned(folder, SMALL, runs=[str(path)], judgements=["x"])
    assert job.runs == (str(path),)


def test_problems_of_all_blocks_are_named(folder: Path) -> None:
    wrong = SMALL.replace("CO.Thorough", "X") + PLACES
    with pytest.raises(InputError) as error:
        planned(folder, f"{wrong}{SMALL}{PLACES.replace('runs/', 'no/')}")
    assert [problem.line for problem in error.value.problems] == [1, 12]


# -- scores ------------------------------------------------------------------------------------


def scored(folder: Path, text: str, **options) -> list[foveal.Results]:
    return [outcome.results for outcome in score(planned(folder, text), **options)]


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
    ("text", "preset", "run"),
    [
        (FOCUSSED, "2005.CO.Focussed", "focussed"),
        (THOROUGH, "2005.CO.Thorough", "thorough"),
        (BROWSE + PLACES, "2005.CO.FetchBrowse", "browsed"),
    ],
)
def test_the_printed_files_give_the_numbers_of_the_presets(
    folder: Path, text: str, preset: str, run: str
) -> None:
    text = text.replace("../adhoc2005/official/CO+S*/", "official/CO+S/*/")
    text = text.replace("../inex2005_runs*/", "runs/").replace("official/\n", "official/CO+S\n")
    (found,) = scored(folder, text)
    same = foveal.evaluate(
        folder / "runs" / f"{run}.xml", str(folder / "official" / "CO+S"), task=preset
    )
    by_label = {labels((name,)).pop(): name for name in found.measures}
    assert set(by_label) == set(same.measures)
    for ours, theirs in by_label.items():
        assert found[run, theirs] == pytest.approx(same[run, ours], nan_ok=True), ours


@pytest.mark.parametrize(
    ("kind", "topics"),
    [("CO+S", ("202", "203")), ("COS", ("202", "203")), ("CAS", ("250",)), ("CO+S CAS", None)],
)
def test_a_query_type_selects_topics(folder: Path, kind: str, topics: tuple[str, ...]) -> None:
    text = SMALL.replace("CO.Thorough", "SSCAS" if kind == "CAS" else "CO.Thorough")
    (results,) = scored(folder, f"{text}QUERY_TYPE: {kind}\n{PLACES}")
    assert results.topics == (topics or ("202", "203", "250"))


def test_pools_select_assessments(folder: Path) -> None:
    (results,) = scored(folder, f"{SMALL}POOL: 301, 297\n{PLACES}")
    assert results.topics == ("202", "250")
    (results,) = scored(folder, f"{SMALL}POOL: 301, 297\nQUERY_TYPE: CO+S\n{PLACES}")
    assert results.topics == ("202",)
    assert not any("wanted" in warning for warning in results.meta["warnings"])


def test_options_of_the_command_line_have_the_last_word(folder: Path) -> None:
    text = f"{SMALL}POOL: 301\n{PLACES}"
    (results,) = scored(folder, text, pools=("297", "275"), only_topics=("202",))
    assert results.topics == ("202",)


def test_topics_of_a_type_may_be_restricted_further(folder: Path) -> None:
    text = f"{SMALL}QUERY_TYPE: CO+S\n{PLACES}"
    (results,) = scored(folder, text, only_topics=("202", "250"))
    assert results.topics == ("202",)
    with pytest.raises(UsageError, match="none of the wanted topics is of the wanted type"):
        scored(folder, text, only_topics=("250",))


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
        ("QUERY_TYPE: CO\n", "5: no topic is of type CO; they are CAS, CO+S"),
        ("POOLS: 297,\n 279, 1\n", "6: no assessments of pool '279'; did you mean 297?"),
    ],
)
def test_topics_and_pools_that_are_not_there_are_refused(
    folder: Path, text: str, problem: str
) -> None:
    with pytest.raises(InputError) as error:
        scored(folder, f"{SMALL}{text}{PLACES}")
    assert str(error.value).startswith(f"{folder / 'a.prop'}:{problem}")


def test_runs_are_cut_as_evalj_did_unless_told_otherwise(folder: Path) -> None:
    ranked = [f"X /article[1]/p[{i}]" for i in range(1, 1501)] + ["A /article[1]"]
    (folder / "runs" / "thorough.xml").write_text(submission("t", "CO.Thorough", {"202": ranked}))
    (results,) = scored(folder, SMALL + PLACES)
    assert "t: topics cut at 1500 results: 1" in results.meta["warnings"]
    assert results["t", "Q(quant=gen)", "202"] == 0
    (results,) = scored(folder, SMALL + PLACES, max_results=1501)
    assert results["t", "Q(quant=gen)", "202"] > 0


def test_overlap_in_a_focussed_run_is_said(folder: Path) -> None:
    ranked = {"202": ["A /article[1]", "A /article[1]/sec[1]"]}
    for name, task in (("focussed", "CO.Focussed"), ("thorough", "CO.Thorough")):
        (folder / "runs" / f"{name}.xml").write_text(submission(name, task, ranked))
    text = SMALL.replace("CO.Thorough", "CO.Focused, CO.Thorough")
    focused, thorough = scored(folder, text + PLACES)
    warning = "focussed: results that overlap an earlier one, which the task forbids: 1"
    assert warning in focused.meta["warnings"]
    assert not any("overlap" in warning for warning in thorough.meta["warnings"])


def test_the_configuration_is_among_the_inputs(folder: Path) -> None:
    (results,) = scored(folder, SMALL + PLACES)
    first = results.meta["inputs"][0]
    assert (first["kind"], first["path"]) == ("configuration", str(folder / "a.prop"))
    assert len(first["sha256"]) == 64


def test_a_function_of_another_scale_is_refused(folder: Path) -> None:
    with pytest.raises((InputError, UsageError), match="gen3"):
        scored(folder, SMALL.replace("gen", "gen3") + PLACES)


def test_one_run_and_metric_in_one_place_twice_is_refused(folder: Path) -> None:
    twice = f"{SMALL}POOLS: 297\n{PLACES}{SMALL}POOLS: 297, 301\n{PLACES}"
    with pytest.raises(InputError) as error:
        scored(folder, twice)
    assert str(error.value).startswith(
        f"{folder / 'a.prop'}:8: run 'thorough' has been scored by Q(quant=gen) in the block on "
        "line 1; "
    )
    with pytest.raises(InputError, match="scored by q in the block on line 1"):
        scored(folder, twice.replace("POOLS", "RESULTS_DIR: out\nPOOLS"))
    apart = twice.replace("POOLS: 297, 301", "RESULTS_DIR: out\nPOOLS: 297, 301")
    assert len(scored(folder, apart)) == 2


def test_results_are_a_file_for_each_run_and_metric(folder: Path) -> None:
    other = submission("other/run", "CO.Thorough", {"203": ["B /article[1]"]})
    (folder / "runs" / "other.xml").write_text(other)
    text = SMALL.replace("q", "ep/gr, q") + f"RESULTS_DIR: out\n{PLACES}"
    (outcome,) = score(planned(folder, text))
    files = result_files(outcome, per_topic=False)
    assert [path.name for path in files] == [
        *("other%2Frun.ep-gr.tsv", "other%2Frun.q.tsv", "thorough.ep-gr.tsv", "thorough.q.tsv")
    ]
    assert {path.parent for path in files} == {folder / "out"}
    content = files[folder / "out" / "other%2Frun.q.tsv"].splitlines()
    assert content[0] == "run\ttopic\tmeasure\tvalue"
    assert [line.split("\t")[:3] for line in content[1:]] == [
        ["other/run", "all", "Q(quant=gen)"],
        ["other/run", "all", "Rmeasure(quant=gen)"],
    ]
    curve = files[folder / "out" / "thorough.ep-gr.tsv"].splitlines()
    assert len(curve) == 1 + 2 + 100
    each = result_files(outcome, per_topic=True)[folder / "out" / "thorough.q.tsv"]
    assert [line.split("\t")[1] for line in each.splitlines()[1::2]] == ["202", "203", "250", "all"]


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
    (outcome,) = score(jobs)
    assert outcome.results.runs == ("best",)
    same = foveal.evaluate(runs[0], truth, task="2006.BestInContext")
    assert set(outcome.results.measures) == set(same.measures)
    for measure in same.measures:
        assert outcome.results["best", measure] == same["best", measure]
