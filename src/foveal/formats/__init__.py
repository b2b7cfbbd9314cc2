"""Read and write files; the format is recognised by the content, never only by the name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foveal.files.source import Source
from foveal.formats.base import (
    Format,
    Parsed,
    detect_format,
    find_format,
    found_kind,
    kind_of,
    list_formats,
    parse_run,
    read_judgements,
    read_run,
    write_judgements,
    write_run,
    write_topics,
)

if TYPE_CHECKING:
    from foveal.formats.cache import CacheWarning
    from foveal.formats.pool_files import read_pool, write_pool
    from foveal.formats.result_files import read_results
    from foveal.formats.topic_files import read_topics

__all__ = [
    "CacheWarning",
    "Format",
    "Parsed",
    "Source",
    "detect_format",
    "find_format",
    "found_kind",
    "kind_of",
    "list_formats",
    "parse_run",
    "read_judgements",
    "read_pool",
    "read_results",
    "read_run",
    "read_topics",
    "write_judgements",
    "write_pool",
    "write_run",
    "write_topics",
]

_HOME = {
    "CacheWarning": "cache",
    "read_pool": "pool_files",
    "read_results": "result_files",
    "read_topics": "topic_files",
    "write_pool": "pool_files",
}
"""Names that are loaded when they are asked for, and their modules."""


def __getattr__(name: str) -> Any:
    """Load what reading a run or judgements does not need."""
    if name in _HOME:
        return getattr(import_module(f"foveal.formats.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
