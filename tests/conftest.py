"""Hypothesis looks for new examples at every run; in CI it looks at the same ones each time."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
