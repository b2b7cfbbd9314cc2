"""Runs and judgements from objects of frameworks and files of other tools."""

from foveal.adapters.from_objects import judgements_of, judgements_or_files, run_of, runs_of

__all__ = ["judgements_of", "judgements_or_files", "run_of", "runs_of"]
