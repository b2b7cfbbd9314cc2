"""Read and write files; the format is recognised by the content, never only by the name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foveal.files.source import Source as Source
from foveal.formats.format import Format as Format
from foveal.formats.format import Parsed as Parsed
from foveal.formats.format import detect_format as detect_format
from foveal.formats.format import find_format as find_format
from foveal.formats.format import found_kind as found_kind
from foveal.formats.format import kind_of as kind_of
from foveal.formats.format import list_formats as list_formats
from foveal.formats.format import parse_file as parse_file
from foveal.formats.format import read_judgements as read_judgements
from foveal.formats.format import read_run as read_run
from foveal.formats.format import write_judgements as write_judgements
from foveal.formats.format import write_run as write_run
from foveal.formats.format import write_topics as write_topics

if TYPE_CHECKING:
    from foveal.formats.pool_files import read_pool as read_pool
    from foveal.formats.pool_files import write_pool as write_pool
    from foveal.formats.result_files import read_results as read_results
    from foveal.formats.topic_files import read_topics as read_topics

# Names that are loaded when they are asked for, as reading runs and judgements does not need them.
_HOME = {
    "read_pool": "pool_files",
    "read_results": "result_files",
    "read_topics": "topic_files",
    "write_pool": "pool_files",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"foveal.formats.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
