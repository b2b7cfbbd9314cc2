"""``foveal convert``: between all run, judgement and topic formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.cli.options import (
    FORMAT,
    Command,
    cas_options,
    collection_option,
    documents_option,
    exclude_tags_option,
    input_options,
    lenient_option,
    name_from_option,
    option,
    recompute_option,
    snap_option,
    texts_option,
    topics_file_option,
)
from foveal.cli.shared import TEXTS_USED, say, warn
from foveal.cli.texts import find_texts, locate_judgements, locate_results
from foveal.errors import Problem, UsageError

if TYPE_CHECKING:
    from foveal.collection import Collection
    from foveal.model import Judgements, Run

_ELEMENT_RUNS = ("elements", "inex")
_WITH_PASSAGES = ("inex2005", "inex2006")
_WRITTEN = {
    **dict.fromkeys(_ELEMENT_RUNS, "the XPath is"),
    "fol": "the offsets are",
    **dict.fromkeys(("jsonl", "parquet"), "both are"),
}
_FILTERS = ("cas", "topics_file", "support_judgements", "tag_classes", "exclude_tags")
_TEXTS = ("documents", "name_from")
_USED_BY = {
    "run": ("focus", "snap", "lenient", *_TEXTS),
    "judgements": (*_FILTERS, *_TEXTS, "recompute"),
    "topics": (),
}
"""Options that are for one kind of input."""
_FOR_GOLD = ("repair", "drop_mismatches", "write_topics")
_SHOWN = 3
_GOLD = "Data of other tools"


@click.command(
    "convert",
    cls=Command,
    daily="form foreign collection texts focus snap repair drop_mismatches write_topics",
    examples=(
        "foveal convert my.xml my.run --to fol -C wiki.fvx",
        "foveal convert squad.json gold.jsonl --to jsonl --write-topics topics.jsonl",
    ),
)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@option("--to=FORMAT form", "The format to write.", required=True, type=FORMAT)
@option(
    "--from=NAME foreign",
    "Format of IN if another tool made it and its content does not show that: "
    "chunking-evaluation, legalbench-rag, squad, bioasq, kilt, qasper, trec-genomics, "
    "trec-genomics-run, web-annotation, beir, mtcb, label-studio, doccano, inception.",
    _GOLD,
)
@option(
    "--repair",
    "Move a quote of gold data to the only place within 100 characters of its offset.",
    _GOLD,
)
@option("--drop-mismatches", "Leave out quotes of gold data that do not match the text.", _GOLD)
@option("--write-topics=FILE", "Write the questions of gold data, too, as JSON Lines.", _GOLD)
@option(
    "--focus",
    "Remove overlap from a run: keep the better ranked of two results that share text.",
)
@collection_option("to turn XPaths into offsets, or offsets into XPaths")
@texts_option
@documents_option
@name_from_option
@snap_option
@lenient_option
@recompute_option
@exclude_tags_option
@topics_file_option
@cas_options
@input_options
@click.pass_context
def command(
    context: click.Context,
    /,
    source: str,
    target: str,
    form: str,
    foreign: str | None,
    texts: str | None,
    write_topics: str | None,
    collection: str | None,
    *,
    repair: bool,
    drop_mismatches: bool,
    **options: Any,
) -> None:
    """Write a run, judgements or topics in another format.

    'foveal formats' lists the formats; that of IN is detected from the content. With a collection,
    XPaths become offsets and offsets XPaths, and highlighted text becomes assessments of elements.
    Content that the format cannot hold is an error or, if it can be left out, a warning. OUT may be
    - for standard output. Gold data of other tools (--from) becomes judgements.
    """
    from foveal.adapters.gold_formats import GOLD_FORMATS, RUN_FORMATS, detect_gold, read_gold
    from foveal.collection import Collection
    from foveal.files.source import Source
    from foveal.formats import kind_of, read_judgements, read_run, read_topics

    # Standard input can be read only once.
    given = Source.open(source, thorough=True) if source == "-" else source
    if foreign is None and (source == "-" or Path(source).is_file()):
        foreign = detect_gold(Source.open(given) if isinstance(given, str) else given)
    known = (*GOLD_FORMATS, *RUN_FORMATS)
    if foreign is not None and foreign not in known:
        raise UsageError(f"unknown form {foreign!r} (--from); expected {' or '.join(known)}")
    if foreign is not None:
        kind = "run" if foreign in RUN_FORMATS else "judgements"
    else:
        kind = kind_of(given)
    _check_options(context, source, kind, is_gold=foreign in GOLD_FORMATS)
    if options["snap"] and collection is None:
        raise UsageError("--snap takes a collection (--collection)")
    if texts is not None and (kind == "topics" or (foreign and kind == "run")):
        raise UsageError(f"--texts has no use here; {source} holds {foreign or kind}")
    if kind == "run" and options["documents"] is not None and collection is None:
        raise UsageError(
            "--documents takes a collection (--collection); without an index give --texts"
        )
    if kind == "run":
        if foreign:
            run = RUN_FORMATS[foreign](Source.open(given) if isinstance(given, str) else given)
        elif (places := find_texts()) is not None:
            opened = Source.open(given, thorough=True) if isinstance(given, str) else given
            (run,) = locate_results([opened], places)
        else:
            run = read_run(given, thorough=True)
        _write(_prepare_run(run, form, collection, **options), target, form, kind)
    elif kind == "topics":
        _write(read_topics(given, thorough=True), target, form, kind)
    else:
        topics = None
        if foreign:
            judgements, topics = read_gold(
                given, foreign, texts=texts, repair=repair, drop_mismatches=drop_mismatches
            )
        else:
            located = locate_judgements([given], thorough=True)
            judgements = located or read_judgements(given, thorough=True)
        length = judgements.length
        index = None if collection is None else Collection.open(collection)
        prepared = _prepare_judgements(judgements, form, index, options)
        # A length that only the index knows is not lost.
        _write(prepared, target, form, kind, prepared.with_columns(length=length))
        if topics is not None and write_topics is not None:
            _write(topics, write_topics, "jsonl", "topics")


def _check_options(context: click.Context, source: str, kind: str, *, is_gold: bool) -> None:
    """Refuse options that are for another kind of input."""
    spelled = {
        str(param.name): param.opts[0]
        for param in context.command.params
        if context.params.get(str(param.name)) not in (None, False, ())
    }
    for name in _FOR_GOLD:
        if name in spelled and not is_gold:
            raise UsageError(
                f"{spelled[name]} is for the ground truth of other tools; {source} is none (--from "
                "says what it is)"
            )
    held = "a run" if kind == "run" else kind
    for wanted, names in _USED_BY.items():
        for name in names:
            if name in spelled and name not in _USED_BY[kind]:
                plural = "runs" if wanted == "run" and name not in _TEXTS else "judgements"
                raise UsageError(f"{spelled[name]} is for {plural}; {source} holds {held}")


def _write(content: Any, target: str, form: str, kind: str, complete: Any = None) -> None:
    """Write a run, judgements or topics; warn about losses, of `complete` if that is given."""
    from foveal.formats import find_format, write_judgements, write_run, write_topics

    writers: dict[str, Callable[[Any, str, str], None]] = {
        "run": write_run,
        "judgements": write_judgements,
        "topics": write_topics,
    }
    writers[kind](content, target, form)
    losses = find_format(form, kind).list_losses(content if complete is None else complete)
    warn((*getattr(content, "notes", ()), *(f"not kept in {form}: {loss}" for loss in losses)))


def _prepare_run(
    run: Run,
    form: str,
    collection: str | None,
    *,
    focus: bool,
    snap: bool,
    lenient: bool,
    **_: Any,
) -> Run:
    """Return a run with the places that a format needs, and without overlap if asked."""
    from foveal.collection import Collection
    from foveal.collection.placement import place_elements, place_run
    from foveal.evaluation import conversion
    from foveal.evaluation.rules import CONTRADICTION, align_alone

    if collection is not None:
        index = Collection.open(collection)
        contradictions = CONTRADICTION.list_problems(align_alone(run), index)
        run = replace(run, notes=(*run.notes, *_describe_contradictions(contradictions, form)))
        if form in _ELEMENT_RUNS or snap:
            passages = form == "inex" and not snap
            run = place_elements(run, index, snap=snap, lenient=lenient, passages=passages)
        else:
            run = place_run(run, index, lenient=lenient)
    if snap and run.header is not None:
        # The submission's description of its results is not true any more.
        left = {name: said for name, said in run.header.items() if name != "result-type"}
        run = replace(run, header=left)
    if focus:
        before = len(run)
        run = conversion.focus(run)
        say(f"results removed because they overlap: {before - len(run)}")
    return run


def _describe_contradictions(problems: Sequence[Problem], form: str) -> Iterable[str]:
    """Yield a warning that paths and offsets differ, and which of them the format keeps."""
    if problems:
        shown = "; ".join(f"line {problem.line}: {problem.text}" for problem in problems[:_SHOWN])
        yield (
            "results whose XPath and offsets contradict each other, of which "
            f"{_WRITTEN.get(form, 'neither is')} written: {len(problems)} "
            f"({shown}{'; ...' if len(problems) > _SHOWN else ''})"
        )


def _prepare_judgements(
    judgements: Judgements, form: str, index: Collection | None, options: dict[str, Any]
) -> Judgements:
    """Return judgements with the elements and passages that a format needs, filtered if asked."""
    from foveal.collection.placement import place_judgements
    from foveal.evaluation import Options
    from foveal.evaluation import conversion as to
    from foveal.evaluation.cas_filter import CasFilter

    recompute, excluded = options["recompute"], options["exclude_tags"]
    if recompute and index is None:
        raise UsageError("--recompute takes a collection (--collection)")
    names: tuple[str, ...] = (*_FILTERS, *_TEXTS)
    if click.get_current_context().meta.get(TEXTS_USED) and not options["cas"]:
        names = _FILTERS
    # Options that are not given keep their defaults.
    cas = CasFilter.from_options(Options(**{n: options[n] for n in names if options[n]}))
    if index is not None:
        judgements = place_judgements(judgements, index)
        if recompute:
            judgements = to.recompute_sizes(judgements, index)
        elif judgements.elements is None and (cas or excluded or form.startswith("inex")):
            judgements = to.derive_elements(judgements, index)
        if form in _WITH_PASSAGES:
            judgements = to.name_passages(judgements, index)
    if excluded:
        elements = judgements.elements
        judgements = to.exclude_tags(judgements, excluded)
        assert elements is not None  # else there would be none to exclude
        unknown = to.describe_unknown_exclusions(excluded, elements["xpath"], index)
        judgements = replace(judgements, notes=(*judgements.notes, *unknown))
    return judgements if cas is None else to.filter_by_structure(judgements, cas)
