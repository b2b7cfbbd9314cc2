"""Topics: the information needs of a campaign, in words and where given in structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from html import escape

import polars as pl

from foveal.errors import InputError, UsageError
from foveal.files.source import Provenance
from foveal.model.run import FromFiles

KINDS = ("CO", "CAS", "CO+S")
"""Content only; content and structure; content only with a structured variant."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One information need; fields are as its file has them, and None where it does not."""

    id: str
    title: str | None = None
    """Words, ``+term``, ``-term`` and quoted phrases; a NEXI query in CAS topics of 2003/04."""
    castitle: str | None = None
    """The need as a NEXI query."""
    description: str | None = None
    narrative: str | None = None
    keywords: str | None = None
    phrasetitle: str | None = None
    parent: str | None = None
    """The topic that a sub-topic was made from."""
    query_type: str | None = None
    ct_no: str | None = None
    """The number of the candidate topic."""

    @property
    def kind(self) -> str:
        """``CO``, ``CAS`` or ``CO+S``: as declared, else by the fields of the topic."""
        if self.query_type in KINDS:
            return self.query_type
        if self.castitle is not None and self.title is not None:
            return "CO+S"
        return "CAS" if self.structure is not None else "CO"

    @property
    def structure(self) -> str | None:
        """The castitle, or the title if that is a path itself."""
        if self.castitle is None and (self.title or "").startswith("/"):
            return self.title
        return self.castitle


@dataclass(frozen=True, eq=False)
class Topics(FromFiles):
    """Topics in the order of their files.

    >>> topics = Topics.of([Topic("1", title="yoga"), Topic("2", castitle="//p[about(., sea)]")])
    >>> topics["1"].title, topics.kinds
    ('yoga', {'1': 'CO', '2': 'CAS'})
    """

    topics: tuple[Topic, ...]
    line: tuple[int, ...]
    file: tuple[int, ...]
    """The origin of each topic: line number and index into `sources`."""
    sources: tuple[Provenance, ...]
    unread: Mapping[str, int] | None = None
    """Contents of the files that are not kept here, and how often they occur."""

    def __post_init__(self) -> None:
        first: dict[str, int] = {}
        problems = []
        for i, name in enumerate(self.ids):
            if first.setdefault(name, i) < i:
                text = f"topic {name!r} is already given {self.describe_place(first[name], i)}"
                problems.append(self.problem("topics.repeated", i, text))
        if problems:
            raise InputError(problems)

    @classmethod
    def of(
        cls,
        topics: Iterable[Topic],
        *,
        line: Sequence[int] | None = None,
        source: Provenance | None = None,
    ) -> Topics:
        """Return topics of one source, on lines 1, 2, ... unless their lines are given."""
        every = tuple(topics)
        lines = tuple(range(1, len(every) + 1) if line is None else line)
        return cls(every, lines, (0,) * len(every), (source or Provenance("topics"),))

    @classmethod
    def merged(cls, parts: Sequence[Topics]) -> Topics:
        """Return several files as one set; only one of them may give a topic."""
        shifts = [sum(len(part.sources) for part in parts[:i]) for i in range(len(parts))]
        return cls(
            tuple(topic for part in parts for topic in part.topics),
            tuple(line for part in parts for line in part.line),
            tuple(n + shift for part, shift in zip(parts, shifts, strict=True) for n in part.file),
            tuple(source for part in parts for source in part.sources),
            sum((Counter(part.unread) for part in parts), Counter[str]()) or None,
        )

    def __len__(self) -> int:
        return len(self.topics)

    def __iter__(self) -> Iterator[Topic]:
        return iter(self.topics)

    def __getitem__(self, name: str) -> Topic:
        if name not in self._by_id:
            raise UsageError(f"no topic {name!r} among the {len(self)} topics")
        return self._by_id[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_id

    def _repr_html_(self) -> str:
        return f"{escape(repr(self))}{self.to_frame()._repr_html_()}"

    def __repr__(self) -> str:
        return f"<Topics: {len(self)} topics>"

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the topics."""
        return tuple(topic.id for topic in self.topics)

    @cached_property
    def _by_id(self) -> dict[str, Topic]:
        return dict(zip(self.ids, self.topics, strict=True))

    @property
    def kinds(self) -> dict[str, str]:
        """Topic to ``CO``, ``CAS`` or ``CO+S``."""
        return {topic.id: topic.kind for topic in self.topics}

    @property
    def castitles(self) -> dict[str, str]:
        """Topic to its structured query, for those that have one."""
        return {t.id: t.structure for t in self.topics if t.structure is not None}

    def to_frame(self) -> pl.DataFrame:
        """Return a row per topic, with a column for each of its fields."""
        schema = {field.name: pl.String for field in fields(Topic)}
        return pl.DataFrame([asdict(topic) for topic in self.topics], schema=schema)
