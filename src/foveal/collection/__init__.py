"""Documents to element index; XPath to span and back."""

from foveal.collection.building import BuildOptions, Shard, Summary, build_index, open_sources
from foveal.collection.elements import WHITESPACE, DocumentError, Limits
from foveal.collection.lookup import Collection, Element, Resolved
from foveal.collection.sources import Source
from foveal.collection.texts import SourceTexts

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
