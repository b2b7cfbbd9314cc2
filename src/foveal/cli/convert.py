"""``foveal convert``: between all run, judgement and topic formats."""

from __future__ import annotations

import click

from foveal.campaign.conversion import FOCUS
from foveal.errors import UsageError

__all__ = ["command"]

_ELEMENT_RUNS = ("elements", "inex")
_OFFSET_RUNS = ("fol",)


@click.command("convert", epilog="Example: foveal convert my.xml my.run --to fol -C wiki.fvx")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--to", "form", required=True, metavar="FORMAT", help="The format to write.")
@click.option("-C", "--collection", metavar="INDEX", help="A collection index.")
@click.option(
    "--focus",
    "keep",
    type=click.Choice(FOCUS),
    help="Remove overlap from a run: keep the better ranked, the deeper or the higher result.",
)
@click.option("--snap", is_flag=True, help="Map results to the smallest element around them.")
@click.option("--lenient", is_flag=True, help="Keep results that the collection does not hold.")
@click.option(
    "--exclude-tags", metavar="LIST", help="Leave these elements out of derived assessments."
)
def command(
    source: str,
    target: str,
    form: str,
    collection: str | None,
    keep: str | None,
    exclude_tags: str | None,
    *,
    snap: bool,
    lenient: bool,
) -> None:
    """Write a run, judgements or topics in another format; what IN is is told from its content.

    Runs: fol, elements, trec, jsonl, parquet, inex. Judgements: fol, trec, jsonl, inex2003,
    inex2005, inex2006 (a directory). Topics: inex, jsonl, trec. With a collection, XPaths become
    offsets and offsets XPaths, and highlighted text becomes assessments of elements.
    """
    from foveal.formats import kind_of

    kind = kind_of(source)
    if kind != "run" and (keep or snap):
        raise UsageError(f"--focus and --snap are for runs; {source} holds {kind}")
    if kind == "run":
        _run(source, target, form, collection, keep, snap=snap, lenient=lenient)
    elif kind == "judgements":
        _judgements(source, target, form, collection, exclude_tags)
    else:
        from foveal.formats import read_topics, write_topics

        write_topics(read_topics(source), target, form)


def _run(
    source: str,
    target: str,
    form: str,
    collection: str | None,
    keep: str | None,
    *,
    snap: bool,
    lenient: bool,
) -> None:
    from foveal.campaign.conversion import focus, name_elements
    from foveal.campaign.placing import place_run
    from foveal.cli.output import warn
    from foveal.collection import Collection
    from foveal.formats import read_run, write_run

    run = read_run(source)
    if collection is not None:
        index = Collection.open(collection)
        run = place_run(run, index, lenient=lenient)
        if form in _ELEMENT_RUNS or snap:
            run = name_elements(run, index, snap=snap)
    if keep is not None:
        before = len(run)
        run = focus(run, keep)
        click.echo(f"results removed because they overlap: {before - len(run)}", err=True)
    warn(run.notes)
    write_run(run, target, form)


def _judgements(
    source: str, target: str, form: str, collection: str | None, exclude: str | None
) -> None:
    from foveal.campaign.conversion import derive_elements, exclude_tags
    from foveal.campaign.placing import place_judgements
    from foveal.cli.output import warn
    from foveal.collection import Collection
    from foveal.formats import read_judgements, write_judgements

    judgements = read_judgements(source)
    if collection is not None:
        index = Collection.open(collection)
        judgements = place_judgements(judgements, index)
        if judgements.elements is None and form.startswith("inex"):
            judgements = derive_elements(judgements, index)
    if exclude:
        judgements = exclude_tags(judgements, exclude.replace(",", " ").split())
    warn(judgements.notes)
    write_judgements(judgements, target, form)
