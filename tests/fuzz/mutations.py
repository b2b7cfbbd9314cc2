"""Ways to damage a file, all drawn from one random generator."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import zstandard

__all__ = ["mutate"]

Random = random.Random

_NUMBERS = [
    *(
        "0",
        "-1",
        "1",
        "2",
        "-0",
        "00",
        "1.5",
        "-0.5",
        ".5",
        "1e308",
        "1e400",
        "1e-400",
        "nan",
        "NaN",
    ),
    *("inf", "-inf", "Infinity", "2147483647", "2147483648", "4294967296", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775809", "18446744073709551616", "1" * 30, "0x10"),
    *("1_000", "1,000", "+1", " 1", "\u0661", "\u00b2", "true", "null", "", "1" * 5000),
]
_TOKENS = [
    *(
        "\x00",
        "\x1b[2J",
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
        "\u202e",
        "\ufffe",
        "\U0010ffff",
        "e\u0301",
    ),
    *(
        "\t",
        " ",
        "\n",
        "\r",
        "\r\n",
        "\x0b",
        "\x0c",
        "\x1c",
        "\u00a0",
        "'",
        '"',
        "\\",
        "/",
        "//",
        "..",
        "%",
    ),
    *(
        "=",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "&",
        "&amp;",
        "&#0;",
        "&#x110000;",
        "&x;",
        "<!--",
        "]]>",
        "<a>",
    ),
    *(
        "</a>",
        "<?x?>",
        "<!DOCTYPE a>",
        "[1]",
        "[0]",
        "text()[1].5",
        "/article[1]",
        "/",
        "@x",
        "#",
        ",",
        ":",
    ),
    *(
        ";",
        "|",
        "-",
        "--",
        "*",
        "?",
        "~",
        "$",
        "$x",
        "Q0",
        "all",
        "null",
        "true",
        "[]",
        "{}",
        "\ud7ff",
    ),
    *(
        "x" * 300,
        "\u00e9" * 50,
        "utf-16",
        "idna",
        "unicode_escape",
        "latin-1",
        "version",
        "codepoint",
    ),
    *("utf16", "byte", "header", "foveal-run", "foveal-judgements", "2"),
]
_RAW = [
    b"\xff",
    b"\xfe\xff",
    b"\xff\xfe",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\x1f\x8b",
]
_RAW += [b"PK\x03\x04", b"BZh9", b"\x28\xb5\x2f\xfd", b"PAR1", b"\xef\xbb\xbf", b"\x00" * 16]
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_WORD = re.compile(rb"[^\s<>\"'=/{}\[\],:]+")
_LONGEST = 1 << 20
"""Bytes that a mutated file has at most."""


def mutate(data: bytes, draw: Random, others: list[bytes]) -> bytes:
    """Return the data with one to four mutations."""
    for magic, unpack, pack in _PACKED:
        if data.startswith(magic) and draw.random() < 0.5:
            return pack(mutate(unpack(data), draw, others))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 4))):
        data = draw.choice(_MUTATIONS)(data, draw, others)[:_LONGEST]
    return data


_PACKED: list[tuple[bytes, Callable[[bytes], bytes], Callable[[bytes], bytes]]] = [
    (b"\x1f\x8b", gzip.decompress, partial(gzip.compress, mtime=0)),
    (b"BZh", bz2.decompress, bz2.compress),
    (b"\xfd7zXZ", lzma.decompress, lzma.compress),
    (
        b"\x28\xb5\x2f\xfd",
        zstandard.ZstdDecompressor().decompress,
        zstandard.ZstdCompressor().compress,
    ),
]
"""How compressed data begins, and how it is unpacked and packed: damage may lie inside."""


def _place(data: bytes, draw: Random) -> int:
    return draw.randrange(len(data) + 1)


def _slice(data: bytes, draw: Random, most: int = 64) -> tuple[int, int]:
    start = _place(data, draw)
    return start, min(len(data), start + draw.randint(1, most))


def _flip_bit(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    if not data:
        return data
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def _set_byte(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    at = _place(data, draw)
    return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]


def _delete(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    start, end = _slice(data, draw)
    return data[:start] + data[end:]


def _repeat(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    start, end = _slice(data, draw, 200)
    return data[:start] + data[start:end] * draw.choice((2, 3, 50, 2000)) + data[end:]


def _truncate(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    return data[: _place(data, draw)]


def _insert_token(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    at = _place(data, draw)
    return data[:at] + draw.choice(_TOKENS).encode(errors="surrogatepass") + data[at:]


def _insert_raw(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    at = draw.choice((0, _place(data, draw), len(data)))
    return data[:at] + draw.choice(_RAW) + data[at:]


def _replace(
    data: bytes, draw: Random, pattern: re.Pattern[bytes], values: Callable[[], bytes]
) -> bytes:
    places = list(pattern.finditer(data[:100_000]))
    if not places:
        return data
    found = draw.choice(places)
    return data[: found.start()] + values() + data[found.end() :]


def _replace_number(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    return _replace(data, draw, _NUMBER, lambda: draw.choice(_NUMBERS).encode())


def _replace_word(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    """Put another word of the file, a number or a token in the place of a word."""
    words = _WORD.findall(data[:100_000]) or [b""]
    choices = (
        lambda: draw.choice(words),
        lambda: draw.choice(_NUMBERS).encode(),
        lambda: draw.choice(_TOKENS).encode(errors="surrogatepass"),
    )
    return _replace(data, draw, _WORD, draw.choice(choices))


def _change_lines(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    """Delete, repeat, swap, join or shuffle lines."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    what = draw.randrange(5)
    if what == 0:
        del lines[one]
    elif what == 1:
        lines.insert(other, lines[one])
    elif what == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif what == 3:
        lines[one] = lines[one].rstrip(b"\r\n")
    else:
        draw.shuffle(lines)
    return b"".join(lines)


