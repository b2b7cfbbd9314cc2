"""Properties of families of measures: ``foveal measures --properties``.

Pehcevski and Piwowarski compare the measures of XML retrieval in a table of properties ("Evaluation
Metrics", Encyclopedia of Database Systems, Table 2). Here are its rows for the measures as Foveal
computes them, and rows of later measures. Experiments on small runs show all cells except those
about the user model: the tests compute them, so that a wrong cell fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

PROPERTIES: Mapping[str, str] = {
    "recall": "going on to return something relevant and new raises the score",
    "precision": "useless results in front lower the score of a list that finds everything",
    "near": "near misses, elements around an ideal one, gain something, but less than it does; "
    "i: only because they count as relevant themselves, so that ideal ones alone are not all",
    "overlap": "returning relevant text again raises the score (+), lowers it more than a useless "
    "result of the same size would (-), or does neither (=)",
    "ideality": "exactly the ideal units make a full score, and whole documents do not",
    "graded": "of two ideal units one can be worth more than the other",
    "user": "there is an explicit model of how a reader behaves",
    "Thorough": "best is a list of all relevant elements, nested ones too",
    "Focused": "best is a list of the ideal elements, without overlap",
    "RiC": "best is a list of documents with the ideal elements of each, in any order",
    "BiC": "best is a list of documents with a best entry point for each, however long",
}
"""The columns, and the condition of a yes."""

TASKS = (
    "A task is supported if whatever is left out, added or exchanged lowers the score of its best "
    "list; indirectly, if nothing raises it, but mistakes go unnoticed or differences that mean "
    "nothing to the task do not."
)
"""The meaning of the last four columns."""

OPINION = "user"
"""The property that no experiment can show: an opinion of the paper, or ours."""

SIGNS: Mapping[str, str] = {
    "y": "yes",
    "n": "no",
    "i": "indirectly",
    "?": "unclear",
    "+": "overlap positive",
    "-": "overlap negative",
    "=": "overlap neutral",
    "n/a": "not applicable",
}


class Cell(NamedTuple):
    """The value of a property for a family of measures, one of `SIGNS`, and a reason or conditions.

    `paper` is the value in the encyclopedia's table; None if it has none.
    """

    value: str
    paper: str | None
    note: str

    @property
    def disputed(self) -> bool:
        """True if the experiment contradicts the paper."""
        return self.paper is not None and self.paper != self.value


class Family(NamedTuple):
    """A row of the table: measures with the settings of the row, the principal one first.

    `settings` holds the measure that shows a property if it is not the principal one.
    """

    name: str
    measures: tuple[str, ...]
    settings: Mapping[str, str] = {}
    cells: Mapping[str, Cell] = {}

    def find_measure(self, name: str) -> str:
        """Return the measure that shows a property."""
        return self.settings.get(name, self.measures[0])


# A cell is a value, the paper's value in parentheses where it differs, and the number of a note.
_CELLS = """
inex_eval        y     y        i     +       n     n/a   n  y        n(?):1   i        i
inex_eval_ng(o)  y     y        i     =(-):2  n     n/a   n  i(y):3   n(?):1   i        i
inex_eval_ng(s)  y     y        i     +(-):4  n     n/a   n  y        n(?):1   i        i
nxCG             y     n        y     =:5     y     y     n  y        y        i        i
MAnxCG           y     y:6      y     =:5     y     y     n  y        y        i        i
ep/gr            y     y        y     =:5     y     y     n  y        y        i        i
Q, R             y     y        y     =:5     y     y     n  y        y        i        i
Fetch & Browse   y     y        y     =:5     y     y     n  i:7      i:7      i        n:8
T2I              y     y        y:9   =       y     n     y  n(?):10  i(y):11  i        i
GR               y     n(y):12  y     =:13    y     y     y  n(y):14  y        i(y):15  y
PRUM             y:16  y        y     =:13    y     n     y  n(y):14  y        i(y):15  y
EPRUM            y     y        y     =:13    y     y     y  n(y):14  y        i(y):15  y
HiXEval          y     y        y     =:17    y:18  y:19  n  y        y        i        i
iP               y     y        y     =:20    y:18  y:19  n  i:20     y        i        i
AgP              y     y        y     =:20    y:18  n     n  n:21     n:21     y        i
AgPw             y     y        y     =:20    y:18  y:22  n  n:21     n:21     y        i
AgP(score=BEP)   y     y        y     n/a:23  y     n     n  n:23     n:23     n:23     y
BEPD             y     n        y     n/a:23  y     n     n  n:23     n:23     n:23     i:24
P, R, AP         y     y        n:25  =       n     n/a   n  i        i        i        i
nDCG             y     y        n:25  =       n     n/a   n  i        i        i        i
nDCG(passage)    y     y        n:38  =       y:18  n:39  n  n:34     i        i        i
evidence sets    y     y:26     n:27  =       n:28  n/a   n  n        i        i        n
slots            y     n        n:27  =       n:28  n/a   n  n        i        i        n
PASSAGE          y     y        y     +:29    y:18  n     n  n:30     i        i        i
PASSAGE2         y     y        y     =       y:18  y:19  n  i        i        i        i
ASPECT           y     y        n:31  =       y:18  n     n  i        i        i        i
BioASQ           y     y        y     -:32    y:18  y:19  n  n:33     i:33     y        i
chunking_eval    y     y        y     =       y:18  y:19  n  n:34     y        y        i
LegalBench-RAG   y     y        i:35  +:36    n     n/a   n  i        n:1      i        n:1
ERASER           y     y        n:37  =       y:18  n     n  n:34     i        y        i
SQuAD            y     y        y     =       y:18  y:19  n  n:33     i:33     y        i
"""

PAPER_COLUMNS = {
    **{name: name for name in ("inex_eval", "ep/gr", "T2I", "GR", "PRUM", "EPRUM", "HiXEval")},
    **dict.fromkeys(("inex_eval_ng(o)", "inex_eval_ng(s)"), "inex_eval_ng"),
    "nxCG": "nXCG",
}
"""Families in the encyclopedia's table, and their headings there."""

