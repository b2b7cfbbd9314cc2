"""``foveal axioms``: put measures through soundness tests."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli.shared import emit_result


@click.command(
    "axioms",
    cls=opt.Command,
    examples=(
        "foveal axioms -m AiP -m 'HiR(alpha=0)@10'",
        "foveal axioms -m all -f markdown",
        "foveal axioms -m charF --strict",
    ),
)
@opt.options(
    """
    -m --measure=M... measures  A measure, or all; repeatable. Without any, print the axioms.
    --campaigns=N  Number of small campaigns to test each axiom on.
    --seed=COUNT  Seed of the random numbers.
    --strict  Exit with code 1 if a measure fails, except by design.
    """,
    campaigns=400,
    seed=0,
)
@opt.format_option(more="; tsv and csv hold a row for each measure and axiom, json the words too")
@opt.shared_options("output")
def command(
    measures: tuple[str, ...], form: str | None, output: str | None, **options: Any
) -> None:
    """Test whether measures are sound.

    Every measure scores several hundred small campaigns before and after a change whose effect is
    known: a result repeated, cut in two, moved to another document. If a score breaks an axiom,
    Foveal prints the smallest campaign that shows it. Without -m Foveal prints the exact
    definitions of the axioms. Some measures break an axiom by design, and say so.
    """
    from foveal.analysis.axioms import AXIOMS, axioms

    if not measures:
        for axiom in AXIOMS:
            click.echo(f"{axiom.name}\n{textwrap.indent(textwrap.fill(axiom.words, 96), '    ')}")
        return
    strict = options.pop("strict")
    found = axioms(measures, **options)
    emit_result(found, form, output)
    if strict and found.failed:
        raise click.exceptions.Exit(1)
