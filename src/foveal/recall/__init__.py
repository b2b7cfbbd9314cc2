"""Recall bases: the worth of the assessed elements of a topic, and the ideal ones among them."""

from foveal.recall.bases import Base, ideal_base
from foveal.recall.forest import QUANTISATIONS, ElementGrades, Forest

__all__ = ["QUANTISATIONS", "Base", "ElementGrades", "Forest", "ideal_base"]