_NOTES = {
    1: "an element around one that was found raises the score",
    2: "text seen before counts neither for nor against",
    3: "leaving out what lies in other results goes unnoticed",
    4: "variant s counts all text again",
    5: "+ with overlap=off, as the Thorough task has it, and with alpha=0,norm=none",
    6: "a mean over ranks feels late finds, which nxCG at the last rank does not",
    7: "FBelement sees what is inside documents, FBarticle only which are returned",
    8: "the mean over fetched documents rises if one that is browsed badly is left out",
    9: "in T2IcharP; in T2I what begins within the tolerance before a passage counts in full",
    10: "results that lead to passages already found are useless",
    11: "within the tolerance it does not matter where a result begins",
    12: "GR is the recall of the user model; PRUM and EPRUM are its precision",
    13: "for ideal units; a near miss returned again gains again, as its target gets likelier",
    14: "targets do not overlap here, and nested results only delay them; the paper lets all "
    "relevant elements be targets",
    15: "a rank is a result here, so order within a document matters; the paper lets a rank be "
    "a document",
    16: "with unreached=zero; by default who never finds enough reads on",
    17: "+ with alpha=0",
    18: "the highlighted passages are the ideal units",
    19: "by the amount of relevant text only",
    20: "overlap is an error, this is with --overlap union",
    21: "results of a document must be adjacent; other lists are refused",
    22: "gRw tells documents apart by the amount of relevant text they hold",
    23: "a document has one result, a second one is an error",
    24: "the order of documents does not matter",
    25: "whatever is returned of a relevant document counts in full",
    26: "evRR depends on the text before the last span that was needed",
    27: "only what is covered counts, not how much is around it",
    28: "whole documents hold all of the evidence, too",
    29: "a passage is found again by every result that meets it",
    30: "a passage that was found before counts again, useful or not",
    31: "whatever meets a passage shows all of its aspects",
    32: "what overlaps is merged; useless text that touches a passage gains",
    33: "the order of results does not matter",
    34: "text that is returned again only makes the list longer",
    35: "what is around a passage finds it again",
    36: "relevant text counts every time it is returned, beyond 1",
    37: "a result matches a passage or it does not",
    38: "a result covers enough of a passage or it does not",
    39: "passages of the same grade are worth the same",
}

