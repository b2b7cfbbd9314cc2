"""Hypothesis looks for new examples at every run; in CI it looks at the same ones each time.

No example has a deadline: how long one takes is the machine's affair.
"""

import os

from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")
