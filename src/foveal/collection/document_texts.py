"""The texts of documents and elements, read from the source of a collection.

An index holds no text. Only documents that are asked for are parsed, as safely as for an index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Collection as Names
from contextlib import suppress
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path
from typing import NamedTuple

from foveal.collection.element_index import Collection
from foveal.collection.parsing import Batch, Recorder, text_digest
from foveal.collection.sources import LINE, DocumentSource, name_of, read_items, shared_folder
from foveal.errors import InputError, Problem, UsageError
from foveal.files.xml import DocumentError, Limits

__all__ = ["SourceTexts", "Text", "TextSource"]

_LINES = (".jsonl", ".ndjson")
_MOST_CHECKED = 20
"""Missing documents whose files are looked for."""


class Text(NamedTuple):
    """The text of one document."""

    doc: str
    text: str
    as_indexed: bool | None = None
    """True if the index has the hash of this very text; None without an index."""


class _SourceDocument(NamedTuple):
    """A parsed document: its name, also with the extension of its file, and its text."""

    name: str
    with_extension: str
    is_named_inside: bool
    text: str
    digest: bytes
    place: str
    batch: Batch | None


def _read_documents(
    source: DocumentSource,
    docs: Names[str],
    *,
    name_tag: str | None = None,
    whitespace: str = "keep",
    limits: Limits | None = None,
    every: bool = False,
    failures: list[Problem] | None = None,
    progress: Callable[[float], object] | None = None,
) -> Iterator[_SourceDocument]:
    """Yield the documents of these names, with or without extension, in the order of the source.

    Parameters
    ----------
    source : DocumentSource
    docs : collection of str
    name_tag, whitespace, limits
        As for an index.
    every : bool
        Yield all documents.
    failures : list of Problem, optional
        Where problems of documents are noted; by default the first one is raised.
    progress : callable, optional
        Called with the share of the source that is done.
    """
    limits = limits or Limits()
    try:
        # Names of documents leave out the folders that hold everything in an archive.
        folder: tuple[str, ...] | None = None
        for task in source.tasks(limits.size) if source.is_archive else ():
            for item in read_items(task):
                folder = shared_folder(folder, item.folder)
        prefix = "".join(f"{name}/" for name in folder or ())
        for task in source.tasks(limits.size):
            # Of a directory, only files that may hold a document asked for are opened.
            members = tuple(
                member
                for member in task.members
                if every
                or name_tag is not None
                or name_of(member) in docs
                or member in docs
                or member.lower().endswith(_LINES)
            )
            for item in read_items(replace(task, members=members)):
                inside = item.is_named_inside(name_tag)
                extension = "" if item.kind == LINE else item.place[len(name_of(item.place)) :]
                name = item.name.removeprefix(prefix)
                if not (inside or every or name in docs or name + extension in docs):
                    continue
                texts: list[str] = []
                recorder = Recorder(whitespace=whitespace, limits=limits, on_text=texts.append)
                try:
                    item.record(recorder, name_tag)
                except DocumentError as error:
                    if failures is None:
                        raise InputError([error.at(item.place)]) from None
                    failures.append(error.at(item.place))
                    continue
                batch = recorder.batch()
                if inside:
                    (name,) = batch.documents
                if every or name in docs or name + extension in docs:
                    digest = text_digest(texts[0])
                    yield _SourceDocument(
                        name, name + extension, inside, texts[0], digest, item.place, batch
                    )
            if progress is not None:
                progress(task.done)
    except OSError as error:
        place, reason = error.filename or source.path, error.strerror or error
        message = f"cannot be read: {reason}"
        raise InputError.at("file.unreadable", str(place), None, message) from None


class TextSource:
    """The texts of documents by name.

    Parameters
    ----------
    source : path
        A directory, zip, tar, text, XML or JSON Lines file, as ``foveal index`` takes it.
    collection : path, optional
        An index of the source: its rule for white space holds, and its hashes are compared.
    name_tag : str, optional
        Documents are named by the text of their first such element (``--name-from``).
    whitespace : {"keep", "merge", "strip"}
        The rule for white space where there is no index to tell it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "d.txt").write_text("To be")
    >>> [*TextSource(folder).read({"d", "e"})]
    [Text(doc='d', text='To be', as_indexed=None)]
    """

    def __init__(
        self,
        source: str | Path,
        collection: str | Path | None = None,
        *,
        name_tag: str | None = None,
        whitespace: str = "keep",
    ) -> None:
        self.source = source
        self.name_tag = name_tag
        self.index = None if collection is None else Collection.open(collection)
        self.whitespace = whitespace if self.index is None else self.index.whitespace

    @classmethod
    def given(
        cls,
        texts: str | None,
        collection: str | None,
        documents: str | None,
        *,
        name_tag: str | None = None,
        whitespace: str = "keep",
    ) -> TextSource | None:
        """Return the source that options of a command name; None without them."""
        if texts is not None:
            if documents is not None:
                raise UsageError("--texts and --documents both say where the texts are; give one")
            return cls(texts, collection, name_tag=name_tag, whitespace=whitespace)
        if collection is not None and documents is not None:
            return cls(documents, collection, name_tag=name_tag)
        return None

    def read(self, docs: Names[str], *, every: bool = False) -> Iterator[Text]:
        """Yield the texts of those documents that the source has, each under the name asked for.

        A document may be asked for with the extension of its file, too, unless that is the name
        of another document. With `every`, all other documents follow under their own names.
        """
        source = DocumentSource(Path(self.source))
        digests = None if self.index is None else self.index.digests()
        found: dict[str, _SourceDocument] = {}
        later: list[_SourceDocument] = []

        def yield_new(one: _SourceDocument, name: str) -> Iterator[Text]:
            """Yield a document unless the name is taken by the same text."""
            # Of many documents, texts would fill the memory.
            without_text = one._replace(text="", batch=None)
            first = found.setdefault(name, without_text)
            if first.name == one.name and first.digest != one.digest:
                remedy = "; give the name with its extension"
                remedy = "" if one.with_extension == one.name else remedy
                message = (
                    f"a second, other text of document {name!r}, the first is {first.place}{remedy}"
                )
                raise InputError.at("document.duplicate", one.place, None, message)
            if first is without_text:
                same = None if digests is None else one.digest == digests.get(one.name)
                yield Text(name, one.text, same)

        documents = _read_documents(
            source, docs, name_tag=self.name_tag, whitespace=self.whitespace, every=every
        )
        for one in documents:
            if one.name not in docs or one.with_extension in docs:
                later.append(one._replace(batch=None))
            if one.name in docs:
                yield from yield_new(one, one.name)
        names = Counter(one.name for one in later)
        for one in later:
            extended = one.with_extension in docs or names[one.name] > 1
            yield from yield_new(one, one.with_extension if extended else one.name)

    def check_missing(self, docs: Iterable[str]) -> None:
        """Refuse missing documents whose file is in the directory, and say what to do."""
        root = Path(self.source)
        for doc in sorted(docs)[:_MOST_CHECKED] if root.is_dir() else ():
            with suppress(OSError, ValueError):  # not a possible name of a file
                _check_file(root, doc)


def _check_file(root: Path, doc: str) -> None:
    """Refuse a document that is named by another path, or whose file is not read."""
    path, top = root / doc, root.resolve()
    for given in (Path(doc).resolve(), path.resolve()):
        if not given.is_file() or top not in given.parents:
            continue
        member = given.relative_to(top).as_posix()
        if member != doc:
            name = name_of(member)
            message = f"document {doc!r} is called {name!r} here; names are relative to {root}"
            raise InputError.at("document.name", doc, None, message)
    if not path.name or top not in path.resolve().parents:
        return
    files = [path] if path.is_file() else [*path.parent.glob(f"{escape(path.name)}.*")]
    if files:
        message = (
            f"this file of document {doc!r} cannot be read; expected XML, text with the "
            "extension .txt or .md, or JSON Lines"
        )
        raise InputError.at("document.format", str(min(files)), None, message)


@dataclass(frozen=True)
class SourceTexts:
    """The text of elements, read from the documents that a collection was indexed from.

    Parameters
    ----------
    source : str or path
        A directory, zip, tar or single file, as ``foveal index`` takes it.
    name_tag : str, optional
        Documents are named by the text of their first such element (``--name-from``).
    limits : Limits, optional
    """

    source: str | Path
    name_tag: str | None = None
    limits: Limits = field(default_factory=Limits)

    def __call__(
        self, asked: Mapping[str, Callable[[str], bool]]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield document, XPath and text of the elements that are wanted in each document.

        Parameters
        ----------
        asked : mapping of str to callable
            By document, a function that returns True for the XPath of an element that is wanted.
        """
        found: dict[tuple[str, bool], list[tuple[str, str]]] = {}
        failures: list[Problem] = []
        for one in self._read(asked, failures):
            fit = [asked[name] for name in {one.name, one.with_extension} if name in asked]
            batch = one.batch
            assert batch is not None
            xpaths: list[str] = []
            columns = (column.tolist() for column in batch.paths[:3])
            for parent, tag, ordinal in zip(*columns, strict=True):
                above = xpaths[parent] if parent >= 0 else ""
                xpaths.append(f"{above}/{batch.paths.tags[tag]}[{ordinal}]")
            wanted = [any(is_wanted(xpath) for is_wanted in fit) for xpath in xpaths]
            spans = zip(batch.path.tolist(), batch.start.tolist(), batch.end.tolist(), strict=True)
            found[one.name, one.is_named_inside] = [
                (xpaths[i], one.text[start:end]) for i, start, end in spans if wanted[i]
            ]
        for doc in sorted(asked):
            names = (doc, False), (doc, True), (name_of(doc), False), (name_of(doc), True)
            elements = next((found[name] for name in names if name in found), None)
            if elements is None:
                message = f"holds no document {doc!r}, which is judged"
                missing = Problem("collection.unknown_document", str(self.source), None, message)
                raise InputError(failures or [missing])
            yield from ((doc, xpath, text) for xpath, text in elements)

    def documents(
        self, digests: Mapping[str, bytes], *, progress: Callable[[float], object] | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield name and whole text of documents, in the order in which the source has them.

        Parameters
        ----------
        digests : mapping of str to bytes
            Names of the documents to the hashes of their texts, as `Collection.digests` has them.
            A text of another hash is no longer what was indexed, and is not given out.
        progress : callable, optional
            Called with the share of the source that is done.
        """
        left, failures = dict(digests), list[Problem]()
        for one in self._read(digests, failures, progress):
            if left.get(one.name) == one.digest:
                del left[one.name]
                yield one.name, one.text
            if not left:
                return
        if left:
            missing = "holds no document {!r} with the text that was indexed"
            problems = [
                Problem("document.changed", str(self.source), None, missing.format(name))
                for name in left
            ]
            raise InputError([*failures, *problems])

    def _read(
        self,
        docs: Names[str],
        failures: list[Problem],
        progress: Callable[[float], object] | None = None,
    ) -> Iterator[_SourceDocument]:
        return _read_documents(
            DocumentSource(Path(self.source)),
            docs,
            name_tag=self.name_tag,
            limits=self.limits,
            failures=failures,
            progress=progress,
        )
