"""The texts of documents and elements, read from the source of a collection.

An index holds no text. Only documents that are asked for are parsed, as safely as for an index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Collection as Names
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foveal.collection.element_index import Collection, PathIndex
from foveal.collection.parsing import Batch, Recorder
from foveal.collection.sources import LINE, DocumentSource, Item, name_of
from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import explain_os_error
from foveal.files.xml import DocumentError, Limits

_LINES = (".jsonl", ".ndjson")


class Text(NamedTuple):
    """The text of one document."""

    doc: str
    text: str
    as_indexed: bool | None = None
    """True if the index has the hash of this very text; None without an index."""


class _SourceDocument(NamedTuple):
    """A parsed document: its name, also with the extension of its file, its text and elements."""

    name: str
    with_extension: str
    text: str
    place: str
    batch: Batch


@dataclass(frozen=True)
class SourceTexts:
    """The texts of the documents that a collection was indexed from.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "d.txt").write_text("To be")
    >>> [*SourceTexts(folder).read({"d", "e"})]
    [Text(doc='d', text='To be', as_indexed=None)]
    """

    source: str | Path
    """A directory, zip, tar or single file, as ``foveal index`` takes it."""
    name_tag: str | None = None
    """Documents are named by the text of their first such element (``--name-from``)."""
    limits: Limits = field(default_factory=Limits)
    whitespace: str = "keep"
    index: Collection | None = None
    """An index of the source, whose hashes `read` compares."""

    @classmethod
    def given(
        cls,
        texts: str | None,
        collection: str | None,
        documents: str | None,
        *,
        name_tag: str | None = None,
        whitespace: str = "keep",
    ) -> SourceTexts | None:
        """Return the source that options of a command name; None without them.

        White space counts as in the index, if there is one.
        """
        if texts is not None and documents is not None:
            raise UsageError("--texts and --documents both say where the texts are; give one")
        if texts is None and (collection is None or documents is None):
            return None
        index = None if collection is None else Collection.open(collection)
        rule = whitespace if index is None else index.whitespace
        return cls(texts or documents or "", name_tag, whitespace=rule, index=index)

    def __call__(
        self, asked: Mapping[str, Callable[[str], bool]]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield document, XPath and text of the elements that are wanted in each document.

        `asked` has for each document a function that returns True for the XPath of an element that
        is wanted.
        """
        by_name: dict[str, list[tuple[str, str]]] = {}
        by_extension: dict[str, list[tuple[str, str]]] = {}
        failures: list[Problem] = []
        for one in self._read(asked, failures):
            batch = one.batch
            xpaths = PathIndex(*batch.paths).texts(np.arange(len(batch.paths.parent))).to_list()
            for name, found in ((one.name, by_name), (one.with_extension, by_extension)):
                if name in asked and name not in found:
                    wanted = [asked[name](xpath) for xpath in xpaths]
                    columns = (batch.path.tolist(), batch.start.tolist(), batch.end.tolist())
                    spans = zip(*columns, strict=True)
                    found[name] = [(xpaths[i], one.text[s:e]) for i, s, e in spans if wanted[i]]
        for doc in sorted(asked):
            elements = by_name.get(doc, by_extension.get(doc))
            if elements is None:
                message = f"holds no document {doc!r}, which is judged"
                missing = Problem("collection.unknown_document", str(self.source), None, message)
                raise InputError(failures or [missing])
            yield from ((doc, xpath, text) for xpath, text in elements)

    def documents(
        self, digests: Mapping[str, bytes], *, progress: Callable[[float], object] | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield name and whole text of documents, in the order in which the source has them.

        `digests` are the hashes of their texts, as `Collection.digests` has them; a text of another
        hash is not what was indexed. `progress` is called with the share of the source done.
        """
        left, failures = dict(digests), list[Problem]()
        for one in self._read(digests, failures, progress=progress):
            if left.get(one.name) == one.batch.digests:
                del left[one.name]
                yield one.name, one.text
            if not left:
                return
        for name in left:
            text = f"holds no document {name!r} with the text that was indexed"
            failures.append(Problem("document.changed", str(self.source), None, text))
        if left:
            raise InputError(failures)

    def read(self, docs: Names[str], *, every: bool = False) -> Iterator[Text]:
        """Yield the texts of the documents that the source has, each under the name asked for.

        A document may be asked for with the extension of its file, too, unless that is the name
        of another document. With `every`, all other documents follow under their own names.
        """
        indexed = None if self.index is None else self.index.digests()
        found: dict[str, tuple[str, bytes, str]] = {}
        later: list[_SourceDocument] = []

        def yield_new(one: _SourceDocument, name: str) -> Iterator[Text]:
            """Yield a document unless the name is taken by the same text."""
            own = (one.name, one.batch.digests, one.place)
            first = found.setdefault(name, own)
            if first[0] == one.name and first[1] != one.batch.digests:
                message = f"a second, other text of document {name!r}, the first is {first[2]}"
                raise InputError.at("document.duplicate", one.place, None, message)
            if first is own:
                same = None if indexed is None else own[1] == indexed.get(one.name)
                yield Text(name, one.text, same)

        for one in self._read(docs, every=every):
            if one.name not in docs or one.with_extension in docs:
                later.append(one)
            if one.name in docs:
                yield from yield_new(one, one.name)
        names = Counter(one.name for one in later)
        for one in later:
            extended = one.with_extension in docs or names[one.name] > 1
            yield from yield_new(one, one.with_extension if extended else one.name)

    def _read(
        self,
        docs: Names[str],
        failures: list[Problem] | None = None,
        *,
        every: bool = False,
        progress: Callable[[float], object] | None = None,
    ) -> Iterator[_SourceDocument]:
        """Yield the documents of these names, with or without extension, or `every` document.

        Problems of documents are added to `failures`; without it the first one is raised.
        """
        source = DocumentSource(Path(self.source))
        try:
            # Names of documents leave out the folders that hold everything in an archive.
            for _ in source.tasks(self.limits.size) if source.is_archive else ():
                pass
            for task in source.tasks(self.limits.size):
                # Of a directory, only files that may hold a document asked for are opened.
                chosen = tuple(
                    document
                    for document in task.documents
                    if every
                    or self.name_tag is not None
                    or isinstance(document, Item)
                    or name_of(document) in docs
                    or document in docs
                    or document.lower().endswith(_LINES)
                )
                for item in replace(task, documents=chosen).read():
                    inside = item.is_named_inside(self.name_tag)
                    extension = "" if item.kind == LINE else item.place[len(name_of(item.place)) :]
                    name = item.name.removeprefix(source.folder)
                    if not (inside or every or name in docs or name + extension in docs):
                        continue
                    recorder = Recorder(whitespace=self.whitespace, limits=self.limits)
                    try:
                        text = item.record(recorder, self.name_tag)
                    except DocumentError as error:
                        if failures is None:
                            raise InputError([error.at(item.place)]) from None
                        failures.append(error.at(item.place))
                        continue
                    batch = recorder.batch()
                    name = batch.documents[0] if inside else name
                    if every or name in docs or name + extension in docs:
                        yield _SourceDocument(name, name + extension, text, item.place, batch)
                if progress is not None:
                    progress(task.done)
        except OSError as error:
            raise explain_os_error(error, str(error.filename or source.path)) from None
