"""The ground truth of other tools and campaigns, one module each, as judgements and topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from foveal.adapters.truths import (
    bioasq,
    chunking_evaluation,
    genomics,
    kilt,
    legalbench_rag,
    qasper,
    squad,
    web_annotation,
)
from foveal.adapters.truths.building import Gold, build
from foveal.adapters.truths.texts import read_texts
from foveal.errors import UsageError
from foveal.files.source import Source
from foveal.formats import trec_genomics
from foveal.model import Judgements, Run, Topics

__all__ = [
    "RUN_FORMS",
    "TRUTH_FORMS",
    "found_form",
    "read_foreign_run",
    "read_texts",
    "read_truth",
    "texts_of",
]

_Read = Callable[[Source, Mapping[str, str] | None], Gold]

TRUTH_FORMS: dict[str, tuple[_Read, Callable[[Source], bool]]] = {
    "chunking-evaluation": (chunking_evaluation.read, chunking_evaluation.looks_like),
    "legalbench-rag": (legalbench_rag.read, legalbench_rag.looks_like),
    "squad": (squad.read, squad.looks_like),
    "bioasq": (bioasq.read, bioasq.looks_like),
    "kilt": (kilt.read, kilt.looks_like),
    "qasper": (qasper.read, qasper.looks_like),
    "trec-genomics": (genomics.read, trec_genomics.is_gold),
    "web-annotation": (web_annotation.read, web_annotation.looks_like),
}
"""Name of a form, what reads it, and what recognises it."""

RUN_FORMS: dict[str, Callable[[Source], Run]] = {"trec-genomics-run": trec_genomics.read_run}
"""Name of a form of runs, and what reads it."""

_WITH_TEXTS = {"squad": squad.texts_of, "qasper": qasper.texts_of}


def found_form(source: Source) -> str | None:
    """The form that the content shows; None unless exactly one is recognised."""
    fitting = [name for name, (_, looks_like) in TRUTH_FORMS.items() if looks_like(source)]
    return fitting[0] if len(fitting) == 1 else None


def read_truth(
    path: str | Path | Source,
    form: str | None = None,
    *,
    texts: Mapping[str, str] | str | Path | None = None,
    repair: bool = False,
    drop_mismatches: bool = False,
) -> tuple[Judgements, Topics]:
    """Read the ground truth of another tool.

    Parameters
    ----------
    path : path or Source
    form : str, optional
        One of `TRUTH_FORMS`; told from the content if it is not given.
    texts : mapping of str to str, or path, optional
        The text of each document, or a folder or JSON Lines file of them. With it every quoted
        span is compared with the text; some forms cannot be placed without.
    repair : bool
        Move a quote that is not at its offset to the only place near it, within 100 characters.
    drop_mismatches : bool
        Leave out quotes that do not match the text. A question that loses all of them is left out,
        too. `Judgements.notes` counts what was moved and left out.

    Returns
    -------
    Judgements, Topics

    Examples
    --------
    >>> question = '{"query": "Who?", "snippets": [{"file_path": "a.txt", "span": [3, 9]}]}'
    >>> truth = Source.of_text('{ "tests": [' + question + "]}", "nda.json")
    >>> judgements, topics = read_truth(truth, "legalbench-rag")
    >>> judgements.passages(0), topics["nda-0000"].title
    ([(3, 9)], 'Who?')
    """
    source = path if isinstance(path, Source) else Source.open(path)
    name = form or found_form(source)
    if name is None:
        raise source.error(
            "unclassified",
            None,
            "the content does not tell what this is; name it, one of " + ", ".join(TRUTH_FORMS),
        )
    if name not in TRUTH_FORMS:
        raise UsageError(f"unknown form {name!r}; expected {' or '.join(TRUTH_FORMS)}")
    known = read_texts(texts) if isinstance(texts, (str, Path)) else texts
    gold = TRUTH_FORMS[name][0](source, known)
    return build(gold, source, repair=repair, drop_mismatches=drop_mismatches)


def read_foreign_run(path: str | Path | Source, form: str) -> Run:
    """Read a run in the form of another campaign, one of `RUN_FORMS`."""
    if form not in RUN_FORMS:
        raise UsageError(f"unknown form {form!r}; expected {' or '.join(RUN_FORMS)}")
    return RUN_FORMS[form](path if isinstance(path, Source) else Source.open(path))


def texts_of(path: str | Path | Source, form: str) -> dict[str, str]:
    """The documents that a file of ground truth brings along: name to text.

    Parameters
    ----------
    form : {"squad", "qasper"}
    """
    if form not in _WITH_TEXTS:
        known = " and ".join(_WITH_TEXTS)
        raise UsageError(f"files of the form {form!r} hold no documents; those of {known} do")
    return _WITH_TEXTS[form](path if isinstance(path, Source) else Source.open(path))
