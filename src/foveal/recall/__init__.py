"""Recall bases: what the assessed elements of a topic are worth, and which of them are ideal."""

from foveal.recall.bases import Base, ideal_base
from foveal.recall.forest import Forest
from foveal.recall.quantisation import QUANTISATIONS, Assessed

__all__ = ["QUANTISATIONS", "Assessed", "Base", "Forest", "ideal_base"]