_MEASURES = {
    "inex_eval_ng(o)": "inex_eval_ng",
    "inex_eval_ng(s)": "inex_eval_ng(variant=s)",
    "nxCG": "nxCG(overlap=on) xCG(overlap=on)",
    "MAnxCG": "MAnxCG(overlap=on)",
    "ep/gr": "MAep(overlap=on) iMAep(overlap=on) ep(overlap=on) gr(overlap=on)",
    "Q, R": "Q(overlap=on) Rmeasure(overlap=on)",
    "Fetch & Browse": "FBelement(overlap=on) FBarticle",
    "T2I": " ".join(f"T2I{kind}(T=10,mode=read)" for kind in ("", "P", "R", "charP", "charR")),
    "GR": "GR(targets=ideal)",
    "PRUM": "PRUM(targets=ideal,unreached=zero) PRUM(targets=ideal)",
    "EPRUM": "EPRUM(targets=ideal) EPRUMk(targets=ideal)",
    "HiXEval": "HiF HiP HiR",
    "iP": "AiP iP charP charR charF",
    "AgP": "AgP gP gR igP",
    "AgPw": "AgPw gRw",
    "AgP(score=BEP)": "AgP(score=BEP,n=50) gP(score=BEP,n=50)",
    "P, R, AP": "AP P R",
    "nDCG": "nDCG RR Success Rprec RBP ERR Bpref infAP",
    "nDCG(passage)": "nDCG(unit=passage) RR(unit=passage) Rprec(unit=passage)",
    "evidence sets": "evR answered evRR",
    "slots": "slotR slotsAll",
    "PASSAGE": "gen_passage gen_document",
    "PASSAGE2": "gen_passage2",
    "ASPECT": "gen_aspect",
    "BioASQ": "bio_f1 bio_precision bio_recall bio_ap",
    "chunking_eval": "ce_iou ce_recall ce_precision ce_precision_omega",
    "LegalBench-RAG": "lbr_recall lbr_precision",
    "ERASER": "eraser_iou_f1 eraser_iou_p eraser_iou_r",
    "SQuAD": "squad_f1",
}

_SETTINGS: Mapping[str, Mapping[str, str]] = {
    **{
        family: {"Thorough": name, "graded": f"{name}(quant=gen5,overlap=on)"}
        for family in ("nxCG", "MAnxCG", "ep/gr", "Q, R", "Fetch & Browse")
        for name in [_MEASURES[family].partition("(")[0]]
    },
    "GR": {"graded": "GR(targets=ideal,weight=exh)", "BiC": "GR"},
    "PRUM": {"BiC": "PRUM(unreached=zero)"},
    "EPRUM": {"graded": "EPRUM(targets=ideal,weight=exh)", "BiC": "EPRUM"},
    "HiXEval": {"Thorough": "HiR(alpha=0,trel=elements)"},
    "AgPw": {"graded": "gRw"},
}


def _read_family(line: str) -> Family:
    """Return the family of a line of `_CELLS`."""
    name, *texts = re.split(" {2,}", line)
    cells = {}
    for column, text in zip(PROPERTIES, texts, strict=True):
        shown, _, note = text.partition(":")
        value, _, other = shown.rstrip(")").partition("(")
        paper = (other or value) if name in PAPER_COLUMNS else None
        cells[column] = Cell(value, paper, _NOTES[int(note)] if note else "")
    return Family(name, tuple(_MEASURES.get(name, name).split()), _SETTINGS.get(name, {}), cells)


FAMILIES = tuple(map(_read_family, _CELLS.strip().splitlines()))
"""The rows, oldest first."""
