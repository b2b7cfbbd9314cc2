"""The texts of documents and elements, read from the source of a collection.

An index holds no text. Only documents that are asked for are parsed, as safely as for an index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Collection as Names
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foveal.collection.element_index import Collection, PathIndex
from foveal.collection.parsing import Batch, Keep, Markup, Recorder
from foveal.collection.sources import LINE, DocumentSource, Item, find_name
from foveal.errors import InputError, Problem
from foveal.files.source import explain_os_error
from foveal.files.xml import DocumentError, Limits

_LINES = (".jsonl", ".ndjson")


class Text(NamedTuple):
    """The text of one document."""

    doc: str
    text: str
    as_indexed: bool | None = None  # True if the index has the hash of this text; None without one


@dataclass(frozen=True)
class SourceTexts:
    """The texts of the documents that a collection was indexed from.

    `source` and `name_tag` are as for ``foveal index``. A document may be asked for with the
    extension of its file, too. `read` compares texts with the hashes of an `index`. `keep` tells
    which attributes come with the mark-up.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "d.txt").write_text("To be")
    >>> [*SourceTexts(folder).read({"d", "e"})]
    [Text(doc='d', text='To be', as_indexed=None)]
    """

    source: str | Path
    name_tag: str | None = None
    limits: Limits = field(default_factory=Limits)
    whitespace: str = "keep"
    index: Collection | None = None
    keep: Keep | None = None

    def __call__(
        self, asked: Mapping[str, Callable[[str], bool]]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield document, XPath and text of the elements whose XPath the function in `asked` wants.

        `asked` has such a function for each document.
        """
        left = dict(asked)
        for names, text, _, batch, _ in self._read(asked) if left else ():
            xpaths = PathIndex(batch.paths).texts(np.arange(len(batch.paths.parent))).to_list()
            for name in left.keys() & names:
                wanted = [*map(left.pop(name), xpaths)]
                columns = (batch.path.tolist(), batch.start.tolist(), batch.end.tolist())
                spans = zip(*columns, strict=True)
                yield from ((name, xpaths[i], text[s:e]) for i, s, e in spans if wanted[i])
            if not left:
                return
        if left:
            message = f"holds no document {min(left)!r}, which is judged"
            raise InputError.at("collection.unknown_document", str(self.source), None, message)

    def read_indexed(
        self, digests: Mapping[str, bytes], *, progress: Callable[[float], object] | None = None
    ) -> Iterator[tuple[str, str, Markup]]:
        """Yield name, text and mark-up of the documents with these hashes.

        `progress` is called with the share of the source done.
        """
        left = dict(digests)
        found = self._read(digests, progress=progress) if left else ()
        for (name, _), text, _, batch, recorder in found:
            if left.get(name) == batch.digests:
                del left[name]
                yield name, text, recorder.markup()
            if not left:
                return
        if left:
            code, place = "document.changed", str(self.source)
            texts = (f"holds no document {name!r} with the text that was indexed" for name in left)
            raise InputError(Problem(code, place, None, text) for text in texts)

    def read(
        self,
        docs: Names[str],
        *,
        every: bool = False,
        markup: dict[str, Markup] | None = None,
    ) -> Iterator[Text]:
        """Yield the texts of the documents that the source has, each under the name asked for.

        With `every`, all other documents come as well, under their own names. `markup` is filled
        with the elements and attributes of the documents.
        """
        indexed = None if self.index is None else self.index.digests()
        found: dict[str, tuple[bytes, str]] = {}
        for names, text, place, batch, recorder in self._read(docs, every=every):
            digest = batch.digests
            asked = [name for name in dict.fromkeys(names) if name in docs]
            for name in asked or [names[names[0] in found]]:
                first, other = found.setdefault(name, (digest, place))
                if first != digest:
                    message = f"a second, other text of document {name!r}, the first is {other}"
                    raise InputError.at("document.duplicate", place, None, message)
                if place == other:
                    same = None if indexed is None else digest == indexed.get(names[0])
                    if markup is not None:
                        markup[name] = recorder.markup()
                    yield Text(name, text, same)

    def _read(
        self,
        docs: Names[str],
        *,
        every: bool = False,
        progress: Callable[[float], object] | None = None,
    ) -> Iterator[tuple[tuple[str, str], str, str, Batch, Recorder]]:
        """Yield the documents of these names, with or without extension, or `every` document.

        Each comes as its names (without and with extension), its text, its place, its elements, and
        the recorder that knows its mark-up.
        Documents that cannot be read are an error when the source was read to its end.
        """
        source = DocumentSource(Path(self.source))
        failures: list[Problem] = []

        def is_asked(*names: str) -> bool:
            return every or any(name in docs for name in names)

        try:
            # Names of documents leave out the folders that hold everything in an archive.
            for _ in source.tasks(self.limits.size) if source.is_archive else ():
                pass
            for task in source.tasks(self.limits.size):
                # Of a directory, only files that may hold a document asked for are opened.
                chosen = tuple(
                    document
                    for document in task.documents
                    if self.name_tag is not None
                    or isinstance(document, Item)
                    or document.lower().endswith(_LINES)
                    or is_asked(find_name(document), document)
                )
                for item in replace(task, documents=chosen).read(self.limits.size):
                    inside = item.is_named_inside(self.name_tag)
                    known = len(item.place if item.kind == LINE else find_name(item.place))
                    extension = item.place[known:]
                    name = item.name.removeprefix(source.folder)
                    if not (inside or is_asked(name, name + extension)):
                        continue
                    recorder = Recorder(
                        whitespace=self.whitespace, limits=self.limits, keep=self.keep
                    )
                    try:
                        text = item.record(recorder, self.name_tag)
                    except DocumentError as error:
                        failures.append(error.at(item.place))
                        continue
                    batch = recorder.batch()
                    name = batch.documents[0] if inside else name
                    names = name, name + extension
                    if is_asked(*names):
                        yield names, text, item.place, batch, recorder
                if progress is not None:
                    progress(task.done)
        except OSError as error:
            raise explain_os_error(error, str(error.filename or source.path)) from None
        if failures:
            raise InputError(failures)
