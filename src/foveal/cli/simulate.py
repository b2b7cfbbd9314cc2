"""``foveal simulate``: write the runs of the S-R space."""

from __future__ import annotations

from typing import Any

import click

from foveal.analysis.simulation import EMPTY, PARTS, RANKINGS
from foveal.cli.options import (
    Command,
    collection_option,
    judgements_option,
    parse_comma_list,
    parse_topics,
)
from foveal.cli.shared import given_options, progress_bar, say, warn


@click.command(
    "simulate",
    cls=Command,
    examples=("foveal simulate -j qrels.jsonl -C wiki.fvx -o simulated",),
)
@judgements_option(required=True)
@collection_option("for SL, SS and SST")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR",
    help="A new or empty folder for the runs, one file each, as in SLDRSI.jsonl.",
)
@click.option(
    "--force", is_flag=True, help="Write into a folder that holds files; those named alike go."
)
@click.option(
    "--parts",
    type=parse_comma_list,
    metavar="LIST",
    help=f"Only these part sets: {', '.join(PARTS)}.",
)
@click.option(
    "--rankings",
    type=parse_comma_list,
    metavar="LIST",
    help=f"Only these rankings: {', '.join(RANKINGS)}.",
)
@click.option(
    "--empty",
    type=click.Choice(EMPTY),
    default=EMPTY[0],
    show_default=True,
    help="A document of which nothing is returned keeps its rank, or is left out.",
)
@click.option(
    "--only-topics", type=parse_topics, metavar="LIST|@FILE", help="Simulate only these topics."
)
@click.option(
    "--assessors",
    default="union",
    show_default=True,
    metavar="union|majority|intersection|NAME",
    help="Text that counts where several assessors judged a document.",
)
def command(
    judgements: tuple[str, ...],
    collection: str | None,
    output: str,
    *,
    force: bool,
    **options: Any,
) -> None:
    """Write runs of known quality, made from judgements.

    Of each relevant document a run returns the highlighted passages (S), the smallest elements
    around them (SL), the whole document (SLD), the largest elements inside them (SS) or the
    innermost of those (SST). Documents are ranked by decreasing highlighted text (R), with the
    first two swapped (RS), with a non-relevant one put first (RI), or both (RSI). 'foveal fidelity'
    tells which must score better.
    """
    from foveal.analysis.simulation import simulate
    from foveal.files.atomic import check_folder, write_folder
    from foveal.formats.jsonl import write_run

    beside = None if force else ()
    check_folder(output, beside=beside)
    chosen = given_options(options)
    length = len(chosen.get("parts", PARTS)) * len(chosen.get("rankings", RANKINGS))
    with progress_bar(length, "simulating") as advance:
        made = simulate(list(judgements), collection, progress=advance, **chosen)
    files = {f"{run.name}.jsonl": write_run(run) for run in made.runs}
    write_folder(output, files, beside=beside)
    warn(made.notes)
    say(f"{len(files)} runs of {len(made.topics)} topics written to {output}")
