"""The table of file formats, and the loop over it that recognises a file by its content.

A module of `MODULES` lists its formats in `FORMATS`, and is imported when one of them is asked for.
Another package adds formats by entry points of the group ``foveal.formats``, each of which loads a
`Format`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, NamedTuple, get_args

from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source, is_xml

__all__ = [
    "GROUP",
    "JSON_FORMATS",
    "MAGIC",
    "MODULES",
    "ROOTS",
    "Format",
    "Kind",
    "Parsed",
    "detect_format",
    "find_format",
    "found_kind",
    "head_fields",
    "json_kind",
    "lazy_losses",
    "list_formats",
    "never",
    "parse_with",
]

Kind = Literal["run", "judgements", "topics", "pool", "results"]


class Parsed(NamedTuple):
    """The content of the good lines of a file, and everything wrong with the others.

    `content` is None if no line is good. A file without problems has content.
    """

    content: Any
    problems: list[Problem]

    def checked(self) -> Any:
        """Return the content; raise all problems if there are any."""
        if self.problems:
            raise InputError(sorted(self.problems, key=lambda problem: problem.line or 0))
        return self.content


@dataclass(frozen=True)
class Format:
    """A file format: how to recognise, read and write it.

    Parameters
    ----------
    name : str
        As users write it: ``foveal convert --to fol``. Formats of two kinds may share a name.
    kind : {"run", "judgements", "topics", "pool", "results"}
    explanation : str
        A line that says what the format is, then the fields and their meaning, as Markdown.
    example : str
        A few lines that `parse` reads. Empty for binary formats.
    sniff : function of a Source
        Returns True if the beginning of the file is of this format. It never raises.
    parse : function of a Source
        Returns `Parsed`. Wrong content never raises: each bad line becomes a `Problem`, and the
        content is made from the other lines. It takes `texts` by keyword if `uses_texts`.
    write : function of the content, optional
        Returns the content of a file, or for a folder the content of each of its files by name.
    losses : function of the content, optional
        Lists what `write` leaves out, each as ``what: how many``.
    uses_texts : bool
        `parse` takes the texts of documents: ``parse(source, texts={"doc": "text"})``.
    is_folder : bool
        `write` returns several files.
    """

    name: str
    kind: Kind
    explanation: str
    example: str
    sniff: Callable[[Source], bool]
    parse: Callable[..., Parsed]
    write: Callable[[Any], str | bytes | dict[str, str]] | None = None
    losses: Callable[[Any], list[str]] | None = None
    uses_texts: bool = False
    is_folder: bool = False

    @property
    def summary(self) -> str:
        """The first line of the explanation."""
        return self.explanation.partition("\n")[0]

    @property
    def reads(self) -> bool:
        """True if files of this format can be recognised by it."""
        return self.sniff is not never

    def read(self, source: Source, texts: Mapping[str, str] | None = None) -> Parsed:
        """Parse a source, with the texts of documents if the format uses them."""
        return self.parse(source, texts=texts) if self.uses_texts else self.parse(source)

    def list_losses(self, content: Any) -> list[str]:
        """List what a file of this format does not hold, each as ``what: how many``."""
        return [] if self.losses is None else self.losses(content)


def never(_source: Source) -> bool:
    """Recognise no file: the sniff of a format that another one reads."""
    return False


def parse_with(read: Callable[..., Any]) -> Callable[..., Parsed]:
    """Return a parse function from a reader that raises: one problem refuses the whole file."""

    def parse(source: Source, **texts: Any) -> Parsed:
        try:
            return Parsed(read(source, **texts), [])
        except InputError as error:
            return Parsed(None, [*error.problems])

    return parse


def lazy_losses(function: str, **settings: str) -> Callable[[Any], list[str]]:
    """Return a function of `foveal.formats.losses`, which is imported when it is called."""
    return lambda content: getattr(import_module("foveal.formats.losses"), function)(
        content, **settings
    )


MODULES: dict[str, dict[str, str]] = {
    "run": {
        "fol": "fol",
        "elements": "fol",
        "trec": "trec",
        "jsonl": "jsonl",
        "parquet": "parquet",
        "inex": "inex_runs",
        "trec-genomics": "trec_genomics",
    },
    "judgements": {
        "fol": "fol",
        "trec": "trec",
        "jsonl": "jsonl",
        "inex": "inex_assessments",
        "inex2002": "inex_assessments",
        "inex2003": "inex_assessments",
        "inex2005": "inex_assessments",
        "inex2006": "inex_assessments",
        "trec-genomics": "trec_genomics",
    },
    "topics": {"inex": "topic_files", "jsonl": "topic_files", "trec": "topic_files"},
    "pool": {"jsonl": "pool_files"},
    "results": {"json": "result_files"},
}
"""The module of each format by kind and name, in the order in which a file is compared with them.

