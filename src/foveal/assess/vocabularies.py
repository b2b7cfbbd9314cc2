"""Roles of elements: a table for each known vocabulary, and a rule for all other tags.

A role is a word of `ROLES` that the style sheet knows. It depends only on the tags of an element
and its parent; nothing else of a document's mark-up reaches a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from foveal.assess.documents import Elements
from foveal.spans import Ints

__all__ = ["ROLES", "VOCABULARIES", "TagVocabulary", "roles_of", "title_of", "vocabulary_of"]

ROLES = (
    "block",
    "paragraph",
    "title",
    "heading",
    "list",
    "item",
    "table",
    "row-group",
    "row",
    "cell",
    "header-cell",
    "figure",
    "caption",
    "quote",
    "note",
    "reference",
    "plain",
    "inline",
    "emph",
    "strong",
    "link",
    "sub",
    "sup",
    "small",
    "code",
    "math",
    "hidden-meta",
)
"""Roles that the style sheet must know. ``plain`` is text with no structure but its line breaks;
``hidden-meta`` is metadata, shown small or on request."""

_INLINE = ("inline", "emph", "strong", "link", "sub", "sup", "small", "code", "math")
"""Roles of inline elements; their children are inline, too."""
_BLANKS = np.array([9, 10, 13, 32], dtype=np.uint32)
_MOST_TITLE = 200


@dataclass(frozen=True)
class TagVocabulary:
    """Roles and titles of one vocabulary.

    Parameters
    ----------
    roles : mapping
        Tag to role; ``parent/tag`` goes before ``tag``. Tags are without their prefix.
    titles : tuple of str
        Ends of the paths of title elements, without ordinals; the first that a document has counts.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    titles: tuple[str, ...] = ()


def _tags(**roles: str) -> dict[str, str]:
    """Return the role of each tag, from the tags of each role."""
    return {tag: role.replace("_", "-") for role, tags in roles.items() for tag in tags.split()}


_JATS = TagVocabulary(
    _tags(
        block="article front body back sec abstract trans-abstract app app-group ack floats-group "
        "boxed-text table-wrap table-wrap-foot sub-article response glossary article-meta "
        "title-group fn-group def-list statement disp-formula-group supplementary-material "
        "fig-group table-wrap-group notes bio ref-list verse-group sig-block front-stub",
        paragraph="p aff subtitle alt-title license-p def-item speech verse-line attrib corresp "
        "contrib-group kwd-group disp-formula sig",
        note="fn",
        reference="ref",
        small="sc",
        title="title-group/article-title",
        heading="title",
        list="list",
        item="list-item",
        table="table",
        row_group="thead tbody tfoot",
        row="tr",
        cell="td",
        header_cell="th",
        figure="fig",
        caption="caption",
        quote="disp-quote",
        code="code preformat monospace",
        emph="italic underline term",
        strong="bold label caption/title",
        link="xref ext-link uri email",
        sub="sub",
        sup="sup",
        math="math inline-formula tex-math",
        inline="ref/label fn/label list-item/label styled-content named-content kwd name surname "
        "given-names string-name institution caption/p def-item/term def abbrev mixed-citation "
        "element-citation citation nlm-citation person-group article-title source year volume "
        "issue fpage lpage pub-id collab etal addr-line country contrib",
        hidden_meta="journal-meta article-id article-categories pub-date history permissions "
        "custom-meta-group counts funding-group self-uri related-article object-id author-notes "
        "rdf article-meta/volume article-meta/issue article-meta/fpage article-meta/lpage "
        "article-meta/elocation-id processing-meta degrees role",
    ),
    ("title-group/article-title", "article-title"),
)
_TEI = TagVocabulary(
    _tags(
        block="TEI TEI.2 teiCorpus text front body back group div div1 div2 div3 div4 div5 div6 "
        "div7 lg sp castList titlePage floatingText argument opener closer docTitle listBibl",
        paragraph="p ab l byline dateline salute signed trailer speaker stage epigraph docImprint "
        "castItem",
        note="note",
        reference="listBibl/bibl biblStruct biblFull",
        title="docTitle/titlePart",
        heading="head",
        list="list",
        item="list/item",
        table="table",
        row="row",
        cell="cell",
        figure="figure",
        caption="figure/head figDesc",
        quote="quote q cit",
        code="code eg egXML",
        emph="hi emph title term foreign mentioned",
        strong="list/label",
        link="ref ptr",
        math="formula",
        inline="q/q p/q p/quote p/note persName placeName orgName name date num rs abbr expan "
        "orig reg sic corr add del seg w c pc s bibl",
        hidden_meta="teiHeader fw",
    ),
    ("titleStmt/title", "docTitle/titlePart", "docTitle", "head"),
)
_WIKIPEDIA = TagVocabulary(
    _tags(
        block="article header bdy body sec section ss1 ss2 ss3 ss4 ss5 ss template gallery reflist",
        paragraph="p indent indentation1 indentation2 indentation3 definitionitem",
        title="header/title article/name",
        heading="st section/title h1 h2 h3 h4 h5 h6 title",
        list="list normallist numberlist definitionlist",
        item="entry item",
        table="table",
        row="row tr",
        cell="col cell td",
        header_cell="th row/header",
        reference="reflist/entry",
        small="small",
        figure="image figure",
        caption="caption",
        quote="blockquote",
        code="pre code tt",
        emph="it emph2 em i",
        strong="b emph3 emph4 strong",
        link="link weblink collectionlink unknownlink outsidelink wikipedialink languagelink",
        sub="sub",
        sup="sup ref",
        math="math",
        inline="u br cite big",
        hidden_meta="header/id revision categories conversionwarning languagelinks article/id",
    ),
    ("header/title", "article/name", "title"),
)
_IEEE = TagVocabulary(
    _tags(
        block="article fm bdy bm sec ss1 ss2 ss3 vt app dialog proof tig au bib bibl",
        paragraph="p p1 p2 p3 ip1 ip2 ip3 ip4 ip5 ilrj aff kwd abs pdt",
        title="tig/atl",
        heading="st h h1 h1a h2 h2a h3 h4 apt",
        list="l1 l2 l3 l4 l5 l6 l7 l8 l9 la lb lc ld le list numeric-list bullet-list",
        item="li item",
        reference="bb",
        table="tbl",
        row_group="tgroup thead tbody",
        row="row",
        cell="entry",
        figure="fig",
        caption="fgc",
        quote="bq",
        code="code tt ariel",
        emph="it scp u",
        strong="b large",
        link="ref url",
        sub="sub",
        sup="super",
        math="math en tmath",
        inline="bb/au bb/atl bb/ti bb/pdt fnm snm rm no ss fn ftn",
        hidden_meta="fno doi hdr hdr1 hdr2 crt obi cci ccn issn volno issno",
    ),
    ("tig/atl", "fm/atl", "atl"),
)
_GENERIC = TagVocabulary(
    _tags(
        paragraph="p para",
        title="article/title document/title doc/title book/title",
        heading="h1 h2 h3 h4 h5 h6 head heading title",
        list="ul ol list",
        item="li item",
        table="table",
        row="tr row",
        cell="td cell",
        header_cell="th",
        figure="figure fig",
        caption="caption figcaption",
        quote="blockquote quote",
        emph="i em it italic emph emphasis",
        strong="b strong bold",
        link="a link xref",
        sub="sub",
        sup="sup",
        code="code pre tt",
        inline="span",
    ),
    ("title", "head", "h1"),
)

