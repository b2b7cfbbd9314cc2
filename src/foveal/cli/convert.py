"""``foveal convert``: between all run, judgement and topic formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.cli import options as opt
from foveal.cli.shared import TEXTS_USED, say, warn
from foveal.cli.texts import find_texts, locate_judgements, locate_results
from foveal.errors import UsageError, plural

if TYPE_CHECKING:
    from foveal.collection import Collection
    from foveal.files.source import Source
    from foveal.model import Judgements, Run, Topics

_FILTERS = ("cas", "topics_file", "support_judgements", "tag_classes", "exclude_tags")
_TEXTS = ("documents", "name_from")
_FOR_GOLD = ("repair", "drop_mismatches", "write_topics")


@click.command(
    "convert",
    cls=opt.Command,
    daily="form foreign collection texts focus snap repair drop_mismatches write_topics",
    examples=(
        "foveal convert my.xml my.run --to fol -C wiki.fvx",
        "foveal convert squad.json gold.jsonl --to jsonl --write-topics topics.jsonl",
    ),
)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@opt.option("--to=FORMAT form", "The format to write.", required=True)
@opt.option(
    "--focus",
    "Remove overlap from a run: keep the better ranked of two results that share text.",
)
@opt.options(
    """
    Data of other tools:
    --from=NAME foreign  Format of IN if another tool made it and its content does not show that:
        chunking-evaluation, legalbench-rag, squad, bioasq, kilt, qasper, trec-genomics,
        trec-genomics-run, web-annotation, beir, mtcb, label-studio, doccano, inception.
    --repair  Move a quote of gold data to the only place within 100 characters of its offset.
    --drop-mismatches  Leave out quotes of gold data that do not match the text.
    --write-topics=FILE  Write the questions of gold data, too, as JSON Lines.
    """
)
@opt.collection_option("to turn XPaths into offsets, or offsets into XPaths")
@opt.shared_options("texts documents name_from snap lenient recompute exclude_tags topics_file")
@opt.shared_options("cas support_judgements tag_classes")
@opt.input_options
def command(source: str, target: str, form: str, **options: Any) -> None:
    """Write a run, judgements or topics in another format.

    'foveal formats' lists the formats; that of IN is detected from the content. With a collection,
    XPaths become offsets and offsets XPaths, and highlighted text becomes assessments of elements.
    Content that the format cannot hold is an error or, if it can be left out, a warning. OUT may be
    - for standard output. Gold data of other tools (--from) becomes judgements.
    """
    from foveal.adapters import gold_formats as gold
    from foveal.collection import Collection
    from foveal.files.source import Source
    from foveal.formats import find_kind, read_topics

    # Standard input can be read only once; of a file the path says where its texts are.
    given = Source.open(source, thorough=True) if source == "-" else source
    foreign = options["foreign"]
    if foreign is None and (source == "-" or Path(source).is_file()):
        foreign = gold.detect_gold(given if isinstance(given, Source) else Source.open(given))
        options["foreign"] = foreign
    kind = "run" if foreign in gold.RUN_FORMATS else "judgements" if foreign else find_kind(given)
    is_gold = kind == "judgements" and foreign is not None
    located = kind != "topics" and foreign not in gold.RUN_FORMATS
    unused = {
        "runs": () if kind == "run" else ("focus", "snap", "lenient"),
        "judgements": () if kind == "judgements" else (*_FILTERS, "recompute"),
        "gold data of other tools": () if is_gold else _FOR_GOLD,
        "runs and judgements": () if located else ("texts", *_TEXTS),
    }
    for purpose, names in unused.items():
        for name in filter(options.get, names):
            spelled, held = name.replace("_", "-"), "a run" if kind == "run" else kind
            raise UsageError(f"--{spelled} is for {purpose}; {source} holds {held}")
    index = options["collection"] and Collection.open(options["collection"])
    for name in ("snap", "recompute", *(["documents"] if kind == "run" else [])):
        if options[name] and index is None:
            raise UsageError(f"--{name} takes a collection (--collection)")

    if kind == "run":
        _write(_read_run(given, form, index, options), target, form, kind)
    elif kind == "topics":
        _write(read_topics(given, thorough=True), target, form, kind)
    else:
        judgements, topics = _read_judgements(given, options)
        prepared = _prepare_judgements(judgements, form, index, options)
        # A length that only the index knows is not lost.
        _write(prepared, target, form, kind, prepared.with_columns(length=judgements.length))
        if topics is not None and options["write_topics"] is not None:
            _write(topics, options["write_topics"], "jsonl", "topics")


def _write(content: Any, target: str, form: str, kind: str, complete: Any = None) -> None:
    """Write a run, judgements or topics; warn about losses, of `complete` if that is given."""
    from foveal import formats

    write: Any = getattr(formats, f"write_{kind}")
    write(content, target, form)
    losses = formats.find_format(form, kind).list_losses(content if complete is None else complete)
    warn((*getattr(content, "notes", ()), *(f"not kept in {form}: {loss}" for loss in losses)))


def _read_run(
    given: str | Source, form: str, index: Collection | None, options: dict[str, Any]
) -> Run:
    """Return a run with the places that a format needs, and without overlap if asked."""
    from foveal.adapters.gold_formats import RUN_FORMATS
    from foveal.collection.placement import place_elements, place_run
    from foveal.evaluation import conversion
    from foveal.evaluation.rules import CONTRADICTION, align_alone
    from foveal.files.source import Source
    from foveal.formats import read_run

    snap, lenient = options["snap"], options["lenient"]
    if options["foreign"]:
        source = given if isinstance(given, Source) else Source.open(given)
        run = RUN_FORMATS[options["foreign"]](source)
    elif (texts := find_texts()) is not None:
        opened = given if isinstance(given, Source) else Source.open(given, thorough=True)
        (run,) = locate_results([opened], texts)
    else:
        run = read_run(given, thorough=True)
    if index is not None:
        if problems := CONTRADICTION.list_problems(align_alone(run), index):
            count = f"{len(problems)} (line {problems[0].line}: {problems[0].text})"
            note = f"results whose XPath and offsets contradict each other: {count}"
            run = replace(run, notes=(*run.notes, note))
        if snap or form in ("elements", "inex"):
            passages = form == "inex" and not snap
            run = place_elements(run, index, snap=snap, lenient=lenient, passages=passages)
        else:
            run = place_run(run, index, lenient=lenient)
    if snap and run.header is not None:
        # The submission's description of its results is not true any more.
        left = {name: said for name, said in run.header.items() if name != "result-type"}
        run = replace(run, header=left)
    if options["focus"]:
        before = len(run)
        run = conversion.focus(run)
        say(f"{plural(before - len(run), 'result')} removed because of overlap")
    return run


def _read_judgements(
    given: str | Source, options: dict[str, Any]
) -> tuple[Judgements, Topics | None]:
    """Return judgements as they are, and the questions of gold data."""
    from foveal.adapters.gold_formats import read_gold
    from foveal.formats import read_judgements

    if options["foreign"]:
        names = ("texts", "repair", "drop_mismatches")
        return read_gold(given, options["foreign"], **{name: options[name] for name in names})
    located = locate_judgements([given], thorough=True)
    return located or read_judgements(given, thorough=True), None


def _prepare_judgements(
    judgements: Judgements, form: str, index: Collection | None, options: dict[str, Any]
) -> Judgements:
    """Return judgements with the elements and passages that a format needs, filtered if asked."""
    from foveal.collection.placement import place_judgements
    from foveal.evaluation import Options
    from foveal.evaluation import conversion as to
    from foveal.evaluation.cas_filter import CasFilter

    excluded = options["exclude_tags"]
    texts_used = click.get_current_context().meta.get(TEXTS_USED) and not options["cas"]
    names = _FILTERS if texts_used else (*_FILTERS, *_TEXTS)
    # Options that are not given keep their defaults.
    cas = CasFilter.from_options(Options(**{n: options[n] for n in names if options[n]}))
    if index is not None:
        judgements = place_judgements(judgements, index)
        if options["recompute"]:
            judgements = to.recompute_sizes(judgements, index)
        elif judgements.elements is None and (cas or excluded or form.startswith("inex")):
            judgements = to.derive_elements(judgements, index)
        if form in ("inex2005", "inex2006"):
            judgements = to.name_passages(judgements, index)
    if excluded:
        elements = judgements.elements
        judgements = to.exclude_tags(judgements, excluded)
        assert elements is not None  # else there would be none to exclude
        unknown = to.describe_unknown_exclusions(excluded, elements["xpath"], index)
        judgements = replace(judgements, notes=(*judgements.notes, *unknown))
    return judgements if cas is None else to.filter_by_structure(judgements, cas)