Their sniffs need not exclude each other: the first that fits is taken.
"""

GROUP = "foveal.formats"
"""The group of entry points by which other packages add formats."""
MAGIC = (b"PAR1", b"ARROW1")
"""How Parquet and Arrow files begin."""
JSON_FORMATS: dict[Kind, tuple[str, ...]] = {
    "run": ("foveal-run", "focused-run"),
    "judgements": ("foveal-judgements", "focused-qrels"),
    "topics": ("foveal-topics",),
    "pool": ("foveal-pool",),
}
"""Names of the formats in headers of JSON Lines."""

_ASKS = {"title", "query", "castitle", "description"}
_ANSWERS = {"start", "end", "xpath", "bep", "rank", "score", "text", "spans", "elements", "quote"}
_SAVED = re.compile(rb'\s*\{\s*"meta"\s*:')
ROOTS = {"run": "inex-submission", "judgements": "assessments"}
"""The root elements of INEX XML."""
_SENTENCES = {
    "run": "this is a run",
    "judgements": "these are judgements",
    "topics": "these are topics",
    "pool": "this is a pool",
    "results": "these are saved results, as 'foveal evaluate -f json' writes them",
}
_LINES = {
    "run": "a run has 8 (topic Q0 doc rank rsv runid start length), 7 (topic Q0 doc rank rsv runid "
    "/path[1]/of[1]/element[2], or of TREC Genomics topic doc rank score start length tag) or 6 "
    "(topic Q0 doc rank score runid)",
    "judgements": "judgements have 4 (topic iteration doc grade) or more (topic Q0 doc relchars "
    "doclen [bep off:len ...], or of TREC Genomics "
    "topic<TAB>doc<TAB>start<TAB>length<TAB>aspects)",
}


# -- the table -------------------------------------------------------------------------------------


def list_formats(kind: str | None = None) -> Iterator[Format]:
    """Yield the formats of a kind, or all, in the order of the table; those of others come last.

    >>> [form.name for form in list_formats("judgements")][:3]
    ['fol', 'trec', 'jsonl']
    """
    for own in (kind,) if kind else get_args(Kind):
        for name, module in MODULES[own].items():
            for form in import_module(f"foveal.formats.{module}").FORMATS:
                if (form.kind, form.name) == (own, name):
                    yield form
    yield from (form for form in _load_entry_points() if kind in (None, form.kind))


def find_format(name: str, kind: str, *, to_write: bool = False) -> Format:
    """Return the format of a name; refuse an unknown one, or one that cannot be written."""
    known: list[str] = []
    for form in list_formats(kind):
        if form.write is not None or not to_write:
            if form.name == name:
                return form
            known.append(form.name)
    raise UsageError(f"unknown format {name!r}; expected {' or '.join(known)}")


def _load_entry_points() -> list[Format]:
    """Return the formats of other packages by name; refuse a bad one, naming its entry point."""
    from importlib.metadata import entry_points

    found: list[Format] = []
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        problem = None
        try:
            form = point.load()
        except Exception as error:  # whatever another package's module raises
            problem = f"cannot be loaded ({type(error).__name__}: {error})"
        else:
            if not isinstance(form, Format):
                problem = "is not a foveal.formats.Format"
            elif form.name in MODULES[form.kind]:
                problem = f"takes the name {form.name!r}, which is that of Foveal itself"
        if problem is not None:
            raise UsageError(
                f"the format of the entry point '{point.name} = {point.value}' ({GROUP}) "
                f"{problem}; mend or remove the package that brings it"
            )
        found.append(form)
    return found


# -- detection -------------------------------------------------------------------------------------


def detect_format(source: Source, kind: Kind) -> Format:
    """Return the format of a file that holds a run, judgements and so on; refuse anything else."""
    for form in list_formats(kind):
        if form.sniff(source):
            return form
    number, first = source.head
    code, what = f"{kind}.format", "a run" if kind == "run" else kind
    if not number:
        verb = "is" if kind == "run" else "are"
        message = f"the {kind} {verb} empty: the file holds no line of data"
        raise source.error(f"{kind}.empty", None, message)
    if first.startswith(b"["):
        raise source.error(
            "json.array",
            number,
            "a JSON array that is too large or holds no objects; expected JSON Lines, one object "
            "per line (jq -c '.[]' FILE writes them)",
        )
    if first.startswith(b"{") and json_kind(source) is None:
        return find_format("jsonl", kind)  # its parser names the bad line
    fields = head_fields(source)
    for form in list_formats():
        # Lines of fields are told apart by their number; only TREC Genomics is sure.
        if form.kind != kind and (not fields or "genomics" in form.name) and form.sniff(source):
            name = " (TREC Genomics)" if fields else ""
            line = None if source.data.startswith(MAGIC) else number
            raise source.error(code, line, f"{_SENTENCES[form.kind]}{name}; expected {what}")
    if kind == "judgements" and len(fields) > 4:
        return find_format("fol", kind)  # its parser names the bad field
    if fields and kind in _LINES:
        raise source.error(code, number, f"{len(fields)} fields found; {_LINES[kind]}")
    if is_xml(source):
        from foveal.formats.markup import root_tag

        if kind not in ROOTS:
            return find_format("inex", kind)  # its parser names the root element
        message = f"root element <{root_tag(source)}>; expected <{ROOTS[kind]}>"
        raise source.error(code, number, message)
    raise source.error(code, number, f"the format is not recognised; expected {what}")


def found_kind(source: Source) -> Kind | None:
    """Return ``run``, ``judgements``, ``topics``, ``pool``, ``results`` or None (not recognised).

    >>> found_kind(Source.of_text("1 0 D1 1"))
    'judgements'
    """
    return next((form.kind for form in list_formats() if form.sniff(source)), None)


def head_fields(source: Source) -> list[bytes]:
    """Return the fields of the first line between blanks; none in XML, JSON and columnar files.

    >>> head_fields(Source.of_text("# a run" + chr(10) + "1 Q0 D1 1 0.5 mine"))
    [b'1', b'Q0', b'D1', b'1', b'0.5', b'mine']
    """
    first = source.head[1]
    fields = first.split()
    if first.startswith((b"<", b"{", b"[")):
        return []
    is_other = fields[1:2] != [b"Q0"] and (source.data.startswith(MAGIC) or is_xml(source))
    return [] if is_other else fields


def json_kind(source: Source) -> Kind | None:
    """Return the kind of a JSON file by its header or its first object; None if it has neither."""
    if not source.head[1].startswith(b"{"):
        return None
    if _SAVED.match(source.data):
        return "results"
    from foveal.files.source import first_lines
    from foveal.formats.objects import header_of, loads

    header, header_line = header_of(source)
    for kind, names in JSON_FORMATS.items():
        if header.get("format") in names:
            return kind
    objects = first_lines(source.data, 2)[1 if header_line else 0 :]
    try:
        example = loads(objects[0][1]) if objects else None
    except ValueError:
        return None
    if not isinstance(example, dict):
        return None
    if _ASKS & example.keys() and not _ANSWERS & example.keys():
        return "topics"
    return "judgements" if {"spans", "elements", "quote"} & example.keys() else "run"
