"""The texts of documents by name: of a directory, archive or file, or of those behind an index."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from foveal.collection import Collection
from foveal.collection.building import add_item, named_inside
from foveal.collection.elements import DocumentError, Recorder, text_digest
from foveal.collection.sources import Item, Source, Task, name_of, read_items, shared
from foveal.errors import InputError, Problem, UsageError

__all__ = ["Text", "TextSource"]

_LINES = (".jsonl", ".ndjson")


class Text(NamedTuple):
    """The text of one document."""

    doc: str
    text: str
    as_indexed: bool | None = None
    """Whether the index has the hash of this very text; None without an index."""


class TextSource:
    """Where the texts of documents come from; only those that are asked for are parsed.

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
        """The source that options of a command tell; None if they tell none."""
        if texts is not None:
            if documents is not None:
                raise UsageError("--texts and --documents both say where the texts are; give one")
            return cls(texts, collection, name_tag=name_tag, whitespace=whitespace)
        if collection is not None and documents is not None:
            return cls(documents, collection, name_tag=name_tag)
        return None

    def read(self, docs: Names[str]) -> Iterator[Text]:
        """The texts of those documents that the source has, in its order."""
        source = Source(Path(self.source))
        digests = {} if self.index is None else self.index.digests()
        seen: dict[str, bytes] = {}
        try:
            folder = self._folder(source)
            for task in self._tasks(source, docs):
                for item in read_items(task):
                    yield from self._texts(item, docs, folder, digests, seen)
        except OSError as error:
            place, reason = error.filename or self.source, error.strerror or error
            raise InputError.at(str(place), None, f"cannot be read: {reason}") from None

    def _folder(self, source: Source) -> str:
        """The folders that hold everything in an archive, which names of documents leave out."""
        folder: tuple[str, ...] | None = None
        for task in source.tasks() if source.archive else ():
            for item in read_items(task):
                folder = shared(folder, item.folder)
        return "".join(f"{name}/" for name in folder or ())

    def _tasks(self, source: Source, docs: Names[str]) -> Iterator[Task]:
        """The batches of the source; of a directory, without files that nobody asks for."""
        for task in source.tasks():
            members = tuple(
                member
                for member in task.members
                if self.name_tag is not None
                or name_of(member) in docs
                or member.lower().endswith(_LINES)
            )
            yield replace(task, members=members)

    def _texts(
        self,
        item: Item,
        docs: Names[str],
        folder: str,
        digests: dict[str, bytes],
        seen: dict[str, bytes],
    ) -> Iterator[Text]:
        """The text of a document, if it is asked for."""
        inside = named_inside(item, self.name_tag)
        if not inside and item.name.removeprefix(folder) not in docs:
            return
        texts: list[str] = []
        recorder = Recorder(whitespace=self.whitespace, on_text=texts.append)
        try:
            add_item(item, recorder, self.name_tag)
        except DocumentError as error:
            where, message = error.placed(item.place)
            raise InputError([Problem(where, None, message)]) from None
        (name,) = recorder.batch().documents
        name = name if inside else item.name.removeprefix(folder)
        if name not in docs:
            return
        digest = text_digest(texts[0])
        if seen.setdefault(name, digest) != digest:
            raise InputError.at(item.place, None, f"a second, other text of document {name!r}")
        yield Text(name, texts[0], digest == digests.get(name) if self.index is not None else None)
