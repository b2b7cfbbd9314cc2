"""Match NEXI paths with elements.

A path matches an element if the tags from the root down to it hold the steps in order and the
last step is the element itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foveal.nexi.query import Path

IEEE_CLASSES: tuple[frozenset[str], ...] = (
    frozenset({"sec", "ss1", "ss2", "ss3"}),
    frozenset({"p", "p1", "p2", "p3", "ip1", "ip2", "ip3", "ip4", "ip5", "ilrj", "item-none"}),
)
"""Tags that the IEEE collection uses for one thing: sections, and paragraphs."""


def list_tags(xpath: str) -> tuple[str, ...]:
    """Return the tags of an XPath, without ordinals.

    >>> list_tags("/article[1]/bdy[1]/sec[2]")
    ('article', 'bdy', 'sec')
    """
    return tuple(step.partition("[")[0] for step in xpath.strip("/").split("/"))


def matches(path: Path, tags: Sequence[str], classes: Iterable[frozenset[str]] = ()) -> bool:
    """Return True if `path` matches the element whose tags from the root down are `tags`.

    Parameters
    ----------
    path : Path
    tags : sequence of str
    classes : iterable of sets of tags, optional
        Tags of one class count as the same tag.

    Examples
    --------
    >>> from foveal.nexi import parse
    >>> path = parse("//article//sec[about(., x)]").target
    >>> matches(path, ["article", "bdy", "sec"]), matches(path, ["article", "bdy", "sec", "p"])
    (True, False)
    >>> matches(path, ["article", "bdy", "ss1"], IEEE_CLASSES)
    True
    """
    groups = tuple(classes)
    alike = [{tag}.union(*(group for group in groups if tag in group)) for tag in tags]
    steps = path.steps
    if steps and steps[-1].attribute:
        return False
    # reach[i]: the steps so far can end at the i-th tag; before any step, above the root.
    reach = [True] + [False] * len(tags)
    for step in steps:
        following = [False] * (len(tags) + 1)
        above = False
        for i, names in enumerate(alike):
            above = above or reach[i]
            from_here = reach[i] if step.child else above
            following[i + 1] = from_here and any(step.accepts(tag) for tag in names)
        reach = following
    return bool(steps) and reach[-1]
