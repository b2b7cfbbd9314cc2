"""What objects of retrieval frameworks say of themselves: document, place, text and score.

No framework is imported. Its objects are known by their attributes, so that any version of it, a
class derived from its own or a stand-in with the same attributes does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["DICT", "FRAMEWORKS", "TUPLE", "USUAL", "Kind", "kind_of", "read_mapping", "read_object"]

USUAL: dict[str, tuple[str, ...]] = {
    "topic": ("topic", "topic_id", "query_id", "qid", "question_id"),
    "doc": (
        "doc",
        "doc_id",
        "docid",
        "docno",
        "document_id",
        "source",
        "source_id",
        "ref_doc_id",
        "corpus_id",
        "file_path",
        "file_name",
    ),
    "start": (
        "start",
        "start_index",
        "start_char_idx",
        "split_idx_start",
        "start_char",
        "char_start",
        "start_offset",
    ),
    "end": ("end", "end_index", "end_char_idx", "end_char", "char_end", "end_offset"),
    "text": ("text", "page_content", "content", "quote"),
    "score": ("score",),
    "rank": ("rank",),
    "xpath": ("xpath",),
    "tokens": ("tokens", "token_count"),
    "grade": ("grade", "relevance", "label"),
    "assessor": ("assessor",),
    "length": ("length",),
    "bep": ("bep",),
    "sets": ("sets",),
}
"""Our names of columns, and the names that others give them; the first that is there counts."""

_METADATA = ("metadata", "meta")


@dataclass(frozen=True)
class Kind:
    """How one framework says where a piece of text stands.

    Parameters
    ----------
    name : str
        For messages.
    marks : tuple of str
        The attributes that tell its objects from others.
    metadata : str
        The attribute that holds the user's own fields.
    fields : mapping of str to str
        Our columns to its attributes; what follows a dot is a key of the metadata.
    no_doc, no_start : str
        What to do where the document or the start is missing.
    """

    name: str
    marks: tuple[str, ...] = ()
    metadata: str = "metadata"
    fields: Mapping[str, str] = field(default_factory=dict)
    no_doc: str = "name it in one of the fields " + ", ".join(USUAL["doc"][:4])
    no_start: str = "give start and end"

    @cached_property
    def paths(self) -> tuple[tuple[str, str, str], ...]:
        """Our columns, the attribute of each, and the key of the metadata or nothing."""
        split = ((name, *path.partition(".")) for name, path in self.fields.items())
        return tuple((name, attribute, key) for name, attribute, _, key in split)


DICT = Kind("dict")
TUPLE = Kind("tuple")

FRAMEWORKS = (
    Kind(
        "LangChain document",
        marks=("page_content", "metadata"),
        fields={
            "doc": "metadata.source",
            "start": "metadata.start_index",
            "text": "page_content",
        },
        no_doc="set metadata['source'] before splitting, or name the field of the metadata that "
        "tells the document: run_of(results, doc='...')",
        no_start="make the text splitter with add_start_index=True",
    ),
    Kind(
        "LlamaIndex node",
        marks=("ref_doc_id", "start_char_idx"),
        fields={
            "doc": "ref_doc_id",
            "start": "start_char_idx",
            "end": "end_char_idx",
            "text": "text",
        },
        no_doc="make nodes with get_nodes_from_documents, or name the field of the metadata that "
        "tells the document: run_of(results, doc='...')",
        no_start="its node parser did not find the text of the node in the document; use one that "
        "leaves the text as it is",
    ),
    Kind(
        "Haystack document",
        marks=("content", "meta"),
        metadata="meta",
        fields={
            "doc": "meta.source_id",
            "start": "meta.split_idx_start",
            "text": "content",
            "score": "score",
        },
        no_doc="split with DocumentSplitter, or name the field of the meta that tells the "
        "document: run_of(results, doc='...')",
        no_start="split with DocumentSplitter or RecursiveDocumentSplitter, which note it",
    ),
    Kind(
        "Chonkie chunk",
        marks=("start_index", "end_index", "text"),
        fields={
            "doc": "metadata.source",
            "start": "start_index",
            "end": "end_index",
            "text": "text",
            "tokens": "token_count",
        },
        no_doc="a chunk does not know its document; give pairs (document, chunk), or cut with "
        "chunk_document(Document(content=..., metadata={'source': ...}))",
    ),
)


def kind_of(example: type, result: Any) -> Kind | None:
    """The framework that an object of type `example` comes from; None for other objects.

    The object itself is looked at, because some classes have attributes on their objects alone.

    >>> class Document:
    ...     def __init__(self):
    ...         self.page_content, self.metadata = "text", {}
    >>> kind_of(Document, Document()).name
    'LangChain document'
    """
    if issubclass(example, (str, bytes, int, float, tuple, list, Mapping)):
        return None
    for kind in FRAMEWORKS:
        if all(hasattr(result, mark) for mark in kind.marks):
            return kind
    return None


def read_object(
    result: Any, kind: Kind, doc: str | Callable[[Any], Any] | None = None
) -> dict[str, Any]:
    """The columns that an object of a framework tells.

    >>> from types import SimpleNamespace
    >>> chunk = SimpleNamespace(
    ...     page_content="some text", metadata={"source": "d1", "start_index": 40}
    ... )
    >>> read_object(chunk, FRAMEWORKS[0])
    {'doc': 'd1', 'start': 40, 'text': 'some text'}
    """
    held = getattr(result, kind.metadata, None)
    metadata: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
    found = {}
    for name, attribute, key in kind.paths:
        value = metadata.get(key) if key else getattr(result, attribute, None)
        if value is not None:
            found[name] = value
    if doc is not None:
        found["doc"] = doc(result) if callable(doc) else metadata.get(doc)
    return found


def read_mapping(
    result: Mapping[str, Any],
    columns: tuple[str, ...],
    doc: str | Callable[[Any], Any] | None = None,
) -> dict[str, Any]:
    """The `columns` that a dict tells under any of their usual names, itself or in its metadata.

    >>> stored = {"page_content": "some text", "metadata": {"source": "d1", "start_index": 40}}
    >>> read_mapping(stored, ("doc", "start", "text"))
    {'doc': 'd1', 'start': 40, 'text': 'some text'}
    """
    held = (result.get(name) for name in _METADATA)
    inner: Mapping[str, Any] = next((own for own in held if isinstance(own, Mapping)), {})
    found = {}
    for column in columns:
        for part in (result, inner):
            name = next((n for n in USUAL[column] if part.get(n) is not None), None)
            if name is not None:
                found[column] = part[name]
                break
    if doc is not None:
        found["doc"] = doc(result) if callable(doc) else result.get(doc, inner.get(doc))
    return found
