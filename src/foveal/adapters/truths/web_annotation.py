"""W3C Web Annotations: targets by position or quotation, each body a topic, creators assessors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foveal.adapters.alignment import Normalised
from foveal.adapters.truths.building import Evidence, Gold, Question
from foveal.adapters.truths.objects import Node, document
from foveal.files.source import Source

__all__ = ["looks_like", "read"]

_POSITION, _QUOTE = "TextPositionSelector", "TextQuoteSelector"
_ABOUT = ("identifying", "classifying", "tagging")
"""Purposes of a body that names the topic; where none has one, the first body does."""


def looks_like(source: Source) -> bool:
    """Whether something is selected by position or quotation."""
    return b'"selector"' in source.data and (
        _POSITION.encode() in source.data or _QUOTE.encode() in source.data
    )


def read(source: Source, texts: Mapping[str, str] | None) -> Gold:
    """A topic is what the body says, a document is called as the source of the target.

    Positions count code points, as the recommendation has it. Several selectors of one target
    say the same in different ways: the position is taken and the quotation checked. A quotation
    without a position takes the texts, and must be there once, with its prefix and suffix.
    """
    topics: dict[str, Question] = {}
    for annotation in _annotations(document(source)):
        name = _topic(annotation)
        question = topics.setdefault(name, Question(name, name, annotation.line, annotation.path))
        for target in _several(annotation["target"]):
            question.evidence.append(_evidence(target, _creator(annotation), texts))
    return Gold(topics.values(), texts)


def _annotations(root: Node) -> Iterator[Node]:
    """The annotations of a file: one, a list, a page, or the first page of a collection."""
    if type(root.value) is list:
        yield from root
        return
    page = root.get("first") or root
    items = page.get("items")
    if items is None:
        yield page
    else:
        yield from items


def _several(node: Node) -> list[Node]:
    """The values of a list, or the one value that stands for itself."""
    return list(node) if type(node.value) is list else [node]


def _topic(annotation: Node) -> str:
    bodies = _several(annotation["body"])
    chosen = next(
        (
            body
            for body in bodies
            if type(body.value) is dict and body.value.get("purpose") in _ABOUT
        ),
        bodies[0] if bodies else None,
    )
    if chosen is None:
        raise annotation["body"].fail("the body is empty; expected what the annotation is about")
    if type(chosen.value) is str:
        return chosen.text
    words = chosen.get("value") or chosen.get("id")
    if words is None:
        raise chosen.fail("'value' is missing; expected the topic of the annotation")
    return words.text


def _creator(annotation: Node) -> str | None:
    creator = annotation.get("creator")
    if creator is None or type(creator.value) is str:
        return None if creator is None else creator.text
    named = creator.get("name") or creator.get("id")
    return None if named is None else named.text


def _evidence(target: Node, creator: str | None, texts: Mapping[str, str] | None) -> Evidence:
    doc = target["source"].text
    text = None if texts is None else texts.get(doc)
    start, end, quote = _place(_several(target["selector"]), doc, text, 0, None)
    exact = None if quote is None else quote["exact"].text
    prefix, suffix = (
        None if quote is None else quote.optional_text(name) for name in ("prefix", "suffix")
    )
    if text is not None and exact is not None and text[start:end] != exact:
        # Found only when white space does not matter: what is there is the quotation.
        exact = text[start:end] if _same_words(text[start:end], exact) else exact
    return Evidence(
        doc,
        start,
        end,
        target.path,
        quote=exact,
        prefix=prefix,
        suffix=suffix,
        assessor=creator,
    )


def _same_words(one: str, other: str) -> bool:
    return Normalised(one).text.strip() == Normalised(other).text.strip()


def _place(
    selectors: list[Node], doc: str, text: str | None, start: int, end: int | None
) -> tuple[int, int, Node | None]:
    """Where the selectors lead to within a part of the text, and the quotation if there is one."""
    kinds = {selector["type"].text: selector for selector in selectors}
    position, quote = kinds.get(_POSITION), kinds.get(_QUOTE)
    if position is None and quote is None:
        where = selectors[0] if selectors else None
        known = f"{_POSITION} or {_QUOTE}"
        if where is None:
            raise ValueError(f"no selector; expected {known}")  # pragma: no cover - see _several
        raise where.fail(f"a {where['type'].text} cannot be placed; expected {known}")
    if position is not None:
        found = start + position["start"].number, start + position["end"].number
        if end is not None and found[1] > end:
            raise position.fail(f"it ends {found[1] - end} characters after what it refines")
    else:
        assert quote is not None
        found = _quoted(quote, doc, text, start, end)
    finer = next(
        (s["refinedBy"] for s in (position, quote) if s is not None and s.get("refinedBy")), None
    )
    if finer is None:
        return *found, quote
    return _place(_several(finer), doc, text, *found)


def _quoted(
    quote: Node, doc: str, text: str | None, start: int, end: int | None
) -> tuple[int, int]:
    """The one place of a quotation; prefix and suffix choose among several."""
    if text is None:
        raise quote.fail(
            f"a quotation takes the text of document {doc!r} to be placed (--texts), or a "
            f"{_POSITION} beside it"
        )
    exact, part = quote["exact"].text, text[start:end]
    places = [at for at in range(len(part)) if part.startswith(exact, at)] if exact else []
    spans = [(at, at + len(exact)) for at in places] or Normalised(part).find(exact)
    prefix, suffix = quote.optional_text("prefix") or "", quote.optional_text("suffix") or ""
    if len(spans) > 1:
        spans = [
            (a, b) for a, b in spans if part[:a].endswith(prefix) and part[b:].startswith(suffix)
        ]
    if len(spans) != 1:
        how = "is not there" if not spans else f"is there {len(spans)} times"
        where = f"document {doc!r}" if end is None else f"[{start},{end}) of document {doc!r}"
        more = "" if prefix or suffix or not spans else "; prefix and suffix would tell"
        raise quote.fail(f"the quotation {exact[:40]!r} {how} in {where}{more}")
    return start + spans[0][0], start + spans[0][1]
