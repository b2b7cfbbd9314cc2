"""Evaluations: official settings, topic policy, checks, and the official evaluator's tables."""

from foveal.campaign.options import Options
from foveal.campaign.presets import PRESETS, Preset, find_preset
from foveal.campaign.scoring import evaluate

__all__ = ["PRESETS", "Options", "Preset", "evaluate", "find_preset"]
