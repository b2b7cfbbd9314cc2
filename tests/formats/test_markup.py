"""XML is read safely: nothing is fetched, hostile files end in a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from foveal.files.source import is_xml
from foveal.files.xml import MARKUP, Limits
from foveal.formats.markup import ElementTable, read_markup
from inputs import fault, refusal, text_source

LIMITS = Limits()
BOMB = "".join(
    [
        "<!DOCTYPE a [<!ENTITY e0 'ha'>",
        *(f"<!ENTITY e{i} '{f'&e{i - 1};' * 10}'>" for i in range(1, 10)),
        "]><a>&e9;</a>",
    ]
)


def markup(text: str | bytes) -> ElementTable:
    return read_markup(text_source(text))


def texts(text: str | bytes, tag: str = "a") -> list[str]:
    found = markup(text)
    return found.texts(found.named(tag))


def test_elements_come_with_line_depth_text_and_attributes() -> None:
    found = markup("<a>\n<b x='1'>one<c/>two</b>\n <b>three</b></a>")
    assert found.tags == ["a", "b", "c", "b"]
    assert found.line.tolist() == [1, 2, 2, 3]
    assert found.depth.tolist() == [0, 1, 2, 1]
    assert found.texts(found.named("b")) == ["onetwo", "three"]
    assert found.values(found.named("b"), "x") == ["1", None]


def test_tags_and_attributes_are_found_however_they_are_spelled() -> None:
    found = markup('<INEX_Topic topic_id="5"/>')
    assert found.values(found.named("inex-topic"), "topic-id") == ["5"]


def test_a_child_belongs_to_the_element_around_it() -> None:
    found = markup("<a><b><c/></b><c/><b/><b><d><c/></d></b></a>")
    assert found.owner(found.named("b"), found.named("c")).tolist() == [0, -1, 2]
    assert found.owner(found.named("x"), found.named("c")).tolist() == [-1, -1, -1]


def test_comments_character_data_and_entities_are_understood() -> None:
    assert texts("<a>1<!-- no -->2<?no?>3<![CDATA[<&]]></a>") == ["123<&"]
    found = markup("<a x='caf&eacute;'>&nbsp;&auml;&lt;&#955;</a>")
    assert found.texts(found.named("a")) == ["\xa0ä<λ"]
    assert found.values(found.named("a"), "x") == ["café"]
    own = '<!DOCTYPE a [<!ENTITY eacute "E"><!ENTITY lt "less"><!ENTITY x "y">]>'
    assert texts(f"{own}<a>&eacute;&x;&lt;</a>") == ["Ey<"]


def test_a_system_id_is_accepted_and_never_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('<!ENTITY x "secret">')
    for doctype in (
        f'<!DOCTYPE a SYSTEM "{secret}">',
        f'<!DOCTYPE a PUBLIC "-//x" "file://{secret}">',
        f'<!DOCTYPE a [<!ENTITY % p SYSTEM "{secret}"> %p;]>',
    ):
        assert texts(f"{doctype}<a>&eacute;</a>") == ["é"]
        assert "entity &x; is not declared" in refusal(markup, f"{doctype}<a>&x;</a>")


def test_other_encodings_are_read_by_declaration() -> None:
    for encoding in ("utf-8", "utf-16", "iso-8859-1", "cp1252"):
        text = f'<?xml version="1.0" encoding="{encoding.upper()}"?><a>né</a>'
        assert texts(text.encode(encoding)) == ["né"]


def test_empty_lines_may_come_first() -> None:
    assert markup('\r\n \n<?xml version="1.0"?>\n<a/>').line.tolist() == [4]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("<a>\n<b></a>", "xml.malformed", 2),
        ("\n\n<a>\n<b", "xml.malformed", 4),
        ("<a/><a/>", "xml.malformed", 1),
        ("<a>\n &foo;</a>", "xml.entity", 2),
        ("<a>\x00</a>", "xml.malformed", 1),
        (b"<a>\xff</a>", "xml.malformed", 1),
        ('<?xml version="1.0" encoding="klingon"?><a/>', "xml.encoding", 1),
        (b'<?xml version="1.0" encoding="shift_jis"?><a>\x81</a>', "xml.encoding", 1),
        (BOMB, "xml.malformed", 1),
        ("<a>" * 100_000 + "</a>" * 100_000, "xml.limit", 1),
        ("\n" + "<a>\n" * 2_000_000, "xml.limit", 1002),
        (f"<a>\n<{'b' * (MARKUP + 600_000)}/></a>", "xml.limit", 2),
        (f"<!-- {'b' * (MARKUP + 600_000)} --><a/>", "xml.limit", 1),
        (f"<a>\n<b c='{'y' * (LIMITS.attribute + 1)}'/></a>", "xml.limit", 2),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "/etc/passwd">]>\n<a>&x;</a>', "xml.entity", 2),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    text: str | bytes, code: str, line: int | None
) -> None:
    assert fault(markup, text) == (code, line)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "utf-32-be", "utf-32-le"])
def test_xml_is_known_as_such_in_any_encoding(encoding: str) -> None:
    assert is_xml(text_source("<a/>".encode(encoding)))
    assert not is_xml(text_source("1 Q0 a".encode(encoding))) or encoding in ("utf-16", "utf-32")


def test_a_long_file_is_read_as_a_whole() -> None:
    found = markup("<a>" + "".join(f"<b c='{i}'>\n{i}</b>" for i in range(60_000)) + "</a>")
    assert found.texts(found.named("b")) == [f"\n{i}" for i in range(60_000)]
    assert found.line[-1] == 60_000
