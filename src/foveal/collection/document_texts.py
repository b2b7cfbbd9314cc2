"""The texts of documents by name: of a directory, archive or file, or of those behind an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import NamedTuple

from foveal.collection import Collection
from foveal.collection.building import add_item, named_inside
from foveal.collection.parsing import Recorder, text_digest
from foveal.collection.sources import LINE, Item, Source, Task, name_of, read_items, shared
from foveal.errors import InputError, Problem, UsageError
from foveal.files.xml import DocumentError

__all__ = ["Text", "TextSource"]

_LINES = (".jsonl", ".ndjson")
_MOST_CHECKED = 20
"""Missing documents whose files are looked for."""


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

    def read(self, docs: Names[str], *, every: bool = False) -> Iterator[Text]:
        """Yield the texts of those documents that the source has, each under the name asked for.

        A document may be asked for with the extension of its file, too, unless that is the name
        of another document. With `every`, all other documents follow under their own names.
        """
        source = Source(Path(self.source))
        digests = None if self.index is None else self.index.digests()
        found: dict[str, _Document] = {}
        later: list[_Document] = []
        for one in self._documents(source, docs, every=every):
            if one.name not in docs or one.with_extension in docs:
                later.append(one)
            if one.name in docs and _is_new(one, one.name, found):
                yield one.as_text(one.name, digests)
        names = Counter(one.name for one in later)
        for one in later:
            extended = one.with_extension in docs or names[one.name] > 1
            name = one.with_extension if extended else one.name
            if _is_new(one, name, found):
                yield one.as_text(name, digests)

    def _documents(self, source: Source, docs: Names[str], *, every: bool) -> Iterator[_Document]:
        """Yield the documents that are asked for, in the order of the source."""
        try:
            folder = self._folder(source)
            for task in self._tasks(source, docs, every=every):
                for item in read_items(task):
                    one = self._document(item, docs, folder, every=every)
                    if one is not None:
                        yield one
        except OSError as error:
            place, reason = error.filename or self.source, error.strerror or error
            raise InputError.at(
                "unclassified", str(place), None, f"cannot be read: {reason}"
            ) from None

    def _folder(self, source: Source) -> str:
        """The folders that hold everything in an archive, which names of documents leave out."""
        folder: tuple[str, ...] | None = None
        for task in source.tasks() if source.archive else ():
            for item in read_items(task):
                folder = shared(folder, item.folder)
        return "".join(f"{name}/" for name in folder or ())

    def _tasks(self, source: Source, docs: Names[str], *, every: bool) -> Iterator[Task]:
        """The batches of the source; of a directory, without files that nobody asks for."""
        for task in source.tasks():
            members = tuple(
                member
                for member in task.members
                if every
                or self.name_tag is not None
                or name_of(member) in docs
                or member in docs
                or member.lower().endswith(_LINES)
            )
            yield replace(task, members=members)

    def _document(
        self, item: Item, docs: Names[str], folder: str, *, every: bool
    ) -> _Document | None:
        """Return a document of the source, or None if it is not asked for."""
        inside = named_inside(item, self.name_tag)
        extension = "" if item.kind == LINE else item.place.removeprefix(name_of(item.place))
        name = item.name.removeprefix(folder)
        if not (inside or every or name in docs or name + extension in docs):
            return None
        texts: list[str] = []
        recorder = Recorder(whitespace=self.whitespace, on_text=texts.append)
        try:
            add_item(item, recorder, self.name_tag)
        except DocumentError as error:
            where, message = error.placed(item.place)
            raise InputError([Problem("unclassified", where, None, message)]) from None
        if inside:
            (name,) = recorder.batch().documents
            if not (every or name in docs or name + extension in docs):
                return None
        return _Document(name, name + extension, texts[0], text_digest(texts[0]), item.place)

    def check_missing(self, docs: Iterable[str]) -> None:
        """Refuse missing documents whose file is in the directory, and say what to do."""
        root = Path(self.source)
        for doc in sorted(docs)[:_MOST_CHECKED] if root.is_dir() else ():
            with suppress(OSError, ValueError):  # not a possible name of a file
                self._check_file(root, doc)

    def _check_file(self, root: Path, doc: str) -> None:
        """Refuse a document that is named by another path, or whose file is not read."""
        path, top = root / doc, root.resolve()
        for given in (Path(doc).resolve(), path.resolve()):
            if not given.is_file() or top not in given.parents:
                continue
            member = given.relative_to(top).as_posix()
            if member != doc:
                name = name_of(member)
                message = f"document {doc!r} is called {name!r} here; names are relative to {root}"
                raise InputError.at("unclassified", doc, None, message)
        if not path.name or top not in path.resolve().parents:
            return
        files = [path] if path.is_file() else [*path.parent.glob(f"{escape(path.name)}.*")]
        if files:
            message = (
                f"this file of document {doc!r} cannot be read; expected XML, text with the "
                "extension .txt or .md, or JSON Lines"
            )
            raise InputError.at("unclassified", str(min(files)), None, message)


class _Document(NamedTuple):
    """A document of a source: its name, also with the extension of its file, and its text."""

    name: str
    with_extension: str
    text: str
    digest: bytes
    place: str

    def as_text(self, asked: str, digests: Mapping[str, bytes] | None) -> Text:
        if digests is None:
            return Text(asked, self.text)
        return Text(asked, self.text, self.digest == digests.get(self.name))


def _is_new(one: _Document, name: str, found: dict[str, _Document]) -> bool:
    """Note a document under a name; return False if the name is taken, by the same text."""
    without_text = one._replace(text="")  # of many documents, texts would fill the memory
    first = found.setdefault(name, without_text)
    if first.name == one.name and first.digest != one.digest:
        remedy = "" if one.with_extension == one.name else "; give the name with its extension"
        message = f"a second, other text of document {name!r}, the first is {first.place}{remedy}"
        raise InputError.at("unclassified", one.place, None, message)
    return first is without_text
