"""``foveal axioms``: put measures through soundness tests."""

from __future__ import annotations

import textwrap

import click

from foveal.cli.options import (
    FORMATS,
    MEASURE,
    POSITIVE,
    Command,
    format_option,
    option,
    output_option,
    seed_option,
)
from foveal.cli.shared import emit_result


@click.command(
    "axioms",
    cls=Command,
    examples=(
        "foveal axioms -m AiP -m 'HiR(alpha=0)@10'",
        "foveal axioms -m all -f markdown",
        "foveal axioms -m charF --strict",
    ),
)
@option(
    "-m --measure=M measures",
    "A measure, or all; repeatable. Without any, print the axioms.",
    multiple=True,
    type=MEASURE,
)
@option("--campaigns", "Small campaigns that every axiom is tested on.", type=POSITIVE, default=400)
@seed_option
@option("--strict", "Exit code 1 if a measure fails, but not by design.")
@format_option(FORMATS, "; tsv and csv hold a row for each measure and axiom, json the words too")
@output_option
def command(
    measures: tuple[str, ...],
    campaigns: int,
    seed: int,
    form: str | None,
    output: str | None,
    *,
    strict: bool,
) -> None:
    """Test whether measures are sound.

    Every measure scores some hundred small campaigns before and after a change whose effect is
    known: a result repeated, cut in two, moved to another document. Where the score does what it
    must not, the smallest campaign that shows it is printed. Without -m the exact definitions of
    the axioms are printed. Measures say where they break an axiom by design.
    """
    from foveal.analysis.axioms import AXIOMS, axioms

    if not measures:
        for axiom in AXIOMS:
            click.echo(f"{axiom.name}\n{textwrap.indent(textwrap.fill(axiom.words, 96), '    ')}")
        return
    found = axioms(measures, campaigns=campaigns, seed=seed)
    emit_result(found, form, output)
    if strict and found.failed:
        raise click.exceptions.Exit(1)
