"""Measurements as Markdown: the machine, a table of ratios, the aims."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from statistics import median

from benchmarks.campaign import Size
from benchmarks.frame import table
from benchmarks.processes import Measurement

__all__ = ["Figures", "markdown"]

PACKAGES = ("foveal", "numpy", "polars", "ir_measures", "pytrec_eval-terrier", "click")


@dataclass(frozen=True)
class Figures:
    """The medians of the repeats of each process."""

    of: Mapping[str, Sequence[Measurement]]

    def seconds(self, name: str, *, inside: bool = False) -> float:
        found = [m.inside if inside else m.seconds for m in self.of[name]]
        return median(value for value in found if value is not None)

    def cpu(self, name: str) -> float:
        return median(m.cpu for m in self.of[name])

    def megabytes(self, name: str) -> float:
        return median(m.megabytes for m in self.of[name])

    def ratio(self, name: str, reference: str, *, inside: bool = False) -> float:
        return self.seconds(name, inside=inside) / self.seconds(reference, inside=inside)


@dataclass(frozen=True)
class Row:
    """One line of the table: a process, or the task inside it, against its reference."""

    task: str
    name: str
    reference: str
    inside: bool = False

    def cells(self, figures: Figures) -> list[str]:
        itself = self.name == self.reference
        ratio = figures.ratio(self.name, self.reference, inside=self.inside)
        # Processor time and memory are known of whole processes only.
        whole = ("", "") if self.inside else (figures.cpu(self.name), figures.megabytes(self.name))
        return [
            self.task,
            f"{figures.seconds(self.name, inside=self.inside):.3f}",
            "reference" if itself else f"{ratio:.2f} x {self.reference}",
            *(f"{value:.2f}" if isinstance(value, float) else value for value in whole[:1]),
            *(f"{value:.0f}" if isinstance(value, float) else value for value in whole[1:]),
        ]


@dataclass(frozen=True)
class Aim:
    """A figure and the bound it has to stay under."""

    text: str
    value: float
    bound: float
    unit: str

    def cells(self) -> list[str]:
        met = "met" if self.value < self.bound else "not met"
        return [self.text, f"under {self.bound:g} {self.unit}", f"{self.value:.2f}", met]


def _rows(size: Size) -> list[Row]:
    return [
        Row("Polars reads runs and judgements, after imports", "polars", "polars", inside=True),
        Row("foveal.evaluate, after imports", "foveal", "polars", inside=True),
        Row("ir_measures on documents, after imports", "ir_measures", "polars", inside=True),
        Row("Polars reads, whole process", "polars", "polars"),
        Row("`foveal evaluate` from the shell", "shell", "polars"),
        Row("foveal.evaluate, whole process", "foveal", "polars"),
        Row("ir_measures on documents, whole process", "ir_measures", "polars"),
        Row("`python -c pass`", "floor", "floor"),
        Row("`foveal --version`", "version", "floor"),
        Row(f"`foveal evaluate`, one run of {size.short:,} lines", "short", "floor"),
    ]


def _aims(figures: Figures, size: Size) -> list[Aim]:
    after, whole = figures.ratio("foveal", "polars", inside=True), figures.ratio("shell", "polars")
    return [
        Aim("scored / read by Polars, both after imports", after, 3, "times"),
        Aim("scored / read by Polars, both whole processes", whole, 3, "times"),
        Aim("peak memory from the shell", figures.megabytes("shell"), 600, "MB"),
        Aim(f"one run of {size.short:,} lines from the shell", figures.seconds("short"), 0.5, "s"),
        Aim("`foveal --version`", figures.seconds("version"), 0.25, "s"),
    ]


def _machine(load: float) -> list[str]:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    system = f"{platform.system()} {platform.machine()}"
    return [
        f"- {system}, {os.cpu_count()} cores, load average {load:.1f} at the start",
        f"- {platform.python_implementation()} {platform.python_version()}: {packages}",
    ]


def markdown(
    figures: Figures, size: Size, *, repeats: int, load: float, megabytes: float, documents: int
) -> str:
    """The whole report; the passage runs have `megabytes`, the TREC runs `documents` lines."""
    rows = [row.cells(figures) for row in _rows(size)]
    head = ("task", "seconds", "ratio", "CPU seconds", "peak MB")
    aims = [aim.cells() for aim in _aims(figures, size)]
    note = [] if size.lines == Size().lines else ["", "The aims are set for the default size."]
    lines = [
        "# Benchmark",
        "",
        *_machine(load),
        f"- {size.topics} topics x {size.results} results x {size.runs} runs, seed {size.seed}",
        f"- {size.lines:,} passages ({megabytes:.0f} MB); TREC runs of {documents:,} documents",
        f"- median of {repeats}, tasks interleaved, each in a process of its own",
        "",
        *table(head, rows),
        "",
        *table(("aim", "bound", "measured", ""), aims),
        *note,
    ]
    return "\n".join(lines) + "\n"
