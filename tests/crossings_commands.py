"""Commands on the campaign "crossings" whose output must not depend on where they work."""

from __future__ import annotations

import shutil
from pathlib import Path

from examples.make_crossings import CAMPAIGN

from foveal.collection import build_index

__all__ = ["COMMANDS", "EVALUATE", "copy_campaign"]

JUDGED = ("-j", "judgements.jsonl", "-C", "crossings.fvx")
ALL = ("articles.jsonl", "focused.jsonl", "noisy.jsonl", "paragraphs.run", "sections.xml")
ALL += ("strict.xml", "thorough.xml", "windows.jsonl")
RUNS = tuple(f"runs/{name}" for name in ALL)
LENIENT = ("--overlap", "drop", "--regroup")

EVALUATE = ("evaluate", *RUNS, *JUDGED, "-t", "2009.Focused", *LENIENT)
COMMANDS = {
    "tsv, warnings of many runs": (*EVALUATE, "-q"),
    "json, context": (
        *("evaluate", *RUNS, *JUDGED, "-t", "2007.RelevantInContext", *LENIENT, "-f", "json"),
    ),
    "elements": (
        *("evaluate", "runs/sections.xml", "runs/thorough.xml", "runs/strict.xml"),
        *("-j", "assessments", "-C", "crossings.fvx", "-t", "2005.CO.Thorough", "-f", "json"),
    ),
    "an error in the middle": ("evaluate", *RUNS, *JUDGED, "-t", "2009.Focused"),
    "a run that is not there": (*EVALUATE, "runs/no.run"),
    "judgements from several files": (
        *("evaluate", *RUNS[1:3], "-j", "judgements.qrels", "-m", "AiP", "-m", "iP[0.01]"),
    ),
    "comparison": (
        *("compare", *RUNS[:4], *JUDGED, "-m", "AiP", "--overlap", "drop", "-f", "json"),
    ),
    "correlation": (
        *("correlate", *RUNS[:4], *JUDGED, "-m", "AiP", "-m", "charF", "--overlap", "drop"),
    ),
}
"""Presets, formats and commands; runs that give warnings, and runs that are refused."""


def copy_campaign(folder: Path) -> Path:
    """The campaign with its index, in a folder where files may be changed."""
    place = folder / "crossings"
    shutil.copytree(CAMPAIGN, place)
    build_index(place / "documents", place / "crossings.fvx")
    (place / "runs" / "bad.run").write_text("1 Q0 d1 1 x mine 0 10\n")
    return place
