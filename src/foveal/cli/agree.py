"""``foveal agree``: how far assessors agree."""

from __future__ import annotations

from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli.shared import emit_result, warn


@click.command(
    "agree",
    cls=opt.Command,
    examples=("foveal agree -j ann.qrels -j bob.qrels", "foveal agree -j pools/ -C wiki.fvx"),
)
@opt.judgements_option(required=True)
@opt.collection_option("where judgements are XPaths or lack the lengths of documents")
@opt.shared_options("only_topics per_topic output")
@opt.format_option(more="; json holds everything")
def command(judgements: Any, collection: str | None, only_topics: Any, **shown: Any) -> None:
    """Measure the agreement of assessors.

    Judgements of two or more assessors are compared on the documents that both of a pair judged:
    kappa, F1 and Jaccard of the highlighted characters, Krippendorff's unitised alpha, distances
    of best entry points, kappa of relevant documents, and weighted kappa of elements' grades.
    Rows are pooled over topics and the mean of topics, of each pair and of all assessors.

    Assessors are those named in the judgements, or the pools of INEX XML; a file or directory
    that names none is one assessor.
    """
    from foveal.analysis.agreement import agreement

    found = agreement(list(judgements), collection=collection, topics=only_topics)
    warn(found.notes)
    emit_result(found, **shown)
