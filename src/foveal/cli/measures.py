"""``foveal measures``: list the measures and presets, or explain one measure."""

from __future__ import annotations

import inspect

import click

__all__ = ["command"]


@click.command("measures", epilog="Example: foveal measures iP")
@click.argument("name", required=False)
@click.option("--presets", is_flag=True, help="List the official settings instead.")
def command(name: str | None, *, presets: bool) -> None:
    """List the measures, or explain one: formula, parameters, source, example."""
    if presets:
        _list_presets()
    elif name is None:
        _list_measures()
    else:
        click.echo(_explained(name), nl=False)


def _list_measures() -> None:
    from foveal.measures import all_measures

    rows = [(m.spelling, inspect.cleandoc(m.__doc__ or "").split("\n")[0]) for m in all_measures()]
    width = max(len(spelling) for spelling, _ in rows)
    for spelling, text in rows:
        click.echo(f"{spelling:{width}}  {text}")


def _list_presets() -> None:
    from foveal.campaign import PRESETS

    width = max(map(len, PRESETS))
    for preset in PRESETS.values():
        notes = []
        if preset.overlap:
            notes.append(f"--overlap {preset.overlap}")
        if preset.topic_limit:
            notes.append(f"at most {preset.topic_limit} characters per topic")
        if preset.document_limit:
            notes.append(f"at most {preset.document_limit} characters per document")
        note = f"  [{'; '.join(notes)}]" if notes else ""
        labels = " ".join(measure.label for measure in preset.measures)
        click.echo(f"{preset.name:{width}}  {labels}{note}")


def _explained(name: str) -> str:
    """Everything there is to say of one measure."""
    from foveal.measures import find_measure, parse_measure
    from foveal.measures.toy import JUDGEMENTS, run_example

    measure = find_measure(name.partition("@")[0].partition("(")[0])
    lines = [measure.spelling, "=" * len(measure.spelling), ""]
    lines += [*inspect.cleandoc(measure.__doc__ or "").split("\n"), ""]
    lines.append(f"formula     {measure.formula}")
    lines.append(f"source      {measure.source}")
    lines.append(f"cut-off     {measure.cutoff.value}")
    if measure.curve:
        first, last = measure.curve[0], measure.curve[-1]
        lines.append(f"curve       {measure.name}@curve: {first} ... {last}")
    if measure.aliases:
        lines.append(f"aliases     {', '.join(measure.aliases)}")
    low, high = measure.range
    lines.append(f"range       {low:g} to {'any' if high is None else f'{high:g}'}")
    lines.append(f"over topics {'sum' if measure.summed else 'mean'}")
    lines.append(f"overlap     {measure.overlap.value}")
    if measure.needs:
        lines.append(f"needs       {'; '.join(need.what for need in measure.needs)}")
    if measure.parameters:
        lines += ["", "parameters"]
        for parameter in measure.parameters:
            lines.append(f"  {parameter.name}={parameter.allowed}")
            lines.append(f"      {parameter.description}")
    example = measure.example
    shown = parse_measure(example.measure or measure.name)
    lines += ["", "example"]
    for doc, entry in JUDGEMENTS["toy"].items():
        spans = ", ".join(f"[{s},{e})" for s, e in entry["spans"]) or "nothing"
        bep = f", best entry point {entry['bep']}" if "bep" in entry else ""
        lines.append(f"  {doc}: {entry['length']} characters, relevant {spans}{bep}")
    lines.append(f"  run: {example.run}")
    lines.append(f"  {shown} = {run_example(shown, example):.4f}")
    return "".join(f"{line}\n" for line in lines)
