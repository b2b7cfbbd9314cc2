"""What keeps somebody from using a page, as axe-core finds it."""

from __future__ import annotations

from typing import Any

from browsing import AXE

# All that passes would be listed with its source too, which takes longer than finding it.
_FIND = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.map(({ id, nodes }) => [id, nodes[0].html]);
}"""


def barriers(page: Any) -> list[list[str]]:
    """The rules that the page breaks as it is, each with an element that does."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[list[str]] = page.evaluate(_FIND)
    return found
