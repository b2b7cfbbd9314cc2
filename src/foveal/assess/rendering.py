"""Documents as data for a page: text, elements, their roles and looks.

The data holds no mark-up. Of attributes it holds numbers, known words and names of images, each
checked here. A page builds its own elements and puts pieces of the text into them. So no script in
a document can run, and offsets count on the text of the page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foveal.assess.documents import AssessedDocument, Elements, add_markup
from foveal.assess.vocabularies import (
    INLINE,
    MATHML,
    find_roles,
    find_vocabulary,
    local_name,
    words,
)

Looks = defaultdict[int, dict[str, Any]]
"""How elements look beyond their role, by their number."""

_LONGEST = 1000
"""Largest number of characters of an attribute that is kept."""
_MOST_SPANNED = 1000
"""Largest number of columns or rows that a cell spans."""

# -- attributes to keep when a document is stored -------------------------------------------------

_LISTS = words("list ol ul itemizedlist orderedlist")
_IMAGES = words("graphic inline-graphic img image imagedata art figure")
_ALWAYS = words(
    "dir colspan rowspan namest nameend spanname colname colnum morerows align valign rend"
)
_OF_LISTS = words("list-type type numeration start")
_SOURCES = ("href", "src", "url", "fileref", "file")
_CHECKS: dict[str, str] = {
    **dict.fromkeys(
        words(
            "displaystyle stretchy symmetric largeop movablelimits fence separator accent "
            "accentunder bevelled"
        ),
        "true|false",
    ),
    **dict.fromkeys(
        words("lspace rspace minsize maxsize linethickness width height depth voffset"),
        r"[+-]?\d*\.?\d+(em|ex|px|pt|pc|cm|mm|in|%)?|thin|medium|thick",
    ),
    "scriptlevel": r"[+-]?\d",
    "rowspan": r"[1-9]\d{0,2}",
    "columnspan": r"[1-9]\d{0,2}",
    "mathvariant": "normal|bold|italic|bold-italic|double-struck|script|bold-script|fraktur|"
    "bold-fraktur|sans-serif|bold-sans-serif|monospace",
    "form": "prefix|infix|postfix",
    "display": "block|inline",
    "dir": "ltr|rtl",
    "open": ".{0,3}",
    "close": ".{0,3}",
    "separators": ".{0,5}",
}
"""Attributes of MathML and what they may hold."""


def keep_attributes(tag: str, attributes: Sequence[str]) -> dict[str, str]:
    """Return the attributes of an element that pages use, without prefixes.

    >>> keep_attributes("td", ["colspan", "2", "style", "color: red", "xml:lang", "de"])
    {'colspan': '2', 'lang': 'de'}
    """
    name = local_name(tag)
    kept: dict[str, str] = {}
    for full, value in zip(attributes[::2], attributes[1::2], strict=True):
        own = local_name(full)
        if len(value) <= _LONGEST and (
            own in _ALWAYS
            or full in ("xml:lang", "lang")
            or (own in _OF_LISTS and name in _LISTS)
            or (own in _SOURCES and name in _IMAGES)
            or (own in _CHECKS and name in MATHML)
        ):
            kept[own] = value
    return kept


# -- the data of a page ---------------------------------------------------------------------------


def structure(
    document: AssessedDocument,
    elements: Elements,
    image_url: Callable[[int, str], str | None] | None = None,
) -> dict[str, Any]:
    """Return the data from which the article page builds a document, in document order.

    `image_url` returns the address of the image that an element names, or None.
    """
    if document.markup is not None:
        elements = add_markup(elements, document.markup)
    made = lay_out(elements, document.text)
    if image_url is not None:
        for i, look in made["looks"].items():
            if "graphic" in look:
                name = name_image(elements.attributes.get(int(i), {}))
                url = None if name is None else image_url(int(i), name)
                look.update({} if url is None else {"image": url})
    return {
        "doc": document.name,
        "title": document.title,
        "length": document.length,
        "digest": document.sha256,
        "text": document.text,
        "ordinal": elements.ordinal.tolist(),
        "role_of": "element",
        **made,
    }


def lay_out(elements: Elements, text: str) -> dict[str, Any]:
    """Return the elements of a document as columns, with roles and looks."""
    vocabulary = find_vocabulary(elements)
    tags = {tag: i for i, tag in enumerate(dict.fromkeys(elements.tag))}
    roles = find_roles(elements, text, vocabulary)
    return {
        "tags": list(tags),
        "tag": [tags[tag] for tag in elements.tag],
        "parent": elements.parent.tolist(),
        "start": elements.start.tolist(),
        "end": elements.end.tolist(),
        "role": roles,
        "looks": _list_looks(elements, text, roles),
        "vocabulary": vocabulary,
    }


def _list_looks(elements: Elements, text: str, roles: Sequence[str]) -> dict[str, dict[str, Any]]:
    looks: Looks = defaultdict(dict)
    tags = [local_name(tag) for tag in elements.tag]
    parent: list[int] = elements.parent.tolist()
    _lay_out_tables(elements.attributes, tags, parent, roles, looks)
    _choose_alternatives(tags, parent, roles, looks)
    _set_directions(elements, text, roles, looks)
    for i, role in enumerate(roles):
        attributes = elements.attributes.get(i, {})
        if role == "math":
            looks[i].update(_describe_math(tags, parent, i, attributes))
        elif role == "list":
            looks[i].update(_describe_list(tags[i], attributes))
        elif tags[i] in ("label", "lno", "num") and parent[i] >= 0 and roles[parent[i]] == "item":
            looks[parent[i]]["labelled"] = True
        if role == "graphic" or (tags[i] in _IMAGES and name_image(attributes)):
            looks[i]["graphic"] = (name_image(attributes) or "").rpartition("/")[2]
    return {str(i): look for i, look in sorted(looks.items()) if look}  # as in JSON


def name_image(attributes: Mapping[str, str]) -> str | None:
    """Return the file that an element names as its image."""
    return next((attributes[name] for name in _SOURCES if attributes.get(name)), None)


# -- tables ---------------------------------------------------------------------------------------


def _lay_out_tables(
    attributes: Mapping[int, Mapping[str, str]],
    tags: Sequence[str],
    parent: Sequence[int],
    roles: Sequence[str],
    looks: Looks,
) -> None:
    """Find the place of every cell in the grid of its table: spans, and columns to skip before it.

    Cells name their columns in CALS; in HTML they follow each other.
    """
    table: list[int] = []  # the table that each element belongs to, -1 for none
    columns: dict[int, list[int]] = defaultdict(list)
    rows: dict[int, list[int]] = defaultdict(list)
    cells: dict[int, list[int]] = defaultdict(list)
    for i, above in enumerate(parent):
        role = roles[i]
        outer = table[above] if above >= 0 else -1
        table.append(i if role == "table" or tags[i] == "entrytbl" else outer)
        if outer < 0:
            continue
        if role == "column":
            columns[outer].append(i)
        elif role == "row":
            rows[outer].append(i)
        elif role in ("cell", "header-cell") and roles[above] == "row":
            cells[above].append(i)
    none: Mapping[str, str] = {}
    for own, listed in rows.items():
        described = [(tags[i], attributes.get(i, none)) for i in columns[own]]
        names, spans, aligned = _read_columns(described)
        group = -1
        below: dict[int, int] = {}  # columns that cells of rows above fill, and for how many rows
        for row in listed:
            if parent[row] != group:
                group, below = parent[row], {}  # no cell spans rows of two groups
            at = 0
            for cell in cells[row]:
                given, look = attributes.get(cell, none), looks[cell]
                first, last = _named_columns(given, names, spans)
                skipped = 0
                while below.get(at) or at < first:
                    skipped += not below.get(at)
                    at += 1
                wide = last - first + 1 if first >= 0 else _count(given.get("colspan"), least=1)
                high = _count(given.get("morerows"), least=0, default=0) + 1
                if "rowspan" in given:
                    high = _count(given["rowspan"], least=0)
                look.update({"colspan": wide} if wide > 1 else {})
                look.update({"rowspan": high} if high != 1 else {})
                look.update({"skip": skipped} if skipped else {})
                around = [given, *(attributes.get(i, none) for i in (row, group))]
                for name, known in (("align", _ALIGNED), ("valign", _VALIGNED)):
                    found = (one[name].lower() for one in around if name in one)
                    word = next(found, aligned.get(at) if name == "align" else None)
                    look.update({name: word} if word in known else {})
                for column in range(at, at + wide):
                    below[column] = high or _MOST_SPANNED
                at += wide
            below = {column: left - 1 for column, left in below.items() if left > 1}


_ALIGNED = ("left", "right", "center", "justify")
_VALIGNED = ("top", "middle", "bottom", "baseline")


def _read_columns(
    described: Sequence[tuple[str, Mapping[str, str]]],
) -> tuple[dict[str, int], dict[str, tuple[str, str]], dict[int, str]]:
    """Return numbers of named columns (from 0), named spans, and the alignment of columns."""
    names: dict[str, int] = {}
    spans: dict[str, tuple[str, str]] = {}
    aligned: dict[int, str] = {}
    at = 0
    for tag, given in described:
        if tag == "spanspec":
            spans[given.get("spanname", "")] = given.get("namest", ""), given.get("nameend", "")
        elif tag != "colgroup":
            at = _count(given.get("colnum"), least=1, default=at + 1) - 1
            if given.get("colname"):
                names[given["colname"]] = at
            if "align" in given:
                aligned[at] = given["align"].lower()
            at += 1
    return names, spans, aligned


def _named_columns(
    given: Mapping[str, str], names: Mapping[str, int], spans: Mapping[str, tuple[str, str]]
) -> tuple[int, int]:
    """Return the first and last column that a cell names; (-1, -1) if it names none."""
    start, end = spans.get(given.get("spanname", ""), (given.get("namest"), given.get("nameend")))
    start = start or given.get("colname") or ""
    if start not in names:
        return -1, -1
    first = names[start]
    return first, max(first, min(names.get(end or start, first), first + _MOST_SPANNED))


def _count(text: str | None, *, least: int, default: int = 1) -> int:
    """Return the number in an attribute, within bounds; the default if there is none."""
    if text is None or not re.fullmatch(r"\s*\d{1,6}\s*", text, re.ASCII) or int(text) < least:
        return default
    return min(int(text), _MOST_SPANNED)


# -- lists, formulas, alternatives ----------------------------------------------------------------

_NUMBERED = {
    word: style
    for style, listed in {
        "decimal": "order ordered numbered arabic 1 ol orderedlist numeric-list numberlist",
        "lower-alpha": "alpha-lower loweralpha a",
        "upper-alpha": "alpha-upper upperalpha A",
        "lower-roman": "roman-lower lowerroman i",
        "upper-roman": "roman-upper upperroman I",
        "disc": "bullet bulleted unordered ul itemizedlist bullet-list",
        "none": "simple gloss definitionlist",
    }.items()
    for word in listed.split()
}


def _describe_list(tag: str, attributes: Mapping[str, str]) -> dict[str, Any]:
    """Return the markers of a list, and the number of its first item if it is not 1."""
    given = [attributes.get(name, "") for name in ("list-type", "type", "numeration", "rend")]
    style = next((_NUMBERED[word] for word in (*given, tag) if word in _NUMBERED), "disc")
    first = _count(attributes.get("start"), least=0)
    return {"list": style, **({"first": first} if first != 1 else {})}


def _describe_math(
    tags: Sequence[str], parent: Sequence[int], i: int, attributes: Mapping[str, str]
) -> dict[str, Any]:
    """Return name and attributes of an element of MathML that a page may create."""
    name = tags[i] if tags[i] in MATHML else "mrow"
    checked = {
        own: value
        for own, value in attributes.items()
        if own in _CHECKS and re.fullmatch(_CHECKS[own], value)
    }
    if name == "math":
        around = [tags[parent[i]]] if parent[i] >= 0 else []
        if around == ["alternatives"]:
            around = [tags[parent[parent[i]]]]
        if around in (["disp-formula"], ["equation"], ["informalequation"]):
            checked.setdefault("display", "block")
    if name == "mfenced":
        name = "mrow"
        checked = {"open": "(", "close": ")", "separators": ",", **checked}
    return {"math": "mtr" if name == "mlabeledtr" else name, "attributes": checked}


def _choose_alternatives(
    tags: Sequence[str], parent: Sequence[int], roles: Sequence[str], looks: Looks
) -> None:
    """Mark all but the best of several forms of one thing, such as MathML, TeX and an image."""
    forms: dict[int, list[int]] = defaultdict(list)
    for i, above in enumerate(parent):
        if above >= 0 and tags[above] == "alternatives":
            forms[above].append(i)
    order = ("table", "math", "tex")
    for own in forms.values():
        best = min(own, key=lambda i: order.index(roles[i]) if roles[i] in order else len(order))
        for i in own:
            looks[i].update({} if i == best else {"alternative": True})


# -- direction of text ----------------------------------------------------------------------------

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,6}")
_RIGHT_TO_LEFT = words("ar arc ckb dv fa he iw ks ps sd syr ug ur yi")
_RIGHT_TO_LEFT_SCRIPTS = ("arab", "hebr", "syrc", "thaa", "nkoo", "adlm")
_STRONG = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def _set_directions(elements: Elements, text: str, roles: Sequence[str], looks: Looks) -> None:
    """Give elements their language and, where it is known, the direction of their text.

    A direction holds for all blocks inside. Where only the language is known to run from right to
    left, it holds for blocks with such letters; a page finds the direction of all other blocks.
    """
    if not any("lang" in own or "dir" in own for own in elements.attributes.values()):
        return
    directions: list[str | None] = []
    languages: list[bool] = []
    for i, above in enumerate(elements.parent.tolist()):
        own = elements.attributes.get(i, {})
        direction, language = own.get("dir", "").lower(), own.get("lang", "")
        directions.append(
            direction if direction in ("ltr", "rtl") else directions[above] if above >= 0 else None
        )
        languages.append(languages[above] if above >= 0 else False)
        if _LANGUAGE.fullmatch(language):
            looks[i]["lang"] = language
            languages[i] = _runs_right_to_left(language)
        if roles[i] in INLINE or roles[i] in ("row-group", "row", "column"):
            if direction in ("ltr", "rtl", "auto"):
                looks[i]["dir"] = direction
            elif "lang" in looks.get(i, {}):
                looks[i]["dir"] = "auto"
        elif directions[i] is not None and (direction or roles[i] != "math"):
            looks[i]["dir"] = directions[i]
        elif (
            languages[i]
            and roles[i] != "math"
            and _STRONG.search(text, int(elements.start[i]), int(elements.end[i]))
        ):
            looks[i]["dir"] = "rtl"


def _runs_right_to_left(language: str) -> bool:
    """Return True for languages and scripts written from right to left.

    >>> [_runs_right_to_left(one) for one in ("ar-EG", "az-Arab", "en", "he-Latn")]
    [True, True, False, False]
    """
    first, *more = language.lower().split("-")
    scripts = [own for own in more if len(own) == 4 and own.isalpha()]
    if scripts:
        return scripts[0] in _RIGHT_TO_LEFT_SCRIPTS
    return first in _RIGHT_TO_LEFT


# -- images ----------------------------------------------------------------------------------------

IMAGE_TYPES = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
}
"""Types of images by extension. SVG is left out: it can hold scripts."""


def find_image(directory: Path, doc: str, name: str) -> Path | None:
    """Return the image that a document names, or None if the directory has none.

    The name is looked up below the directory itself, in the folder of the document, and in a folder
    with the document's name. It may lack its extension, as in JATS. No file outside the directory
    is returned, not even through a link.
    """
    if not name or "\0" in name or "\\" in name or ":" in name:
        return None
    try:
        root = directory.resolve(strict=True)
        for folder in (root, (root / doc).parent, root / doc):
            for ending in ("", *IMAGE_TYPES):
                found = (folder / (name + ending)).resolve()
                if (
                    found.suffix.lower() in IMAGE_TYPES
                    and found.is_relative_to(root)
                    and found.is_file()
                ):
                    return found
    except OSError:  # such as a name that is too long
        pass
    return None
