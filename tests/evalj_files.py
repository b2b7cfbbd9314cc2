"""EvalJ's configurations as they were printed, and what the tests of them share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foveal.evaluation.evalj import Job, TaskBlock, plan, read_configuration
from foveal.measures import parse_measures

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
PLACES = "ASSESSMENTS_DIR: official/\nSUBMISSIONRUNS_DIR: runs/\n"
"""Where the campaign of `inex2005` has its files."""

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


def labels(texts: tuple[str, ...]) -> set[str]:
    """The measures of these texts; gen and strict under their names of 2005."""
    named = [t.replace("quant=gen,", "quant=gen5,").replace("=strict,", "=strict5,") for t in texts]
    named = [t.replace("quant=gen)", "quant=gen5)").replace("=strict)", "=strict5)") for t in named]
    return {measure.label for text in named for measure in parse_measures(text)}


def configuration(folder: Path, text: str, name: str = "a.prop") -> tuple[TaskBlock, ...]:
    (folder / name).write_text(text)
    return read_configuration(folder / name)


def planned(folder: Path, text: str, **options: Any) -> tuple[Job, ...]:
    return plan(configuration(folder, text), **options)


def names(files: tuple[object, ...]) -> list[str]:
    return [Path(str(file)).stem for file in files]
