"""Small random XML documents, for properties of collections of many of them."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["documents"]

_TEXTS = st.sampled_from(["", "x", "né ", " "])
_TAGS = st.sampled_from(["a", "b", "p"])


def _elements(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inside = st.lists(children, max_size=4).map("".join)
    return st.builds(lambda tag, text: f"<{tag}>{text}</{tag}>", _TAGS, inside)


documents = _elements(st.recursive(_TEXTS, lambda c: st.one_of(c, _elements(c)), max_leaves=8))
