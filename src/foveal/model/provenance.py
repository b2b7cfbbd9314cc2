"""Old home of `foveal.model.run.Provenance` and `distinct_names`."""

from foveal.model.run import Provenance, distinct_names

__all__ = ["Provenance", "distinct_names"]
