"""Properties of families of measures: ``foveal measures --properties``.

Pehcevski and Piwowarski compare the measures of XML retrieval in a table of properties ("Evaluation
Metrics", Encyclopedia of Database Systems, Table 2). Here are its rows for the measures as Foveal
computes them, and rows of later measures. Experiments on small runs show all cells except those
about the user model: the tests compute them, so that a wrong cell fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["FAMILIES", "PROPERTIES", "SIGNS", "TASKS", "Cell", "Family"]

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

OPINIONS = frozenset(["user"])
"""Properties that no experiment can show."""

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


@dataclass(frozen=True)
class Cell:
    """The value of a property for a family of measures.

    Parameters
    ----------
    value : str
        One of `SIGNS`.
    paper : str, optional
        The value in the encyclopedia's table; None if it has none.
    note : str
        Reason or conditions.
    opinion : bool
        An opinion, not shown by experiment: of the paper, or ours if `paper` is None.
    """

    value: str
    paper: str | None = None
    note: str = ""
    opinion: bool = False

    @property
    def disputed(self) -> bool:
        """True if the experiment contradicts the paper."""
        return self.paper is not None and self.paper != self.value


@dataclass(frozen=True)
class Family:
    """A row of the table.

    Parameters
    ----------
    name : str
    measures : tuple of str
        Its measures with the settings of the row, the principal one first.
    values : str
        The cells in the order of `PROPERTIES`.
    paper : str
        The cells of the encyclopedia's table; empty if the family is not in it.
    column : str
        The heading of the family in that table.
    notes : mapping of property to str
    settings : mapping of property to str
        The measure that shows a property, if it needs other settings than the principal one.
    """

    name: str
    measures: tuple[str, ...]
    values: str
    paper: str = ""
    column: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def cell(self, name: str) -> Cell:
        """Return the cell of a property.

        >>> FAMILIES[0].cell("overlap").value
        '+'
        """
        at = list(PROPERTIES).index(name)
        paper = self.paper.split()[at] if self.paper else None
        return Cell(self.values.split()[at], paper, self.notes.get(name, ""), name in OPINIONS)

    def shown_by(self, name: str) -> str:
        """Return the measure that shows a property."""
        return self.settings.get(name, self.measures[0])


_NESTED_GAIN = "an element around one that was found raises the score"
_ONE_EACH = "a document has one result, a second one is an error"
_TOGETHER = "results of a document must stand together, other lists are refused"
_REFUSED = "overlap is an error, this is with --overlap union"
_AGAIN = "for ideal units; a near miss returned again gains again, as its target gets likelier"
_NO_NESTED_TARGETS = (
    "targets do not overlap here, and nested results only delay them; the paper lets all relevant "
    "elements be targets"
)
_RANK_IS_RESULT = (
    "a rank is a result here, so order within a document matters; the paper lets a rank be a "
    "document"
)
_OFF = "+ with overlap=off, as the Thorough task has it, and with alpha=0,norm=none"
_INSIDE = "FBelement sees what is inside documents, FBarticle only which are returned"
_BY_SIZE = "by the amount of relevant text only"
_PASSAGES = "the highlighted passages are the ideal units"
_LONGER = "text that is returned again only makes the list longer"
_SET = "the order of results does not matter"


def _thorough(name: str) -> Mapping[str, str]:
    """Return an XCG measure with the settings of the Thorough task, and for graded judgements."""
    return {"Thorough": name, "graded": f"{name}(quant=gen5,overlap=on)"}


FAMILIES = (
    Family(
        "inex_eval",
        ("inex_eval",),
        "y y i + n n/a n y n i i",
        "y y i + n n/a n y ? i i",
        "inex_eval",
        {"Focused": _NESTED_GAIN},
    ),
    Family(
        "inex_eval_ng(o)",
        ("inex_eval_ng",),
        "y y i = n n/a n i n i i",
        "y y i - n n/a n y ? i i",
        "inex_eval_ng",
        {
            "overlap": "text seen before counts neither for nor against",
            "Thorough": "leaving out what lies in other results goes unnoticed",
            "Focused": _NESTED_GAIN,
        },
    ),
    Family(
        "inex_eval_ng(s)",
        ("inex_eval_ng(variant=s)",),
        "y y i + n n/a n y n i i",
        "y y i - n n/a n y ? i i",
        "inex_eval_ng",
        {"overlap": "variant s counts all text again", "Focused": _NESTED_GAIN},
    ),
    Family(
        "nxCG",
        ("nxCG(overlap=on)", "xCG(overlap=on)"),
        "y n y = y y n y y i i",
        "y n y = y y n y y i i",
        "nXCG",
        {"overlap": _OFF},
        _thorough("nxCG"),
    ),
    Family(
        "MAnxCG",
        ("MAnxCG(overlap=on)",),
        "y y y = y y n y y i i",
        notes={
            "precision": "a mean over ranks feels late finds, which nxCG at the last rank does not",
            "overlap": _OFF,
        },
        settings=_thorough("MAnxCG"),
    ),
    Family(
        "ep/gr",
        ("MAep(overlap=on)", "iMAep(overlap=on)", "ep(overlap=on)", "gr(overlap=on)"),
        "y y y = y y n y y i i",
        "y y y = y y n y y i i",
        "ep/gr",
        {"overlap": _OFF},
        _thorough("MAep"),
    ),
    Family(
        "Q, R",
        ("Q(overlap=on)", "Rmeasure(overlap=on)"),
        "y y y = y y n y y i i",
        notes={"overlap": _OFF},
        settings=_thorough("Q"),
    ),
    Family(
        "Fetch & Browse",
        ("FBelement(overlap=on)", "FBarticle"),
        "y y y = y y n i i i n",
        notes={
            "overlap": _OFF,
            "Thorough": _INSIDE,
            "Focused": _INSIDE,
            "BiC": "the mean over fetched documents rises if one that is browsed badly is left out",
        },
        settings=_thorough("FBelement"),
    ),
    Family(
        "T2I",
        tuple(
            f"{name}(T=10,mode=read)" for name in ("T2I", "T2IP", "T2IR", "T2IcharP", "T2IcharR")
        ),
        "y y y = y n y n i i i",
        "y y y = y n y ? y i i",
        "T2I",
        {
            "near": "in T2IcharP; in T2I what begins within the tolerance before a passage counts "
            "in full",
            "Thorough": "results that lead to passages already found are useless",
            "Focused": "within the tolerance it does not matter where a result begins",
        },
    ),
    Family(
        "GR",
        ("GR(targets=ideal)",),
        "y n y = y y y n y i y",
        "y y y = y y y y y y y",
        "GR",
        {
            "precision": "GR is the recall of the user model; PRUM and EPRUM are its precision",
            "overlap": _AGAIN,
            "Thorough": _NO_NESTED_TARGETS,
            "RiC": _RANK_IS_RESULT,
        },
        {"graded": "GR(targets=ideal,weight=exh)", "BiC": "GR"},
    ),
    Family(
        "PRUM",
        ("PRUM(targets=ideal,unreached=zero)", "PRUM(targets=ideal)"),
        "y y y = y n y n y i y",
        "y y y = y n y y y y y",
        "PRUM",
        {
            "recall": "with unreached=zero; by default who never finds enough reads on",
            "overlap": _AGAIN,
            "Thorough": _NO_NESTED_TARGETS,
            "RiC": _RANK_IS_RESULT,
        },
        {"BiC": "PRUM(unreached=zero)"},
    ),
    Family(
        "EPRUM",
        ("EPRUM(targets=ideal)", "EPRUMk(targets=ideal)"),
        "y y y = y y y n y i y",
        "y y y = y y y y y y y",
        "EPRUM",
        {"overlap": _AGAIN, "Thorough": _NO_NESTED_TARGETS, "RiC": _RANK_IS_RESULT},
        {"graded": "EPRUM(targets=ideal,weight=exh)", "BiC": "EPRUM"},
    ),
    Family(
        "HiXEval",
        ("HiF", "HiP", "HiR"),
        "y y y = y y n y y i i",
        "y y y = y y n y y i i",
        "HiXEval",
        {"overlap": "+ with alpha=0", "ideality": _PASSAGES, "graded": _BY_SIZE},
        {"Thorough": "HiR(alpha=0,trel=elements)"},
    ),
    Family(
        "iP",
        ("AiP", "iP", "charP", "charR", "charF"),
        "y y y = y y n i y i i",
        notes={
            "overlap": _REFUSED,
            "ideality": _PASSAGES,
            "graded": _BY_SIZE,
            "Thorough": _REFUSED,
        },
    ),
    Family(
        "AgP",
        ("AgP", "gP", "gR", "igP"),
        "y y y = y n n n n y i",
        notes={
            "overlap": _REFUSED,
            "ideality": _PASSAGES,
            "Thorough": _TOGETHER,
            "Focused": _TOGETHER,
        },
    ),
    Family(
        "AgPw",
        ("AgPw", "gRw"),
        "y y y = y y n n n y i",
        notes={
            "overlap": _REFUSED,
            "ideality": _PASSAGES,
            "graded": "gRw tells documents apart by the amount of relevant text they hold",
            "Thorough": _TOGETHER,
            "Focused": _TOGETHER,
        },
        settings={"graded": "gRw"},
    ),
    Family(
        "AgP(score=BEP)",
        ("AgP(score=BEP,n=50)", "gP(score=BEP,n=50)"),
        "y y y n/a y n n n n n y",
        notes=dict.fromkeys(("overlap", "Thorough", "Focused", "RiC"), _ONE_EACH),
    ),
    Family(
        "BEPD",
        ("BEPD",),
        "y n y n/a y n n n n n i",
        notes={
            **dict.fromkeys(("overlap", "Thorough", "Focused", "RiC"), _ONE_EACH),
            "BiC": "the order of documents does not matter",
        },
    ),
    Family(
        "P, R, AP",
        ("AP", "P", "R"),
        "y y n = n n/a n i i i i",
        notes={"near": "whatever is returned of a relevant document counts in full"},
    ),
    Family(
        "evidence sets",
        ("evR", "answered", "evRR"),
        "y y n = n n/a n n i i n",
        notes={
            "precision": "evRR feels what stands in front of the last span that was needed",
            "near": "only what is covered counts, not how much is around it",
            "ideality": "whole documents hold all of the evidence, too",
        },
    ),
    Family(
        "PASSAGE",
        ("gen_passage", "gen_document"),
        "y y y + y n n n i i i",
        notes={
            "overlap": "a passage is found again by every result that meets it",
            "ideality": _PASSAGES,
            "Thorough": "a passage that was found before counts again, useful or not",
        },
    ),
    Family(
        "PASSAGE2",
        ("gen_passage2",),
        "y y y = y y n i i i i",
        notes={"ideality": _PASSAGES, "graded": _BY_SIZE},
    ),
    Family(
        "ASPECT",
        ("gen_aspect",),
        "y y n = y n n i i i i",
        notes={
            "near": "whatever meets a passage shows all of its aspects",
            "ideality": _PASSAGES,
        },
    ),
    Family(
        "BioASQ",
        ("bio_f1", "bio_precision", "bio_recall", "bio_ap"),
        "y y y - y y n n i y i",
        notes={
            "overlap": "what overlaps is merged; useless text that touches a passage gains",
            "ideality": _PASSAGES,
            "graded": _BY_SIZE,
            "Thorough": _SET,
            "Focused": _SET,
        },
    ),
    Family(
        "chunking_eval",
        ("ce_iou", "ce_recall", "ce_precision", "ce_precision_omega"),
        "y y y = y y n n y y i",
        notes={"ideality": _PASSAGES, "graded": _BY_SIZE, "Thorough": _LONGER},
    ),
    Family(
        "LegalBench-RAG",
        ("lbr_recall", "lbr_precision"),
        "y y i + n n/a n i n i n",
        notes={
            "near": "what is around a passage finds it again",
            "overlap": "relevant text counts every time it is returned, beyond 1",
            "Focused": _NESTED_GAIN,
            "BiC": _NESTED_GAIN,
        },
    ),
    Family(
        "ERASER",
        ("eraser_iou_f1", "eraser_iou_p", "eraser_iou_r"),
        "y y n = y n n n i y i",
        notes={
            "near": "a result matches a passage or it does not",
            "ideality": _PASSAGES,
            "Thorough": _LONGER,
        },
    ),
    Family(
        "SQuAD",
        ("squad_f1",),
        "y y y = y y n n i y i",
        notes={"ideality": _PASSAGES, "graded": _BY_SIZE, "Thorough": _SET, "Focused": _SET},
    ),
)
"""The rows, oldest first."""
