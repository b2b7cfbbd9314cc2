"""What other programs have, as runs and judgements: objects of frameworks, files of other tools."""

from foveal.adapters.judgements import judgements_of, judgements_or_files
from foveal.adapters.runs import run_of, runs_of

__all__ = ["judgements_of", "judgements_or_files", "run_of", "runs_of"]
