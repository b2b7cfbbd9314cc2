"""Roles of elements: a table for each known vocabulary, and a rule for all other tags.

A role is a word of `ROLES` that the style sheet knows. It depends on the tags of an element and of
those around it, and on the rendition that TEI names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from foveal.assess.documents import Elements
from foveal.spans import Coverage, Ints


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


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
    "column",
    "figure",
    "caption",
    "quote",
    "note",
    "reference",
    "plain",
    "rule",
    "inline",
    "datum",
    "graphic",
    "break",
    "emph",
    "strong",
    "link",
    "sub",
    "sup",
    "small",
    "code",
    "fraction",
    "math",
    "tex",
    "hidden-meta",
)
"""Roles that the style sheet must know. ``plain`` is text with no structure but its line breaks;
``datum`` is an inline element that is kept apart from its neighbours, such as a name; ``column``
describes a column of a table; ``math`` is MathML and ``tex`` a formula as text; ``hidden-meta`` is
metadata, folded until somebody asks for it."""

INLINE = words("inline datum graphic break emph strong link sub sup small code fraction math tex")
"""Roles of inline elements; their children are inline, too."""
MATHML = words(
    "math mi mn mo ms mtext mspace mrow mfrac msqrt mroot mstyle mpadded mphantom menclose "
    "mfenced msub msup msubsup munder mover munderover mmultiscripts mprescripts none "
    "mtable mtr mlabeledtr mtd maction merror semantics annotation annotation-xml"
)
"""Elements of MathML; others in a formula count as rows of it."""
_REND = {
    word: role
    for role, listed in {
        "sup": "sup super superscript",
        "sub": "sub subscript",
        "strong": "b bold strong",
        "emph": "i it italic italics",
        "small": "sc smallcaps small-caps",
    }.items()
    for word in listed.split()
}
"""Roles by the rendition that TEI names, as in ``<hi rend="superscript">``."""
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
    return {
        tag: role.rstrip("_").replace("_", "-")
        for role, tags in roles.items()
        for tag in tags.split()
    }


_COMMON = _tags(
    table="table tgroup",
    row_group="thead tbody tfoot",
    row="tr row",
    cell="td entry entrytbl",
    header_cell="th",
    column="col colgroup colspec spanspec",
    caption="table/caption table/title",
    rule="hr",
    graphic="img graphic",
    tex="math",
)
"""Tables by the models of HTML and CALS, images and formulas, which all vocabularies may have."""

_JATS = TagVocabulary(
    _COMMON
    | _tags(
        block="article front body back sec abstract trans-abstract app app-group ack floats-group "
        "boxed-text table-wrap table-wrap-foot sub-article response glossary article-meta "
        "title-group fn-group def-list statement disp-formula-group supplementary-material "
        "fig-group table-wrap-group notes bio ref-list verse-group sig-block front-stub",
        paragraph="p aff subtitle alt-title license-p def-item speech verse-line attrib corresp "
        "contrib-group kwd-group disp-formula sig address",
        note="fn",
        reference="ref",
        small="sc",
        title="title-group/article-title",
        heading="title sec/label app/label",
        list="list",
        item="list-item",
        figure="fig",
        caption="caption",
        quote="disp-quote",
        code="code preformat monospace",
        emph="italic underline",
        strong="bold label caption/title",
        link="xref ext-link uri email",
        sub="sub",
        sup="sup contrib/xref",
        tex="tex-math",
        fraction="frac",
        graphic="inline-graphic",
        break_="break",
        inline="styled-content named-content inline-formula caption/p abbrev mixed-citation "
        "element-citation citation nlm-citation",
        datum="ref/label fn/label list-item/label aff/label corresp/label kwd name surname "
        "given-names suffix prefix string-name institution institution-wrap def-item/term def "
        "person-group article-title trans-title source year month day volume issue supplement "
        "fpage lpage elocation-id pub-id collab etal addr-line country city state postal-code "
        "phone fax contrib degrees role publisher-name publisher-loc comment "
        "chapter-title edition date-in-citation conf-name conf-date conf-loc subject contrib/email",
        hidden_meta="journal-meta article-id article-categories pub-date history permissions "
        "contrib-id custom-meta-group counts funding-group self-uri related-article object-id "
        "author-notes rdf article-meta/volume article-meta/issue article-meta/fpage "
        "article-meta/lpage article-meta/elocation-id processing-meta",
    ),
    ("title-group/article-title", "article-title"),
)
_TEI = TagVocabulary(
    _COMMON
    | _tags(
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
        cell="cell",
        figure="figure",
        caption="figure/head table/head figDesc",
        quote="quote q cit",
        code="code eg egXML",
        emph="hi emph title term foreign mentioned",
        strong="list/label",
        link="ref ptr",
        tex="formula",
        break_="lb",
        inline="q/q p/q p/quote p/note persName placeName orgName name date num rs abbr expan "
        "orig reg sic corr add del seg w c pc s bibl",
        hidden_meta="teiHeader fw",
    ),
    ("titleStmt/title", "docTitle/titlePart", "docTitle", "head"),
)
_WIKIPEDIA = TagVocabulary(
    _COMMON
    | _tags(
        block="article header bdy body sec section ss1 ss2 ss3 ss4 ss5 ss template gallery reflist",
        paragraph="p indent indentation1 indentation2 indentation3 definitionitem",
        title="header/title article/name",
        heading="st section/title h1 h2 h3 h4 h5 h6 title",
        list="list normallist numberlist definitionlist",
        item="entry item",
        cell="col cell td row/entry",
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
        break_="br",
        inline="u cite big",
        hidden_meta="header/id revision categories conversionwarning languagelinks article/id",
    ),
    ("header/title", "article/name", "title"),
)
_IEEE = TagVocabulary(
    _COMMON
    | _tags(
        block="article fm bdy bm sec ss1 ss2 ss3 vt app dialog proof tig au bib bibl tbl",
        paragraph="p p1 p2 p3 ip1 ip2 ip3 ip4 ip5 ilrj aff kwd abs pdt",
        title="tig/atl",
        heading="st ti h h1 h1a h2 h2a h3 h4 apt",
        list="l1 l2 l3 l4 l5 l6 l7 l8 l9 la lb lc ld le list numeric-list bullet-list",
        item="li item",
        reference="bb",
        figure="fig",
        caption="fgc tbl/title tbc",
        graphic="art",
        quote="bq",
        code="code tt ariel",
        emph="it scp u",
        strong="b large",
        link="ref url",
        sub="sub",
        sup="super",
        tex="math en tmath",
        fraction="fr frac",
        inline="rm no ss fn ftn",
        datum="bb/au bb/atl bb/ti bb/pdt fnm snm hdr1/ti hdr2/ti",
        hidden_meta="fno doi hdr hdr1 hdr2 crt obi cci ccn issn volno issno",
    ),
    ("tig/atl", "fm/atl", "atl"),
)
_GENERIC = TagVocabulary(
    _COMMON
    | _tags(
        block="informaltable section tbl",
        paragraph="p para simpara",
        title="article/title document/title doc/title book/title",
        heading="h1 h2 h3 h4 h5 h6 head heading title st ti",
        list="ul ol list itemizedlist orderedlist",
        item="li item listitem",
        cell="cell",
        figure="figure fig",
        caption="caption figcaption",
        quote="blockquote quote",
        emph="i em it italic emph emphasis",
        strong="b strong bold",
        link="a link xref",
        sub="sub subscript",
        sup="sup super superscript",
        code="code pre tt programlisting",
        graphic="image imagedata",
        break_="br break",
        tex="math formula tex",
        fraction="fr frac fraction",
        inline="span bdi bdo",
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
    ("ieee", frozenset({"fm"})),
    ("inex-wikipedia", frozenset({"header", "bdy"})),
    ("inex-wikipedia", frozenset({"name", "conversionwarning"})),
    ("jats", frozenset({"front"})),
    ("jats", frozenset({"front-stub"})),
)
"""Sets of children that identify the vocabulary of an <article>; all of a set must occur."""


def find_vocabulary(elements: Elements) -> str:
    """Return the name of a document's vocabulary, from its root and the root's children."""
    root = local_name(elements.tag[0])
    if root in ("TEI", "TEI.2", "teiCorpus"):
        return "tei"
    if root == "article":
        below = {local_name(elements.tag[i]) for i in np.flatnonzero(elements.parent == 0).tolist()}
        # The collection of 2009 wraps articles in elements named after their subject.
        every = below if len(below) > 1 else {local_name(tag) for tag in elements.tag}
        for name, marks in _MARKS:
            if marks <= every:
                return name
    return "generic"


def find_roles(elements: Elements, text: str, vocabulary: str) -> list[str]:
    """Return the role of every element.

    An element with an unknown tag is inline if its parent is inline or has text of its own; else
    it is a block.
    """
    if len(elements) == 1 and elements.tag[0] == "text":
        return ["plain"]
    known = VOCABULARIES[vocabulary].roles
    own = _has_text(elements, text).tolist()
    tags = [local_name(tag) for tag in elements.tag]
    above_all = elements.parent.tolist()
    # A frame around tables (CALS), and formulas in MathML, have such children.
    frames = {above for above, tag in zip(above_all, tags, strict=True) if tag == "tgroup"}
    marked = {above for above, tag in zip(above_all, tags, strict=True) if tag in MATHML}
    roles: list[str] = []
    for i, above in enumerate(above_all):
        tag = tags[i]
        if above < 0:
            roles.append(known.get(tag, "block"))
            continue
        outer = roles[above]
        role = known.get(f"{tags[above]}/{tag}") or known.get(tag)
        if outer == "math" or (tag == "math" and i in marked):
            role = "math"
        elif role == "table" and i in frames:
            role = "block"
        elif role == "cell" and tags[above_all[above]] == "thead":
            role = "header-cell"
        elif role is not None:
            rend = elements.attributes.get(i, {}).get("rend", "")
            role = _REND.get(rend, role) if role == "emph" else role
        elif outer == "row":
            role = "cell"
        elif outer == "hidden-meta":
            role = "datum"
        else:
            role = "inline" if own[above] or outer in INLINE else "block"
        if role == "tex" and i in marked:  # around MathML
            role = "inline"
        roles.append(role)
    return roles


def local_name(tag: str) -> str:
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


def find_title(elements: Elements, text: str, doc: str) -> str:
    """Return the title of a document in one line, or its name if it has no title."""
    for ending in VOCABULARIES[find_vocabulary(elements)].titles:
        above, _, last = ending.rpartition("/")
        for i, tag in enumerate(elements.tag):
            if local_name(tag) != last:
                continue
            parent = int(elements.parent[i])
            if above and (parent < 0 or local_name(elements.tag[parent]) != above):
                continue
            found = " ".join(text[int(elements.start[i]) : int(elements.end[i])].split())
            if found:
                return found if len(found) <= _MOST_TITLE else f"{found[:_MOST_TITLE]}…"
    return doc


def searchable(elements: Elements, text: str) -> str:
    """Return the text for search and snippets.

    Words and numbers that only mark-up keeps apart have a blank between them, and metadata comes
    last.
    """
    roles = find_roles(elements, text, find_vocabulary(elements))
    apart = [
        i
        for i, (role, above) in enumerate(zip(roles, elements.parent.tolist(), strict=True))
        if role not in INLINE or role in ("datum", "math", "sup") or roles[above] == "fraction"
    ]
    cuts = {0, len(text), *elements.start[apart].tolist(), *elements.end[apart].tolist()}
    hidden = [i for i, role in enumerate(roles) if role == "hidden-meta"]
    metadata = Coverage(elements.start[hidden], elements.end[hidden])
    pieces = list(pairwise(sorted(cuts)))
    starts, ends = np.array(pieces, dtype=np.int64).reshape(-1, 2).T
    last = metadata.within(starts, ends) > 0
    ordered = [*np.flatnonzero(~last).tolist(), *np.flatnonzero(last).tolist()]
    return " ".join(text[slice(*pieces[i])] for i in ordered)
