"""The text of elements, read from the documents that an index was built from; it holds none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from foveal.collection.building import add_item, named_inside
from foveal.collection.parsing import Recorder, text_digest
from foveal.collection.sources import LINE, Item, Source, Task, name_of, read_items, shared
from foveal.errors import InputError, Problem
from foveal.files.xml import DocumentError, Limits

__all__ = ["SourceTexts"]

Wanted = Callable[[str], bool]
"""Whether the element of an XPath is asked for."""

_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class SourceTexts:
    """The text of elements, read from the documents that a collection was indexed from.

    Only documents that are asked for are parsed, as safely as for an index; an archive is gone
    through once.

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

    def __call__(self, asked: Mapping[str, Wanted]) -> Iterator[tuple[str, str, str]]:
        """Document, XPath and text of the elements that are wanted in each document."""
        source = Source(Path(self.source))
        found: dict[tuple[str, bool], list[tuple[str, str]]] = {}
        failures: list[Problem] = []
        folder: tuple[str, ...] | None = None
        try:
            for item in self._items(source, asked):
                folder = shared(folder, item.folder)
                try:
                    found |= self._elements(item, asked, archive=source.archive)
                except DocumentError as error:
                    where, message = error.placed(item.place)
                    failures.append(Problem("unclassified", where, None, message))
        except OSError as error:
            place, reason = error.filename or self.source, error.strerror or error
            raise InputError.at(
                "unclassified", str(place), None, f"cannot be read: {reason}"
            ) from None
        # An index leaves out the folders that hold everything in an archive, where they are names.
        prefix = "".join(f"{name}/" for name in folder or ()) if source.archive else ""
        for doc in sorted(asked):
            possible = [(prefix + doc, False), (doc, True)]
            possible += [(name_of(name), inside) for name, inside in possible]
            called = [name for name in possible if name in found]
            if not called:
                missing = f"holds no document {doc!r}, which is judged"
                raise InputError(
                    failures or [Problem("unclassified", str(self.source), None, missing)]
                )
            yield from ((doc, xpath, text) for xpath, text in found[called[0]])

    def documents(
        self, digests: Mapping[str, bytes], *, progress: Callable[[float], object] | None = None
    ) -> Iterator[tuple[str, str]]:
        """Name and whole text of documents, in the order in which the source has them.

        Parameters
        ----------
        digests : mapping of str to bytes
            Names of the documents to the hashes of their texts, as `Collection.digests` has them.
            A text of another hash is no longer what was indexed, and is not given out.
        progress : callable, optional
            Called with the share of the source that is behind.
        """
        source = Source(Path(self.source))
        left, failures = dict(digests), list[Problem]()
        try:
            for task in self._tasks(source, digests):
                for item in read_items(task):
                    if not left:
                        return
                    try:
                        yield from self._documents(item, left, archive=source.archive)
                    except DocumentError as error:
                        where, message = error.placed(item.place)
                        failures.append(Problem("unclassified", where, None, message))
                if progress is not None:
                    progress(task.done)
        except OSError as error:
            place, reason = error.filename or self.source, error.strerror or error
            raise InputError.at(
                "unclassified", str(place), None, f"cannot be read: {reason}"
            ) from None
        if left:
            missing = "holds no document {!r} with the text that was indexed"
            problems = [
                Problem("unclassified", str(self.source), None, missing.format(name))
                for name in left
            ]
            raise InputError([*failures, *problems])

    def _documents(
        self, item: Item, left: dict[str, bytes], *, archive: bool
    ) -> Iterator[tuple[str, str]]:
        """The document under every name asked for that its text has; they are no longer left.

        In an archive the index left out folders that hold everything. Its names need not be
        worked out: a text of the right hash is the right text.
        """
        inside = named_inside(item, self.name_tag)
        names = [] if inside else [n for n in _names(item.name, archive=archive) if n in left]
        if not inside and not names:
            return
        texts: list[str] = []
        recorder = Recorder(limits=self.limits, on_text=texts.append)
        add_item(item, recorder, self.name_tag)
        if inside:
            names = [name for name in recorder.batch().documents if name in left]
        digest = text_digest(texts[0])
        for name in names:
            if left[name] == digest:
                del left[name]
                yield name, texts[0]

    def _items(self, source: Source, asked: Collection[str]) -> Iterator[Item]:
        """The documents of the source; of a directory, only files that may hold one asked for."""
        for task in self._tasks(source, asked):
            yield from read_items(task)

    def _tasks(self, source: Source, asked: Collection[str]) -> Iterator[Task]:
        """The batches of the source; of a directory, without files that nobody asks for."""
        for task in source.tasks(self.limits.size):
            members = tuple(
                member
                for member in task.members
                if self.name_tag is not None
                or name_of(member) in asked
                or member in asked
                or member.lower().endswith(_LINES)
            )
            yield replace(task, members=members)

    def _elements(
        self, item: Item, asked: Mapping[str, Wanted], *, archive: bool
    ) -> dict[tuple[str, bool], list[tuple[str, str]]]:
        """The elements asked for by the document's name, if it may be one that is asked for.

        With the name comes whether it is from within.
        """
        inside = named_inside(item, self.name_tag)
        archive = archive and not inside
        extension = "" if item.kind == LINE else item.place.removeprefix(name_of(item.place))
        names = [*_names(item.name, archive=archive, extension=extension)]
        if not inside and not any(name in asked for name in names):
            return {}
        texts: list[str] = []
        recorder = Recorder(limits=self.limits, on_text=texts.append)
        add_item(item, recorder, self.name_tag)
        batch = recorder.batch()
        (doc,) = batch.documents
        names = [*_names(doc, archive=archive, extension=extension)]
        fit = [name for name in names if name in asked]
        if not fit:
            return {}
        xpaths: list[str] = []
        for parent, tag, ordinal in zip(
            batch.paths.parent.tolist(),
            batch.paths.tag.tolist(),
            batch.paths.ordinal.tolist(),
            strict=True,
        ):
            above = xpaths[parent] if parent >= 0 else ""
            xpaths.append(f"{above}/{batch.paths.tags[tag]}[{ordinal}]")
        spans = zip(batch.path.tolist(), batch.start.tolist(), batch.end.tolist(), strict=True)
        wanted = [any(asked[name](xpath) for name in fit) for xpath in xpaths]
        return {(doc, inside): [(xpaths[i], texts[0][s:e]) for i, s, e in spans if wanted[i]]}


def _names(name: str, *, archive: bool, extension: str = "") -> Iterator[str]:
    """Yield the names of a document: in an archive also its place below any folder.

    Each comes with the extension of its file, too.
    """
    yield from dict.fromkeys((name, name + extension))
    while archive and "/" in name:
        name = name.partition("/")[2]
        yield from dict.fromkeys((name, name + extension))
