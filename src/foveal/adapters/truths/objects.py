"""JSON with the place of everything in it, so that an error can name file, line and path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from foveal.files.source import Source
from foveal.formats.fields import first_lines
from foveal.formats.objects import explain_json

__all__ = ["Node", "document", "entries", "json_lines"]

_KINDS: dict[type, str] = {
    str: "a string",
    int: "a whole number",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value with its path in the file (``$`` is the whole) and the line it begins on.

    The line may be that of a value around it.
    """

    source: Source
    line: int
    path: str
    value: Any

    def fail(self, message: str) -> Exception:
        """The error to raise about this value."""
        where = "the file" if self.path == "$" else self.path
        return self.source.error("unclassified", self.line, f"{where}: {message}")

    def _child(self, step: str, value: Any) -> Node:
        return Node(self.source, self.line, f"{self.path}{step}", value)

    def get(self, name: str) -> Node | None:
        """A member of an object; None if it is absent or null."""
        members = self.expect(dict)
        if members.get(name) is None:
            return None
        return self._child(f".{name}", members[name])

    def __getitem__(self, name: str) -> Node:
        found = self.get(name)
        if found is None:
            raise self.fail(f"{name!r} is missing")
        return found

    def __iter__(self) -> Iterator[Node]:
        for i, value in enumerate(self.expect(list)):
            yield self._child(f"[{i}]", value)

    def items(self) -> Iterator[tuple[str, Node]]:
        for name, value in self.expect(dict).items():
            node = self._child(f"[{name!r}]", value)
            yield replace(node, value=name).text, node

    def listed(self, name: str) -> list[Node]:
        """The values of a list, none if it is absent."""
        found = self.get(name)
        return [] if found is None else list(found)

    def expect(self, kind: type) -> Any:
        if type(self.value) is not kind:
            found = json.dumps(self.value, ensure_ascii=False)
            shown = found if len(found) <= 40 else f"{found[:37]}..."
            raise self.fail(f"{shown} found; expected {_KINDS[kind]}")
        return self.value

    @property
    def text(self) -> str:
        found = str(self.expect(str))
        try:
            found.encode()
        except UnicodeEncodeError:
            raise self.fail("half of a character found (a lone surrogate); expected text") from None
        return found

    @property
    def number(self) -> int:
        return int(self.expect(int))

    @property
    def name(self) -> str:
        """A string, or a number that serves as a name."""
        return str(self.value) if type(self.value) is int else self.text

    def optional_text(self, name: str) -> str | None:
        found = self.get(name)
        return None if found is None else found.text


def _loads(source: Source, text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        at = line + getattr(error, "lineno", 1) - 1
        raise source.error("unclassified", at, f"not valid JSON: {explain_json(error)}") from None


def document(source: Source) -> Node:
    """The one JSON value of a file."""
    source.check_utf8()
    return Node(source, 1, "$", _loads(source, source.data.decode(), 1))


def json_lines(source: Source) -> Iterator[Node]:
    """The JSON values of a file that has one on each line."""
    source.check_utf8()
    for number, line in first_lines(source.data, source.data.count(b"\n") + 1):
        yield Node(source, number, "$", _loads(source, line.decode(), number))


def entries(root: Node, name: str) -> Iterator[Node]:
    """The values of a list at the top of a file, each with the line that it begins on."""
    found = list(root[name])
    text = root.source.data.decode()
    opening = re.search(rf'"{re.escape(name)}"\s*:\s*\[', text)
    at = -1 if opening is None else opening.end()
    decoder, line, counted = json.JSONDecoder(), 1, 0
    value_at = re.compile(r"[^\s,]|$")
    for node in found:
        following = value_at.search(text, at) if at >= 0 else None
        at = -1 if following is None else following.start()
        try:
            value, end = decoder.raw_decode(text, at) if at >= 0 else (None, -1)
        except ValueError:
            value, end = None, -1
        if end < 0 or value != node.value:
            # The same name stands inside something else first.
            at = -1
            yield node
            continue
        line += text.count("\n", counted, at)
        counted = at
        at = end
        yield Node(node.source, line, node.path, node.value)
