"""Documents to element index; XPath to span and back."""

from foveal.collection.building import BuildOptions, Shard, build_index, open_sources
from foveal.collection.document_texts import SourceTexts
from foveal.collection.element_index import Collection, Element, Resolved
from foveal.collection.parsing import WHITESPACE, Markup
from foveal.collection.sources import DocumentSource
from foveal.files.xml import DocumentError, Limits

__all__ = [
    "WHITESPACE",
    "BuildOptions",
    "Collection",
    "DocumentError",
    "DocumentSource",
    "Element",
    "Limits",
    "Markup",
    "Resolved",
    "Shard",
    "SourceTexts",
    "build_index",
    "open_sources",
]
