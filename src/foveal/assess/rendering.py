"""Documents as data for a page: text, elements and their roles.

The data holds no attributes and no mark-up, and names of tags only as data. A page builds its own
elements and puts pieces of the text into them. So no script in a document can run, and offsets
count on the text of the page.
"""

from __future__ import annotations

from typing import Any

from foveal.assess.documents import AssessedDocument, Elements
from foveal.assess.vocabularies import roles_of, vocabulary_of

__all__ = ["structure"]


def structure(document: AssessedDocument, elements: Elements) -> dict[str, Any]:
    """Return the data from which the article page builds a document, in document order."""
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
