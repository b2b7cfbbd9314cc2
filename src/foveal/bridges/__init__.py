"""Foveal inside other programs: evaluation libraries, test runners, pipelines."""
