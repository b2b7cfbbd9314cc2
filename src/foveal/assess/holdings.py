"""The pools, the documents and their elements; search and browsing."""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from foveal.assess.database import Clock, Database, Recent, one
from foveal.assess.documents import (
    AssessedDocument,
    Elements,
    elements_of,
    page_digest,
    parsed_elements,
    store_markup,
)
from foveal.assess.rendering import keep_attributes
from foveal.assess.vocabularies import title_of
from foveal.collection import Collection, SourceTexts
from foveal.errors import InputError

__all__ = ["CollectionDocument", "Holdings", "PoolEntry", "insert_document", "read_documents"]

_DOCUMENTS, _ELEMENTS = 16, 64
"""Numbers of documents and of element tables cached."""
_SNIPPET = 80
"""Characters shown on either side of a word found."""
_WORD = re.compile(r"\w+")


class PoolEntry(NamedTuple):
    """A document to assess."""

    doc: str
    title: str
    length: int
    priority: int
    added_by: str | None
    """The user who added it; None if runs returned it."""
    support: list[dict[str, Any]]
    """Its results in runs: ``start``, ``end``, ``path`` (or None) and ``runs``."""


class CollectionDocument(NamedTuple):
    """A document found by search or browsing."""

    doc: str
    title: str
    snippet: str


class Holdings(Database):
    """Pools and documents."""

    def __init__(self, path: Path, collection: Collection | None, clock: Clock) -> None:
        super().__init__(path, collection, clock)
        self._documents: Recent[str, AssessedDocument] = Recent(_DOCUMENTS)
        self._elements: Recent[str, Elements] = Recent(_ELEMENTS)

    def pool(self, topic: str) -> list[PoolEntry]:
        """Return the documents of a topic in the order of assessment; added ones come last."""
        rows = self.reading().execute(
            "SELECT doc, title, length, priority, added_by, support FROM pool "
            "JOIN documents USING (doc) WHERE topic = ? ORDER BY priority",
            (topic,),
        )
        return [
            PoolEntry(doc, title, length, priority, added_by, json.loads(support))
            for doc, title, length, priority, added_by, support in rows.fetchall()
        ]

    def support(self, topic: str, doc: str) -> list[dict[str, Any]]:
        """Return the results of runs in a pooled document; raise KeyError for any other."""
        row = one(
            self.reading(), "SELECT support FROM pool WHERE topic = ? AND doc = ?", topic, doc
        )
        if row is None:
            raise KeyError(doc)
        support: list[dict[str, Any]] = json.loads(row["support"])
        return support

    def in_pool(self, topic: str, doc: str) -> bool:
        """Return True if a document is in the pool of a topic."""
        query = "SELECT 1 FROM pool WHERE topic = ? AND doc = ?"
        return one(self.reading(), query, topic, doc) is not None

    def add_document(self, topic: str, doc: str, by: str) -> bool:
        """Add a document that no run returned to a pool; return False if it is there already."""
        self._check_topic(topic)
        self.document(doc)
        with self.writing() as connection:
            added = connection.execute(
                "INSERT OR IGNORE INTO pool SELECT ?, ?, 1 + coalesce(max(priority), 0), ?, '[]' "
                "FROM pool WHERE topic = ?",
                (topic, doc, by, topic),
            ).rowcount
            if added:
                self._note(connection, by, topic, doc, "add", {})
        return bool(added)

    def document(self, doc: str) -> AssessedDocument:
        """Return a document; raise KeyError if the collection lacks it.

        A document that is not in the file yet is read from the source of the index, and stored.
        """
        found = self._documents.get(doc)
        if found is None:
            found = self._read_stored(doc) or self._fetch_from_source(doc)
            self._documents.put(doc, found)
        return found

    def _read_stored(self, doc: str) -> AssessedDocument | None:
        row = one(
            self.reading(),
            "SELECT title, text, length, digest, sha256, markup FROM documents WHERE doc = ?",
            doc,
        )
        if row is None:
            return None
        text = zlib.decompress(row["text"]).decode("utf-8", "surrogatepass")
        return AssessedDocument(doc, row["title"], text, *row[2:])

    def _fetch_from_source(self, doc: str) -> AssessedDocument:
        digests = {doc: self._digests[doc]}
        name_tag = self.meta.get("name_tag")
        (found,) = read_documents(self.collection, self.source, name_tag, digests)
        with self.writing() as connection:
            if not one(connection, "SELECT 1 FROM documents WHERE doc = ?", doc):
                insert_document(connection, found)
        stored = self._read_stored(doc)
        assert stored is not None
        return stored

    @property
    def source(self) -> Path:
        """Path of the documents that the index was built from."""
        return self.path.parent / self.meta["source"]

    @cached_property
    def _digests(self) -> dict[str, bytes]:
        return self.collection.digests()

    @cached_property
    def _names(self) -> list[str]:
        """Sorted names of all documents of the collection."""
        return sorted(self.collection)

    def elements(self, doc: str) -> Elements:
        """Return the elements of a document in order; raise KeyError if the collection lacks it."""
        found = self._elements.get(doc)
        if found is None:
            found = elements_of(self.collection, doc)
            self._elements.put(doc, found)
        return found

    def pooled(self, topic: str, doc: str) -> tuple[str, ...]:
        """Return the elements that runs returned, and the enclosing elements of passages."""
        elements = self.elements(doc)
        paths = {
            one["path"]
            if one["path"] in elements.number
            else elements.path[elements.around(one["start"], one["end"])]
            for one in self.support(topic, doc)
        }
        return tuple(path for path in elements.path if path in paths)

    def browse(
        self, prefix: str = "", after: str = "", limit: int = 50
    ) -> list[CollectionDocument]:
        """Return documents of the collection in order of name, after a given name."""
        names = self._names
        first = bisect_right(names, after) if after else 0
        first = max(first, bisect_left(names, prefix))
        chosen = [name for name in names[first : first + limit] if name.startswith(prefix)]
        titles = self._titles(chosen)
        return [CollectionDocument(name, titles.get(name, name), "") for name in chosen]

    def _titles(self, docs: Sequence[str]) -> dict[str, str]:
        """Return the titles of documents, as far as they are stored."""
        marks = ", ".join("?" * len(docs))
        query = f"SELECT doc, title FROM documents WHERE doc IN ({marks})"  # noqa: S608 - marks only
        return dict(self.reading().execute(query, docs).fetchall())

    def search(self, query: str, limit: int = 20, offset: int = 0) -> list[CollectionDocument]:
        """Return stored documents with all the words of a query, the best first.

        The query has no operators; its last word also matches as a prefix.
        """
        words = [word for word in _WORD.findall(query) if any(map(str.isalnum, word))]
        if not words:
            return []
        match = " ".join(f'"{word}"' for word in words) + "*"
        rows = self.reading().execute(
            "SELECT doc, title, text FROM (SELECT rowid AS number, rank FROM words "
            "WHERE words MATCH ? ORDER BY rank, rowid LIMIT ? OFFSET ?) "
            "JOIN documents USING (number) ORDER BY rank, number",
            (match, limit, offset),
        )
        pattern = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
        return [
            CollectionDocument(row["doc"], row["title"], _cut_snippet(row["text"], pattern))
            for row in rows
        ]


