"""Programs that Foveal is compared with where they are there: trec_eval, the official evaluator.

``TREC_EVAL`` names the C program if it is not on the path. ``FOVEAL_OFFICIAL_JAR`` names the jar of
the Java evaluator of 2008 to 2010, and ``FOVEAL_OFFICIAL_CLASS`` its class if the jar does not say.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import Command

__all__ = ["MissingError", "java", "official", "trec_eval", "trec_eval_on"]

# A process for each run, as users of trec_eval have them.
_EACH = (
    "program=$1 judgements=$2; shift 2; "
    'for run; do "$program" -m map -m P.10 "$judgements" "$run" || exit; done'
)


class MissingError(Exception):
    """A program to compare with is not there; the text says which and how to name it."""


def java() -> str:
    """The program that runs a jar."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def trec_eval() -> str | None:
    """The C program, if there is one."""
    return shutil.which(os.environ.get("TREC_EVAL") or "trec_eval")


def trec_eval_on(judgements: Path, runs: Sequence[Path]) -> Command:
    """MAP and P@10 of rankings of documents."""
    program = trec_eval()
    if program is None:
        raise MissingError("trec_eval is not installed; TREC_EVAL may name it")
    return Command(["sh", "-c", _EACH, "sh", program, str(judgements), *map(str, runs)])


def official(option: str, judgements: Path, runs: Sequence[Path]) -> Command:
    """The Java evaluator on passage runs; the `option` is that of a task, such as ``-f``."""
    jar, name = os.environ.get("FOVEAL_OFFICIAL_JAR"), os.environ.get("FOVEAL_OFFICIAL_CLASS")
    if not jar:
        raise MissingError(
            "the official evaluator is not given; FOVEAL_OFFICIAL_JAR may name its jar"
        )
    if not Path(jar).is_file():
        raise MissingError("FOVEAL_OFFICIAL_JAR names no file")
    if shutil.which(java()) is None:
        raise MissingError("java is not installed, which the official evaluator needs")
    place = ["-cp", jar, name] if name else ["-jar", jar]
    return Command([java(), *place, option, str(judgements), *map(str, runs)])