VOCABULARIES: Mapping[str, TagVocabulary] = {
    "jats": _JATS,
    "tei": _TEI,
    "inex-wikipedia": _WIKIPEDIA,
    "ieee": _IEEE,
    "generic": _GENERIC,
}
"""Vocabularies by name."""

_MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("ieee", frozenset({"fno", "fm"})),
    ("inex-wikipedia", frozenset({"header", "bdy"})),
    ("inex-wikipedia", frozenset({"name", "conversionwarning"})),
    ("jats", frozenset({"front"})),
    ("jats", frozenset({"front-stub"})),
)
"""Sets of children that identify the vocabulary of an <article>; all of a set must occur."""


def vocabulary_of(elements: Elements) -> str:
    """Return the name of a document's vocabulary, from its root and the root's children."""
    root = _local(elements.tag[0])
    if root in ("TEI", "TEI.2", "teiCorpus"):
        return "tei"
    if root == "article":
        below = {_local(elements.tag[i]) for i in np.flatnonzero(elements.parent == 0).tolist()}
        # The collection of 2009 wraps articles in elements named after their subject.
        every = below if len(below) > 1 else {_local(tag) for tag in elements.tag}
        for name, marks in _MARKS:
            if marks <= every:
                return name
    return "generic"


def roles_of(elements: Elements, text: str, vocabulary: str) -> list[str]:
    """Return the role of every element.

    An element with an unknown tag is inline if its parent is inline or has text of its own; else
    it is a block.
    """
    if len(elements) == 1 and elements.tag[0] == "text":
        return ["plain"]
    known = VOCABULARIES[vocabulary].roles
    own = _has_text(elements, text).tolist()
    tags = [_local(tag) for tag in elements.tag]
    roles: list[str] = []
    for i, above in enumerate(elements.parent.tolist()):
        if above < 0:
            roles.append(known.get(tags[i], "block"))
            continue
        role = known.get(f"{tags[above]}/{tags[i]}") or known.get(tags[i])
        if role is None:
            in_line = own[above] or roles[above] in (*_INLINE, "hidden-meta")
            role = "inline" if in_line else "block"
        roles.append(role)
    return roles


def _local(tag: str) -> str:
    """Return a tag without its prefix."""
    return tag.rpartition(":")[2]


def _has_text(elements: Elements, text: str) -> npt.NDArray[np.bool_]:
    """Return a mask of the elements with text of their own other than white space."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    before = np.concatenate([[0], np.cumsum(~np.isin(points, _BLANKS))])
    inside: Ints = before[elements.end] - before[elements.start]
    below = elements.parent >= 0
    of_children = np.bincount(elements.parent[below], inside[below], len(elements))
    has: npt.NDArray[np.bool_] = inside > of_children
    return has


def title_of(elements: Elements, text: str, doc: str) -> str:
    """Return the title of a document in one line, or its name if it has no title."""
    for ending in VOCABULARIES[vocabulary_of(elements)].titles:
        above, _, last = ending.rpartition("/")
        for i, tag in enumerate(elements.tag):
            if _local(tag) != last:
                continue
            parent = int(elements.parent[i])
            if above and (parent < 0 or _local(elements.tag[parent]) != above):
                continue
            found = " ".join(text[int(elements.start[i]) : int(elements.end[i])].split())
            if found:
                return found if len(found) <= _MOST_TITLE else f"{found[:_MOST_TITLE]}…"
    return doc
