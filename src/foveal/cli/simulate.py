"""``foveal simulate``: write the runs of the S-R space."""

from __future__ import annotations

from typing import Any

import click

from foveal.analysis.fidelity import EMPTY
from foveal.cli import options as opt
from foveal.cli.shared import say, warn


@click.command(
    "simulate",
    cls=opt.Command,
    examples=("foveal simulate -j qrels.jsonl -C wiki.fvx -o simulated",),
)
@opt.judgements_option(required=True)
@opt.collection_option("for SL, SS and SST")
@opt.options(
    f"""
    -o --output=DIR  A new or empty folder for the runs, one file each. [required]
    --empty={"|".join(EMPTY)}  A document with nothing returned keeps its rank, or is left
        out.
    """,
    empty=EMPTY[0],
)
@opt.shared_options("only_topics")
@opt.assessors_option()
def command(judgements: tuple[str, ...], output: str, **options: Any) -> None:
    """Write runs of known quality, made from judgements.

    Of each relevant document a run returns the highlighted passages (S), the smallest elements
    around them (SL), the whole document (SLD), the largest elements inside them (SS) or the
    innermost elements (SST). Documents are ranked by decreasing highlighted text (R), with the
    first two swapped (RS), with a non-relevant one put first (RI), or both (RSI). 'foveal fidelity'
    tests whether measures order these runs as expected.
    """
    from foveal.analysis.fidelity import simulate
    from foveal.files.atomic import check_folder, write_folder
    from foveal.formats.jsonl import write_run

    check_folder(output)
    made = simulate(list(judgements), **options)
    write_folder(output, {f"{run.name}.jsonl": write_run(run) for run in made.runs})
    warn(made.notes)
    say(f"{len(made.runs)} runs of {len(made.topics)} topics written to {output}")
