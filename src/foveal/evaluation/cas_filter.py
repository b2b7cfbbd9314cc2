"""The filter of CAS topics from the options of evaluations and conversions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import polars as pl

from foveal.collection import SourceTexts
from foveal.errors import UsageError
from foveal.evaluation.preparation import Options
from foveal.formats import read_judgements, read_topics
from foveal.measures.alignment import Bools
from foveal.model import Judgements, Topics
from foveal.nexi import IEEE_CLASSES
from foveal.recall.cas_topics import select_elements
from foveal.spans import Ints


def parse_tag_classes(texts: Iterable[str]) -> tuple[frozenset[str], ...]:
    """Parse classes of equivalent tags, given by name or as ``sec=ss1=ss2``.

    >>> [sorted(tags) for tags in parse_tag_classes(["sec=ss1"])]
    [['sec', 'ss1']]
    >>> parse_tag_classes(["ieee"]) == IEEE_CLASSES
    True
    """
    found: list[frozenset[str]] = []
    for text in texts:
        tags = [tag.strip() for tag in text.split("=")]
        if text == "ieee":
            found += IEEE_CLASSES
        elif len(tags) < 2 or not all(tags):
            expected = "expected ieee, or tags as in sec=ss1=ss2"
            raise UsageError(f"{text!r} is not a class of tags; {expected}")
        else:
            found.append(frozenset(tags))
    return tuple(found)


@dataclass(frozen=True)
class CasFilter:
    """Selects the assessed elements that match the structured queries of their topics."""

    reading: str
    topics: Topics
    support: Judgements | None = None  # judgements of the sub-topics
    classes: tuple[frozenset[str], ...] = ()
    texts: SourceTexts | None = None

    @classmethod
    def from_options(cls, options: Options, topics: Topics | None = None) -> CasFilter | None:
        """Return the filter of the options, None without one; `topics` saves reading the file."""
        if options.name_from and not options.documents:
            raise UsageError("--name-from is for --documents, which is not given")
        if options.cas is None:
            for name in ("support_judgements", "documents", "tag_classes"):
                if getattr(options, name):
                    raise UsageError(f"--{name.replace('_', '-')} is for --cas, which is not given")
            return None
        if topics is None and options.topics_file is not None:
            topics = read_topics(options.topics_file)
        if topics is None:
            raise UsageError("--cas needs the topics' queries; give them (--topics-file)")
        support = texts = None
        if options.support_judgements:
            support = read_judgements(list(options.support_judgements)).combined()
        if options.documents is not None:
            texts = SourceTexts(options.documents, name_tag=options.name_from)
        return cls(options.cas, topics, support, parse_tag_classes(options.tag_classes), texts)

    def __call__(self, judgements: Judgements, row: Ints, xpath: pl.Series) -> Bools:
        """Mark the elements to keep, each given by its judgement and XPath."""
        return select_elements(
            self.reading,
            self.topics,
            judgements,
            row,
            xpath,
            support=self.support,
            classes=self.classes,
            texts=self.texts,
        )


def describe_unknown_tags(
    tags: Iterable[str],
    known: Iterable[str],
    classes: Iterable[frozenset[str]] = (),
    *,
    where: str = "element of the collection",
) -> list[str]:
    """Return a message for each tag that is not known, nor any tag of its classes.

    >>> describe_unknown_tags(["p", "lnik"], ["link", "p"])
    ["no element of the collection has the tag 'lnik'; did you mean 'link'?"]
    """
    names, messages = sorted(set(known)), []
    for tag in dict.fromkeys(tags):
        if not {tag}.union(*(group for group in classes if tag in group)).intersection(names):
            near = get_close_matches(tag, names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            messages.append(f"no {where} has the tag {tag!r}{hint}")
    return messages
