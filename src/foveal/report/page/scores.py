"""Scores as the page carries them: rounded where they are printed, not where they are shown."""

from __future__ import annotations

import math

__all__ = ["scaled"]


def scaled(value: float) -> int | None:
    """A score in ten-thousandths, rounded as it is printed; None for an undefined one.

    The page must show what ``foveal evaluate`` prints, and other languages round halves otherwise.

    >>> scaled(0.03125), f"{0.03125:.4f}", scaled(float("nan"))
    (312, '0.0312', None)
    """
    return None if math.isnan(value) else int(f"{value:.4f}".replace(".", ""))
