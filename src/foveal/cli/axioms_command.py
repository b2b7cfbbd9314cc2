"""``foveal axioms``: put measures through soundness tests."""

from __future__ import annotations

import textwrap

import click

from foveal.cli.options import FORMATS, MEASURE, Command, format_option, output_option, seed_option
from foveal.cli.shared import emit_result
from foveal.errors import UsageError

_SHOWN = ("verdicts", "counterexamples", "axioms")
_WIDTH = 100


@click.command(
    "axioms",
    cls=Command,
    examples=(
        "foveal axioms -m AiP -m 'HiR(alpha=0)'",
        "foveal axioms -m all --show verdicts -f markdown",
        "foveal axioms -m charF --strict",
    ),
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    type=MEASURE,
    metavar="M",
    help="A measure, or all; repeatable. A cut-off that is needed and not given is 10 or 0.5.",
)
@click.option(
    "--campaigns",
    type=click.IntRange(min=1),
    default=400,
    show_default=True,
    metavar="N",
    help="Small campaigns that every axiom is tried on.",
)
@seed_option
@click.option("--strict", is_flag=True, help="Exit code 1 if a measure fails, but not by design.")
@click.option(
    "--show",
    multiple=True,
    type=click.Choice(_SHOWN),
    help="Which tables; repeatable [default: verdicts and counterexamples].",
)
@format_option(FORMATS, "; tsv and csv hold a row for each measure and axiom, json the words too")
@output_option
def command(
    measures: tuple[str, ...],
    campaigns: int,
    seed: int,
    show: tuple[str, ...],
    form: str | None,
    output: str | None,
    *,
    strict: bool,
) -> None:
    """Test whether measures are sound.

    Every measure scores some hundred small campaigns before and after a change whose effect is
    known: a result repeated, cut in two, moved to another document. Where the score does what it
    must not, the smallest campaign that shows it is printed. '--show axioms' gives the exact
    definitions. Measures say where they break an axiom by design.
    """
    from foveal.analysis.axioms import AXIOMS, axioms
    from foveal.model.tables import TABLE_FORMATS

    if not measures and set(show) != {"axioms"}:
        raise UsageError(
            "no measure given; name measures (--measure), or all of them (--measure all)"
        )
    if show and form is not None and form not in TABLE_FORMATS:
        raise UsageError(f"--show chooses tables, and {form} holds everything; leave it out")
    if not measures:
        for axiom in AXIOMS:
            click.echo(f"{axiom.name}: {axiom.title}")
            click.echo(textwrap.indent(textwrap.fill(axiom.words, _WIDTH - 4), "    "))
        return
    found = axioms(measures, campaigns=campaigns, seed=seed)
    emit_result(found, form or ("table" if show else None), output, show=show)
    if strict and found.failed:
        raise click.exceptions.Exit(1)