def _change_breaks(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    return data.replace(b"\n", draw.choice((b"\r\n", b"\r", b"\n\n", b" ", b"", b"\x0b")))


def _change_encoding(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    if draw.random() < 0.3:
        name = draw.choice(
            ("utf-16", "utf-32", "idna", "unicode_escape", "ebcdic", "utf-7", "x" * 99)
        )
        text = re.sub(r'encoding="[^"]*"', f'encoding="{name}"', text, count=1)
        return text.encode()
    return text.encode(draw.choice(("utf-16", "utf-8-sig", "latin-1", "utf-32-be")), "replace")


def _splice(data: bytes, draw: Random, others: list[bytes]) -> bytes:
    """Join the beginning of the file with the end of another."""
    other = draw.choice(others)
    return data[: _place(data, draw)] + other[_place(other, draw) :]


def _nest(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    opening, closing = draw.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"(", b")"))
    )
    at, depth = _place(data, draw), draw.choice((5, 300, 5000, 100_000))
    return data[:at] + opening * depth + b"1" + closing * draw.choice((0, depth)) + data[at:]


def _change_json(data: bytes, draw: Random, _: list[bytes]) -> bytes:
    """Change a value, a key or a list somewhere in the JSON of a line or of the whole file."""
    lines = data.split(b"\n")
    at = draw.randrange(len(lines))
    for whole, text in ((False, lines[at]), (True, data)):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        changed = json.dumps(_changed(value, draw), ensure_ascii=draw.random() < 0.5)
        line = changed.encode(errors="surrogatepass")
        if whole:
            return line
        return b"\n".join([*lines[:at], line, *lines[at + 1 :]])
    return data


_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    2**63,
    -(2**70),
    "",
    "x",
    "1",
    [],
    {},
    [[]],
]
_VALUES += [
    float("nan"),
    float("inf"),
    "\x00",
    "\x1b]0;x\x07",
    "\ud800",
    "a\nb",
    "all",
    [1],
    {"a": 1},
]


def _changed(value: Any, draw: Random) -> Any:
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(list(value))
        what = draw.random()
        if what < 0.1:
            return {name: inner for name, inner in value.items() if name != key}
        if what < 0.2:
            return {name: inner for name, inner in value.items() if draw.random() < 0.7}
        if what < 0.3:
            return {**value, draw.choice(("x", "", "type", "topic", "doc")): value[key]}
        return {**value, key: _changed(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.85:
        at = draw.randrange(len(value))
        what = draw.random()
        if what < 0.15:
            return value[:at] + value[at + 1 :]
        if what < 0.3:
            return [*value, value[at]]
        return [*value[:at], _changed(value[at], draw), *value[at + 1 :]]
    return draw.choice(_VALUES)


_MUTATIONS: list[Callable[[bytes, Random, list[bytes]], bytes]] = [
    *(_flip_bit, _set_byte, _delete, _repeat, _truncate, _insert_token, _insert_raw),
    *(_replace_number, _replace_number, _replace_word, _replace_word, _change_lines, _change_lines),
    *(_change_breaks, _change_encoding, _splice, _nest, _change_json, _change_json, _change_json),
]
