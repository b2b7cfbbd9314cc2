"""Groups of topics: read them from a file, and add the means of each group to results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from foveal.errors import InputError, Problem, UsageError, shorten_list
from foveal.files.source import Source
from foveal.measures import parse_measure
from foveal.model.results import Results
from foveal.model.run import ALL
from foveal.spans import Floats

Groups = Mapping[str, Iterable[str]]  # the topics of each group by its name
FEWEST_TOPICS = 5  # a group with fewer topics is scored, but nothing is concluded from it


class _TopicLine(msgspec.Struct):
    topic: str | int
    groups: str | list[str]


def read_groups(path: str | Path | Source) -> dict[str, tuple[str, ...]]:
    r"""Read groups of topics: lines ``topic<TAB>group``, or JSON Lines with topic and groups.

    A topic may be in several groups: on several lines, or in a list. Empty lines, lines that begin
    with ``#`` and a first line ``topic<TAB>group`` are skipped.

    >>> read_groups(Source.of_text("1\tshort\n2\tshort\n2\tlegal\n"))
    {'short': ('1', '2'), 'legal': ('2',)}
    >>> read_groups(Source.of_text('{"topic": 7, "groups": ["short", "legal"]}'))
    {'short': ('7',), 'legal': ('7',)}
    """
    source = path if isinstance(path, Source) else Source.open(path)
    source.check_utf8()
    groups: dict[str, dict[str, None]] = {}
    problems: list[Problem] = []
    for number, line in enumerate(source.data.decode().split("\n"), 1):
        text = line.strip("\r\ufeff ")
        if not text.strip() or text.startswith("#"):
            continue
        try:
            if text.startswith("{"):
                found = msgspec.json.decode(text, type=_TopicLine)
                topic = str(found.topic)
                names = [found.groups] if isinstance(found.groups, str) else found.groups
            else:
                topic, *names = (field.strip() for field in text.split("\t"))
                if number == 1 and (topic, *names) == ("topic", "group"):
                    continue
                if len(names) != 1:
                    raise ValueError("expected a topic, a tab and a group")
            if not (topic and all(names)):
                raise ValueError("the topic or the group is empty")
            if ALL in names:
                raise ValueError(
                    f"a group may not be called {ALL!r}: results use it for all topics"
                )
        except ValueError as error:
            problems.append(Problem("groups.line", source.path, number, str(error)))
            continue
        for name in names:
            groups.setdefault(name, {})[topic] = None
    if problems:
        raise InputError(problems)
    if not groups:
        raise source.error("groups.line", None, "the file holds no group of topics")
    return {name: tuple(topics) for name, topics in groups.items()}


def add_groups(results: Results, groups: Groups | str | Path) -> Results:
    """Add the scores of each group of topics, as measures ``AiP[group]``.

    Such a measure has the scores of the topics of the group and no others, so that its mean is the
    mean over the group, and comparisons and gates by it are about the group. Groups that the
    results have already are replaced.

    >>> rows = [("a", "1", "AP", 0.5), ("a", "2", "AP", 0.25), ("a", "all", "AP", 0.375)]
    >>> found = add_groups(Results.from_tidy(rows, {}), {"short": ["2", "9"]})
    >>> found["a", "AP[short]"], found.meta["groups"]
    (0.25, {'short': ['2']})
    """
    results = results.without_groups()
    named = read_groups(groups) if isinstance(groups, (str, Path)) else groups
    given = {name: list(dict.fromkeys(topics)) for name, topics in named.items()}
    scored = {name: [t for t in results.topics if t in own] for name, own in given.items()}
    if not any(scored.values()):
        known = shorten_list(sorted({topic for own in given.values() for topic in own}))
        raise UsageError(
            f"no topic of --groups is scored; the groups have {known or 'none'}, the results "
            f"{shorten_list(results.topics)}"
        )
    others = sorted({t for own in given.values() for t in own}.difference(results.topics))
    members = {name: own for name, own in scored.items() if own}
    empty = [name for name in given if name not in members]
    few = [f"{name} ({len(own)})" for name, own in members.items() if len(own) < FEWEST_TOPICS]
    notes = {
        f"topics of --groups that are not scored, {len(others)}": others,
        "groups without a scored topic, left out": empty,
        f"groups with fewer than {FEWEST_TOPICS} topics, too few to say much": few,
    }
    warnings = [f"{text}: {shorten_list(names)}" for text, names in notes.items() if names]
    labels, values, overall = list[str](), list[Floats](), list[Floats]()
    for k, label in enumerate(results.measures):
        labels.append(label)
        values.append(results.values[:, :, k])
        overall.append(results.overall[:, k])
        summed = False
        with suppress(UsageError):  # of a package that is not installed here
            summed = parse_measure(label).summed
        for name, own in members.items():
            inside = np.isin(results.topics, own)
            part = np.where(inside, results.values[:, :, k], np.nan)
            used = results.counted & ~np.isnan(part)
            total, number = np.where(used, part, 0.0).sum(axis=1), used.sum(axis=1)
            if not summed:
                total = np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0)
            labels.append(f"{label}[{name}]")
            values.append(part)
            overall.append(total)
    lower = [label for label in labels if label.partition("[")[0] in results.lower_is_better]
    meta = dict(results.meta) | {"groups": members}
    meta["warnings"] = [*results.meta.get("warnings", ()), *warnings]
    if lower:
        meta["lower_is_better"] = lower
    bounds = results.bounds and results.bounds.map(lambda own: add_groups(own, members))
    return replace(
        results,
        measures=tuple(labels),
        values=np.stack(values, axis=2),
        overall=np.stack(overall, axis=1),
        meta=meta,
        bounds=bounds,
    )
