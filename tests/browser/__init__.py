"""Tests of pages: a package, so that they can share one browser and its servers."""
