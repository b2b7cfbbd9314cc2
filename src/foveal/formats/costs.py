"""Old home of `foveal.formats.ranking.with_costs`."""

from foveal.formats.ranking import with_costs

__all__ = ["with_costs"]
