"""Text as LaTeX and Markdown show it, whatever characters names hold."""

from __future__ import annotations

import re

__all__ = ["label", "latex_text", "markdown_paragraph", "markdown_text", "one_line"]

_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    # In the encoding that LaTeX starts with these three are other signs altogether.
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    # Babel makes the double quote a command in some languages.
    | {'"': r"\symbol{34}", "`": r"\textasciigrave{}", "\N{MINUS SIGN}": "$-$"}
    | {"\N{EN DASH}": r"\textendash{}"}
)
_MARKDOWN = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_[]|"}
    # Not every Markdown knows a backslash before these; all know references to characters.
    | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;", "$": "&#36;"}
)


def one_line(text: str) -> str:
    r"""Line breaks, tabs and control characters as blanks.

    >>> one_line("a\n\nb\x00c")
    'a b c'
    """
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text)


def latex_text(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    >>> print(latex_text("50% of a_b & {c} < \\d"))
    50\% of a\_b \& \{c\} \textless{} \textbackslash{}d
    >>> print(latex_text("no--dash, no''quote"))
    no-{}-dash, no'{}'quote
    """
    # Signs that run together into another one are kept apart.
    return re.sub(r"([-',])(?=\1)", r"\1{}", one_line(text).translate(_LATEX))


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is, also in the cells of a table.

    >>> print(markdown_text("a_b|c <d> *e*"))
    a\_b\|c &lt;d&gt; \*e\*
    """
    return one_line(text).translate(_MARKDOWN)


def markdown_paragraph(text: str) -> str:
    r"""Text on a line of its own, which Markdown shall not take for a list or a heading.

    >>> print(markdown_paragraph("+ better"))
    \+ better
    """
    return re.sub(r"^([-+#])(?=\s|#|$)", r"\\\1", markdown_text(text))


def label(text: str) -> str:
    """What a table can be referred to by, in letters that no program minds.

    >>> label("pairs iP@0.01 (strict)")
    'pairs-iP-0.01-strict'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")