def read_documents(
    collection: Collection,
    source: str | Path,
    name_tag: str | None,
    digests: Mapping[str, bytes],
    progress: Callable[[float], object] | None = None,
) -> Iterator[AssessedDocument]:
    """Yield the documents with these hashes from the source of the index, with their mark-up."""
    texts = SourceTexts(source, name_tag, keep=keep_attributes)
    for doc, text, markup in texts.indexed(digests, progress=progress):
        elements = parsed_elements(markup)
        if elements.number.keys() != elements_of(collection, doc).number.keys():
            reason = f"the elements of document {doc!r} differ from those that were indexed"
            raise InputError.at("document.changed", str(source), None, reason)
        yield AssessedDocument(
            doc,
            title_of(elements, text, doc),
            text,
            len(text),
            digests[doc].hex(),
            page_digest(text),
            store_markup(markup),
        )


def insert_document(connection: sqlite3.Connection, document: AssessedDocument) -> None:
    """Store a document and its words."""
    data = document.text.encode("utf-8", "surrogatepass")
    own = document.length, document.digest, document.sha256, zlib.compress(data, 6), document.markup
    number = connection.execute(
        "INSERT INTO documents (doc, title, length, digest, sha256, text, markup) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (document.name, document.title, *own),
    ).lastrowid
    body = document.text.encode("utf-8", "replace").decode()
    connection.execute(
        "INSERT INTO words (rowid, doc, title, body) VALUES (?, ?, ?, ?)",
        (number, document.name, document.title, body),
    )


def _cut_snippet(stored: bytes, pattern: re.Pattern[str]) -> str:
    """Return the text around the first match, or the beginning of the text."""
    text = zlib.decompress(stored).decode("utf-8", "replace")
    found = pattern.search(text)
    at, end = found.span() if found else (0, 0)
    first, last = max(at - _SNIPPET, 0), end + _SNIPPET
    cut = " ".join(text[first:last].split())
    return f"{'…' if first else ''}{cut}{'…' if last < len(text) else ''}"
