"""A document as data for a page: its text, its elements, and the role that each plays.

No attribute and no mark-up of a document is in it, and names of tags only as data. A page makes
its own elements from this and puts pieces of the text into them; so nothing in a document can run,
and the text of the page is the text that offsets count on.
"""

from __future__ import annotations

from typing import Any

from foveal.assess.documents import AssessedDocument, Elements
from foveal.assess.vocabularies import roles_of, vocabulary_of

__all__ = ["structure"]


def structure(document: AssessedDocument, elements: Elements) -> dict[str, Any]:
    """What the article page builds a document from; elements are in document order."""
    vocabulary = vocabulary_of(elements)
    tags = {tag: i for i, tag in enumerate(dict.fromkeys(elements.tag))}
    return {
        "doc": document.name,
        "title": document.title,
        "length": document.length,
        "digest": document.sha256,
        "text": document.text,
        "tags": list(tags),
        "tag": [tags[tag] for tag in elements.tag],
        "parent": elements.parent.tolist(),
        "start": elements.start.tolist(),
        "end": elements.end.tolist(),
        "ordinal": elements.ordinal.tolist(),
        "role": roles_of(elements, document.text, vocabulary),
        "role_of": "element",
        "vocabulary": vocabulary,
    }
