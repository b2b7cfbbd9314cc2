"""Old home of `foveal.errors.Tally`."""

from foveal.errors import Tally
from foveal.errors import TallyForm as Form

__all__ = ["Form", "Tally"]
