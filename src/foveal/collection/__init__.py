"""Documents to element index; XPath to span and back."""

from foveal.collection.building import BuildOptions, Shard, Summary, build_index, open_sources
from foveal.collection.lookup import Collection, Element, Resolved
from foveal.collection.parsing import WHITESPACE
from foveal.collection.sources import Source
from foveal.collection.texts import SourceTexts
from foveal.files.xml import DocumentError, Limits

__all__ = [
    "WHITESPACE",
    "BuildOptions",
    "Collection",
    "DocumentError",
    "Element",
    "Limits",
    "Resolved",
    "Shard",
    "Source",
    "SourceTexts",
    "Summary",
    "build_index",
    "open_sources",
]
