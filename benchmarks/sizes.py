"""What generated campaigns have in common: a size that options give, and a folder that knows it.

Nothing here imports NumPy or Polars: on Linux a child process begins with the peak memory of its
parent, so the process that measures the others has to stay small.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

__all__ = ["CampaignFiles", "CampaignSize", "add_size_options", "generate_from_shell", "number"]


def number(default: int, text: str) -> Any:
    """A field of a size, with what its option says of it."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class CampaignSize:
    """What a campaign is generated from; the same size gives the same bytes."""

    topics: int = number(114, "number of topics")
    results: int = number(1500, "results per topic and run")
    runs: int = number(20, "number of runs")
    documents: int = number(200_000, "documents in the collection")
    judged: int = number(500, "judged documents per topic")
    seed: int = number(2009, "seed of the random numbers")

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < (0 if name == "seed" else 1):
                raise ValueError(f"{name} {value} is too small")
        if self.documents < 2 * self.drawn:
            raise ValueError(
                f"{self.documents} documents are too few, expected {2 * self.drawn} or more"
            )

    @classmethod
    def of(cls, options: Namespace) -> Self:
        """The size that `add_size_options` read."""
        return cls(**{own.name: getattr(options, own.name) for own in fields(cls)})

    @property
    def drawn(self) -> int:
        """The most documents that one topic may draw; of twice as many they never run out."""
        return max(self.results, self.judged)

    @property
    def lines(self) -> int:
        return self.topics * self.results * self.runs


def add_size_options(parser: ArgumentParser, size: type[CampaignSize]) -> None:
    """One option for each field of a size."""
    for own in fields(size):
        parser.add_argument(
            f"--{own.name}",
            type=int,
            default=own.default,
            metavar="N",
            help=f"{own.metadata['help']} (default {own.default})",
        )


@dataclass(frozen=True)
class CampaignFiles:
    """The files of a campaign below one directory."""

    root: Path
    kind: ClassVar[type[CampaignSize]]
    """How such campaigns are measured."""

    def new(self) -> None:
        """Refuse to write into a directory that holds something."""
        if self.root.is_dir() and any(self.root.iterdir()):
            raise FileExistsError("the directory for the campaign is not empty")

    def size(self) -> CampaignSize | None:
        """The size of the campaign that is complete here, if one is."""
        try:
            return self.kind(**json.loads((self.root / "size.json").read_text()))
        except FileNotFoundError:
            return None

    def complete(self, size: CampaignSize) -> None:
        """Note that the files of a campaign of this size are all written."""
        (self.root / "size.json").write_text(json.dumps(asdict(size), indent=2) + "\n")


def generate_from_shell(
    prog: str,
    description: str | None,
    generate: Callable[[Path, Any], Any],
    size: type[CampaignSize],
    arguments: Sequence[str] | None,
) -> None:
    """Write the campaign that a command line asks for."""
    parser = ArgumentParser(prog=prog, description=description)
    parser.add_argument("out", type=Path, metavar="OUT", help="directory to write into")
    add_size_options(parser, size)
    options = parser.parse_args(arguments)
    try:
        files = generate(options.out, size.of(options))
    except (FileExistsError, ValueError) as error:
        parser.error(str(error))
    print(f"{len(files.runs)} runs and their judgements written")
