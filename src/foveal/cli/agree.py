"""``foveal agree``: how far assessors agree."""

from __future__ import annotations

import click

from foveal.cli.options import (
    FORMATS,
    Command,
    collection_option,
    format_option,
    judgements_option,
    output_option,
    parse_comma_list,
    parse_topics,
)
from foveal.cli.shared import emit_result, warn


@click.command(
    "agree",
    cls=Command,
    examples=(
        "foveal agree -j ann.qrels -j bob.qrels",
        "foveal agree -j both.jsonl -q -f html -o agreement.html",
        "foveal agree -j pools/ -C wiki.fvx",
    ),
)
@judgements_option(required=True)
@collection_option("where judgements are XPaths or lack the lengths of documents")
@click.option(
    "--only-topics", type=parse_topics, metavar="LIST|@FILE", help="Compare only these topics."
)
@click.option(
    "--only-assessors",
    type=parse_comma_list,
    metavar="LIST",
    help="Compare only these assessors or pools, as in ann,bob.",
)
@click.option("-q", "--per-topic", is_flag=True, help="A row per topic before those over topics.")
@format_option(FORMATS, "; json holds everything")
@output_option
def command(
    judgements: tuple[str, ...],
    collection: str | None,
    only_topics: tuple[str, ...] | None,
    only_assessors: tuple[str, ...] | None,
    *,
    per_topic: bool,
    form: str | None,
    output: str | None,
) -> None:
    """Measure the agreement of assessors.

    Judgements of two or more assessors are compared on the documents that both of a pair judged:
    kappa, F1 and Jaccard of the highlighted characters, Krippendorff's unitised alpha, distances
    of best entry points, kappa of relevant documents, and weighted kappa of elements' grades.
    Rows are pooled over topics and the mean of topics, of each pair and of all assessors.

    Assessors are those named in the judgements, or the pools of INEX XML; a file or directory
    that names none is one assessor.
    """
    from foveal.analysis.agreement import agreement

    found = agreement(
        list(judgements), collection=collection, topics=only_topics, assessors=only_assessors
    )
    warn(found.notes)
    emit_result(found, form, output, per_topic=per_topic)
