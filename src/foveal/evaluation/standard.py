"""What runs are scored against, wherever that is: other processes prepare the same from the files.

Prepared judgements are large, and the same for all runs. Threads share them. To another process
only the names of files and the options travel; it reads them once, sees by their hashes that they
are what the client read, and keeps the result for its next task. Processes on the same machine need
not even do that: what the client prepared is kept for them in a file.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from foveal.errors import InputError
from foveal.evaluation.large_truth import JudgedSlices
from foveal.evaluation.options import Options
from foveal.evaluation.streaming import truth_of
from foveal.evaluation.truth import Truth
from foveal.formats import is_stream
from foveal.measures import Measure
from foveal.measures.alignment import Gold
from foveal.model import Judgements, Provenance

__all__ = ["Part", "Standard"]

_KEPT = 2
"""Standards that a process keeps: the present one, and one more for who takes turns."""

Given = Judgements | str | Path | Sequence[str | Path]


class Part(NamedTuple):
    """Judgements of one assessor, or of all together, and the topics that are not evaluated."""

    assessor: str | None
    judged: Gold | JudgedSlices
    left_out: frozenset[str]


@dataclass(frozen=True)
class _Recipe:
    """How a process comes to the parts; small unless the judgements are in no file."""

    judgements: tuple[str, ...] | bytes
    """Names of files, or pickled `Judgements`."""
    options: Options
    collection: str | None
    measures: tuple[Measure, ...]
    sources: tuple[tuple[str, Provenance], ...]
    """All that the client read, by kind."""
    folder: str
    """Where relative names begin."""
    memory: int | None = None
    """What reading may take."""
    kept: str | None = None
    """A file on this machine that holds the pickled parts."""

    key: bytes = b""
    """The hash of all that."""

    def keyed(self) -> _Recipe:
        return replace(self, key=hashlib.sha256(pickle.dumps(self)).digest())

    def prepare(self) -> tuple[Part, ...]:
        """What the client has kept, or made again of what it read."""
        if self.kept is not None:
            try:
                with Path(self.kept).open("rb") as file:
                    parts: tuple[Part, ...] = pickle.load(file)  # noqa: S301 - of our own client
            except FileNotFoundError:  # whoever clears the folder for temporary files
                if not self.judgements:
                    raise
            else:
                return parts
        return self._made()

    def _made(self) -> tuple[Part, ...]:
        """Read what the client read, and make the same of it."""
        own = self.options
        options = replace(
            own,
            topics_file=self._place(own.topics_file),
            support_judgements=tuple(map(self._placed, own.support_judgements)),
            documents=self._place(own.documents),
        )
        files = self.judgements
        given = (
            pickle.loads(files)  # noqa: S301 - from our own client
            if isinstance(files, bytes)
            else [self._placed(file) for file in files]
        )
        place = self._place(self.collection)
        try:
            truth = truth_of(given, options, place, self.measures, self.memory)
        except InputError as error:
            raise self._explained(error) from None
        self._check(tuple(truth.sources))
        # Messages name files as the user did.
        named = tuple(source for kind, source in self.sources if kind == "judgements")
        truth.judgements = replace(truth.judgements, sources=named)
        return parts_of(truth, self.measures)

    def _explained(self, error: InputError) -> InputError:
        """The client has read these files, so one that cannot be read is not what it was.

        A file that is not there at all is left as it is: perhaps it is only not seen from here.
        """
        first = error.problems[0]
        if first.message != "no such file":
            for _, seen in self.sources:
                if self._placed(seen.path) == first.file:
                    return _changed(seen)
        return error

    def _check(self, found: tuple[tuple[str, Provenance], ...]) -> None:
        for (_, seen), (_, read) in zip(self.sources, found, strict=False):
            if seen.sha256 != read.sha256:
                raise _changed(seen)
        if len(self.sources) != len(found):  # of a directory that has gained or lost a file
            raise _changed(self.sources[min(len(found), len(self.sources) - 1)][1])

    def _placed(self, name: str) -> str:
        return located(name, self.folder)

    def _place(self, name: str | None) -> str | None:
        return None if name is None else self._placed(name)


def _changed(source: Provenance) -> InputError:
    return InputError.at(source.path, None, "changed while runs were being scored; start again")


def located(name: str, folder: str) -> str:
    """A file of the client from here: as it is where both are in the same folder.

    >>> Path(located("a.run", "client")).parts
    ('client', 'a.run')
    """
    return name if folder == str(Path.cwd()) else str(Path(folder) / name)


def parts_of(truth: Truth, measures: Sequence[Measure]) -> tuple[Part, ...]:
    """The judgements of each assessor as the measures need them."""
    parts = []
    for assessor in truth.assessors:
        judged = truth.judged(assessor, measures)
        left_out = truth.every_topic - frozenset(judged.judgements.topics)
        parts.append(Part(assessor, judged, left_out))
    return tuple(parts)


class Standard:
    """Prepared judgements that may travel.

    Within a process it holds what the client prepared. Pickled it is a recipe, and what comes out
    of the pickle prepares itself where it is used first, not where it passes through.
    """

    def __init__(self, recipe: _Recipe | None, parts: tuple[Part, ...] | None) -> None:
        self._recipe = recipe
        self._parts = parts
        self._given: Judgements | None = None
        self._kept: str | None = None

    @classmethod
    def of(
        cls,
        truth: Truth,
        measures: tuple[Measure, ...],
        given: Given,
        collection: str | Path | None,
        memory: int | None = None,
    ) -> Standard:
        """Of what was read from `given`; the recipe for it is written only when it is to travel."""
        own = cls(None, parts_of(truth, measures))
        options = truth.options
        files = [given] if isinstance(given, (str, Path)) else given
        others = [*options.support_judgements, *filter(None, [options.topics_file])]
        if any(map(is_stream, others)):  # they can be read only once, so the parts travel
            return own
        if isinstance(files, Judgements):
            own._given = files
        own._recipe = _Recipe(
            judgements=b"" if isinstance(files, Judgements) else tuple(map(str, files)),
            options=options,
            collection=None if collection is None else str(collection),
            measures=measures,
            sources=tuple(truth.sources),
            folder=str(Path.cwd()),
            memory=memory,
        )
        return own

    def keep_in(self, folder: str) -> None:
        """Keep the parts there for processes of this machine, if there is room for them.

        To be done before anybody works with them: who does adds what he has calculated. Judgements
        in slices are not kept: a slice at a time is all that is to be in memory.
        """
        if any(isinstance(part.judged, JudgedSlices) for part in self.parts):
            return
        file = Path(folder) / "standard"
        try:
            with file.open("wb") as opened:
                pickle.dump(self.parts, opened, protocol=pickle.HIGHEST_PROTOCOL)
        except OSError:  # then others read what this process has read
            file.unlink(missing_ok=True)
        else:
            self._kept = str(file)

    @property
    def parts(self) -> tuple[Part, ...]:
        if self._parts is None:
            assert self._recipe is not None
            self._parts = _prepared(self._recipe)
        return self._parts

    @cached_property
    def _travelling(self) -> _Recipe | None:
        if self._recipe is None and self._kept is not None:
            return _Recipe(b"", Options(), None, (), (), str(Path.cwd()), kept=self._kept).keyed()
        if self._recipe is None or self._recipe.key:
            return self._recipe
        if self._kept is not None:
            return replace(self._recipe, kept=self._kept).keyed()
        if self._given is None:
            return self._recipe.keyed()
        return replace(self._recipe, judgements=pickle.dumps(self._given)).keyed()

    def __reduce__(self) -> tuple[Any, ...]:
        recipe = self._travelling
        return Standard, (recipe, None if recipe is not None else self._parts)


_prepared_before: OrderedDict[bytes, tuple[Part, ...]] = OrderedDict()
_preparing = Lock()
"""Threads of one worker wait for the first that reads, and take what it made."""


def _prepared(recipe: _Recipe) -> tuple[Part, ...]:
    """What the recipe makes; the same again from memory."""
    with _preparing:
        parts = _prepared_before.pop(recipe.key, None) or recipe.prepare()
        _prepared_before[recipe.key] = parts
        while len(_prepared_before) > _KEPT:
            _prepared_before.popitem(last=False)
    return parts
