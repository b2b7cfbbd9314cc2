"""``foveal convert``: between all run, judgement and topic formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.cli.options import cas_options, max_bytes_option, parse_comma_list
from foveal.cli.shared import TEXTS_USED, say, warn
from foveal.cli.texts import find_texts, locate_judgements, locate_results
from foveal.errors import Problem, UsageError
from foveal.evaluation.conversion import FOCUS
from foveal.evaluation.preparation import Options

if TYPE_CHECKING:
    from foveal.files.source import Source
    from foveal.model import Judgements, Run, Topics

__all__ = ["command"]

_ELEMENT_RUNS = ("elements", "inex")
_WITH_PASSAGES = ("inex2005", "inex2006")
_WRITTEN = {
    **dict.fromkeys(_ELEMENT_RUNS, "the XPath is"),
    "fol": "the offsets are",
    **dict.fromkeys(("jsonl", "parquet"), "both are"),
}
_OF_TEXTS = ("documents", "name_from")
"""Options that runs take, too, where their results are given by text or in other units."""
_SHOWN = 3
_PLURAL = {"run": "runs", "judgements": "judgements"}
_SINGULAR = {"run": "a run", "judgements": "judgements", "topics": "topics"}


@click.command("convert", epilog="Example: foveal convert my.xml my.run --to fol -C wiki.fvx")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--to", "form", required=True, metavar="FORMAT", help="The format to write.")
@click.option(
    "--from",
    "foreign",
    metavar="NAME",
    help="What IN is, if another tool made it and its content does not tell: chunking-evaluation, "
    "legalbench-rag, squad, bioasq, kilt, qasper, trec-genomics, trec-genomics-run, "
    "web-annotation, beir, mtcb, label-studio, doccano, inception.",
)
@click.option(
    "--texts",
    metavar="PATH",
    help="The documents' texts, for results and judgements given by text or in other units, and to "
    "check the quotes of another tool (--from): a directory, JSON Lines of doc and text, or "
    "(without --from) an archive.",
)
@click.option(
    "--repair",
    is_flag=True,
    help="Move a quote of another tool's ground truth to the only place within 100 characters of "
    "its offset.",
)
@click.option(
    "--drop-mismatches",
    is_flag=True,
    help="Leave out quotes of another tool's ground truth that do not match the text.",
)
@click.option(
    "--write-topics",
    metavar="FILE",
    help="Write the questions of another tool's ground truth, too, as JSON Lines.",
)
@click.option("-C", "--collection", metavar="INDEX", help="A collection index.")
@click.option(
    "--focus",
    "keep",
    type=click.Choice(FOCUS),
    is_flag=False,
    flag_value=FOCUS[0],
    help="Remove overlap from a run: keep the better ranked (if no word follows), the deeper or "
    "the higher result.",
)
@click.option("--snap", is_flag=True, help="Map results to the smallest element around them.")
@click.option("--lenient", is_flag=True, help="Keep results that the collection does not hold.")
@click.option("--recompute", is_flag=True, help="Take the sizes of elements from the collection.")
@click.option(
    "--exclude-tags",
    type=parse_comma_list,
    metavar="LIST",
    help="Leave these elements out of the assessments.",
)
@max_bytes_option
@cas_options("--cas")
def command(
    source: str,
    target: str,
    form: str,
    foreign: str | None,
    texts: str | None,
    write_topics: str | None,
    collection: str | None,
    keep: str | None,
    *,
    snap: bool,
    lenient: bool,
    recompute: bool,
    repair: bool,
    drop_mismatches: bool,
    **filters: Any,
) -> None:
    """Write a run, judgements or topics in another format, detected from the content of IN.

    Runs: fol, elements, trec, jsonl, parquet, inex. Judgements: fol, trec, jsonl, and as a folder
    inex2002, inex2003, inex2005, inex2006. Topics: inex, jsonl, trec. With a collection, XPaths
    become offsets and offsets XPaths, and highlighted text becomes assessments of elements. What
    the format cannot hold is an error, what it leaves behind a warning. OUT may be - for standard
    output. The ground truth of other tools (--from) becomes judgements.
    """
    from foveal.adapters.gold_formats import read_gold
    from foveal.files.source import Source
    from foveal.formats import kind_of, read_judgements

    # Standard input can be read only once.
    given = Source.open(source, thorough=True) if source == "-" else source
    foreign = foreign or _foreign(given)
    for_gold = {
        "--repair": repair,
        "--drop-mismatches": drop_mismatches,
        "--write-topics": write_topics,
    }
    _check_foreign(source, foreign, for_gold)
    kind = _kind_of_foreign(foreign) if foreign else kind_of(given)
    _check_options(
        source,
        kind,
        {
            "run": {"--focus": keep, "--snap": snap, "--lenient": lenient},
            "judgements": {
                **{
                    f"--{name.replace('_', '-')}": value
                    for name, value in filters.items()
                    if kind != "run" or name not in _OF_TEXTS
                },
                "--recompute": recompute,
            },
        },
    )
    if snap and collection is None:
        raise UsageError("--snap takes a collection (--collection)")
    if texts is not None and (kind == "topics" or (foreign and kind == "run")):
        raise UsageError(f"--texts has no use here; {source} holds {foreign or kind}")
    if kind == "run" and filters["documents"] is not None and collection is None:
        raise UsageError(
            "--documents takes a collection (--collection); without an index give --texts"
        )
    if kind == "run":
        run = _foreign_run(given, foreign) if foreign else _read_run(given)
        _run(run, target, form, collection, keep, snap=snap, lenient=lenient)
    elif kind == "judgements":
        topics = None
        if foreign:
            judgements, topics = read_gold(
                given, foreign, texts=texts, repair=repair, drop_mismatches=drop_mismatches
            )
        else:
            located = locate_judgements([given], thorough=True)
            judgements = located or read_judgements(given, thorough=True)
        if click.get_current_context().meta.get(TEXTS_USED) and not filters["cas"]:
            filters |= {"documents": None, "name_from": None}
        # What is not given keeps its default.
        options = Options(**{name: value for name, value in filters.items() if value})
        _judgements(judgements, target, form, collection, options, recompute=recompute)
        if topics is not None and write_topics is not None:
            _write_topics(topics, write_topics, "jsonl")
    else:
        _topics(given, target, form)


def _foreign(source: str | Source) -> str | None:
    """The form of another tool that the content of a file shows, if there is one."""
    from foveal.adapters.gold_formats import detect_gold
    from foveal.files.source import Source

    if isinstance(source, str):
        if not Path(source).is_file():
            return None
        source = Source.open(source)
    return detect_gold(source)


def _check_foreign(source: str, foreign: str | None, options: dict[str, str | bool | None]) -> None:
    """Refuse a form that is not known, and options for ground truth where there is none."""
    from foveal.adapters.gold_formats import GOLD_FORMATS, RUN_FORMATS

    known = (*GOLD_FORMATS, *RUN_FORMATS)
    if foreign is not None and foreign not in known:
        raise UsageError(f"unknown form {foreign!r} (--from); expected {' or '.join(known)}")
    used = [name for name, value in options.items() if value not in (None, False)]
    if used and foreign not in GOLD_FORMATS:
        raise UsageError(
            f"{used[0]} is for the ground truth of other tools; {source} is none (--from says what "
            "it is)"
        )


def _read_run(source: str | Source) -> Run:
    """Read a run, with the texts of its documents if the options name them."""
    from foveal.files.source import Source
    from foveal.formats import read_run

    texts = find_texts()
    if texts is None:
        return read_run(source, thorough=True)
    opened = Source.open(source, thorough=True) if isinstance(source, str) else source
    (run,) = locate_results([opened], texts)
    return run


def _kind_of_foreign(form: str) -> str:
    from foveal.adapters.gold_formats import RUN_FORMATS

    return "run" if form in RUN_FORMATS else "judgements"


def _foreign_run(source: str | Source, form: str) -> Run:
    from foveal.adapters.gold_formats import read_foreign_run

    return read_foreign_run(source, form)


def _check_options(source: str, kind: str, options: dict[str, dict[str, object]]) -> None:
    """Refuse options that are for something else than the source is."""
    for wanted, own in options.items():
        used = [name for name, value in own.items() if value]
        if used and kind != wanted:
            raise UsageError(
                f"{used[0]} is for {_PLURAL[wanted]}; {source} holds {_SINGULAR[kind]}"
            )


def _run(
    run: Run,
    target: str,
    form: str,
    collection: str | None,
    keep: str | None,
    *,
    snap: bool,
    lenient: bool,
) -> None:
    from foveal.collection import Collection
    from foveal.collection.placement import place_elements, place_run
    from foveal.evaluation.conversion import focus
    from foveal.evaluation.rules import CONTRADICTION, align_alone
    from foveal.formats import find_format, write_run

    if collection is not None:
        index = Collection.open(collection)
        apart = CONTRADICTION.list_problems(align_alone(run), index)
        run = replace(run, notes=(*run.notes, *_apart(apart, form)))
        if form in _ELEMENT_RUNS or snap:
            passages = form == "inex" and not snap
            run = place_elements(run, index, snap=snap, lenient=lenient, passages=passages)
        else:
            run = place_run(run, index, lenient=lenient)
    if snap and run.header is not None:
        # What the submission said of its results is not true any more.
        left = {name: said for name, said in run.header.items() if name != "result-type"}
        run = replace(run, header=left)
    if keep is not None:
        before = len(run)
        run = focus(run, keep)
        say(f"results removed because they overlap: {before - len(run)}")
    write_run(run, target, form)
    warn(
        (
            *run.notes,
            *(f"not kept in {form}: {loss}" for loss in find_format(form, "run").list_losses(run)),
        )
    )


def _apart(said: Sequence[Problem], form: str) -> Iterator[str]:
    """Warn that paths and offsets contradict each other, and which of them the format keeps."""
    if said:
        written = _WRITTEN.get(form, "neither is")
        shown = "; ".join(f"line {problem.line}: {problem.text}" for problem in said[:_SHOWN])
        more = "; ..." if len(said) > _SHOWN else ""
        yield (
            "results whose XPath and offsets contradict each other, of which "
            f"{written} written: {len(said)} ({shown}{more})"
        )


def _judgements(
    judgements: Judgements,
    target: str,
    form: str,
    collection: str | None,
    options: Options,
    *,
    recompute: bool,
) -> None:
    from foveal.collection import Collection
    from foveal.collection.placement import place_judgements
    from foveal.evaluation.cas_filter import CasFilter
    from foveal.evaluation.conversion import (
        derive_elements,
        describe_unknown_exclusions,
        exclude_tags,
        filter_by_structure,
        name_passages,
        recompute_sizes,
    )
    from foveal.formats import find_format, write_judgements

    if recompute and collection is None:
        raise UsageError("--recompute takes a collection (--collection)")
    cas = CasFilter.from_options(options)
    filtered = cas is not None or bool(options.exclude_tags)
    given = judgements.length
    index = None if collection is None else Collection.open(collection)
    if index is not None:
        judgements = place_judgements(judgements, index)
        if recompute:
            judgements = recompute_sizes(judgements, index)
        elif judgements.elements is None and (filtered or form.startswith("inex")):
            judgements = derive_elements(judgements, index)
        if form in _WITH_PASSAGES:
            judgements = name_passages(judgements, index)
    if options.exclude_tags:
        elements = judgements.elements
        judgements = exclude_tags(judgements, options.exclude_tags)
        assert elements is not None  # else there would be none to exclude
        said = describe_unknown_exclusions(options.exclude_tags, elements["xpath"], index)
        judgements = replace(judgements, notes=(*judgements.notes, *said))
    if cas is not None:
        judgements = filter_by_structure(judgements, cas)
    write_judgements(judgements, target, form)
    losses = find_format(form, "judgements").list_losses(replace(judgements, length=given))
    warn((*judgements.notes, *(f"not kept in {form}: {loss}" for loss in losses)))


def _topics(source: str | Source, target: str, form: str) -> None:
    from foveal.formats import read_topics

    _write_topics(read_topics(source, thorough=True), target, form)


def _write_topics(topics: Topics, target: str, form: str) -> None:
    from foveal.formats import find_format, write_topics

    write_topics(topics, target, form)
    warn(f"not kept in {form}: {loss}" for loss in find_format(form, "topics").list_losses(topics))
