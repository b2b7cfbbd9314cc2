"""Read and write files: the table of formats, recognised by content, never only by the name.

A module of `MODULES` lists its formats in `FORMATS`, and is imported when one of them is asked for.
Another package adds formats by entry points of the group ``foveal.formats``; each loads a `Format`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from foveal.errors import InputError, Problem, UsageError, plural
from foveal.files.source import STDIN, first_lines, is_xml, list_files
from foveal.files.source import Source as Source
from foveal.formats.rows import raise_problems
from foveal.model import Judgements, Run

if TYPE_CHECKING:
    from foveal.formats.pool_files import read_pool as read_pool
    from foveal.formats.pool_files import write_pool as write_pool
    from foveal.formats.result_files import read_results as read_results
    from foveal.model import Topics

Kind = Literal["run", "judgements", "topics", "pool", "results"]
JsonKind = Kind | Literal["answers"]  # answers are runs of a format of their own


class Parsed(NamedTuple):
    """The content of the good lines of a file, None if there is none, and the others' problems."""

    content: Any
    problems: list[Problem]

    def get_content(self) -> Any:
        """Return the content; raise all problems if there are any."""
        if self.problems:
            raise_problems(self.problems)
        return self.content


@dataclass(frozen=True)
class Format:
    """A file format: how to recognise, read and write it; docs/howto/add-a-format.md adds one."""

    name: str  # ``foveal convert --to fol``; formats of two kinds may share a name
    kind: Kind
    explanation: str  # a line that says what the format is, then the fields, as Markdown
    example: str  # a few lines that `parse` reads; none for binary formats
    sniff: Callable[[Source], bool]  # True if the file begins as this format does; never raises
    # Bad lines become problems; an `InputError` is for files that cannot be read at all.
    parse: Callable[..., Parsed]
    # Returns the content of a file, or of each file of a folder by name.
    write: Callable[[Any], str | bytes | dict[str, str]] | None = None
    losses: Callable[[Any], list[str]] | None = None  # what `write` omits: ``what: how many``
    uses_texts: bool = False  # ``parse(source, texts={"doc": "text"})``
    is_folder: bool = False  # `write` returns several files

    @property
    def summary(self) -> str:
        """The first line of the explanation."""
        return self.explanation.partition("\n")[0]

    @property
    def reads(self) -> bool:
        """True if files of this format can be recognised by it."""
        return self.sniff is not never

    def list_losses(self, content: Any) -> list[str]:
        """List what a file of this format does not hold, each as ``what: how many``."""
        return [] if self.losses is None else self.losses(content)


def never(_source: Source) -> bool:
    """Recognise no file: the sniff of a format that another one reads."""
    return False


def parse_with(read: Callable[..., Any]) -> Callable[..., Parsed]:
    """Return a parse function from a reader that raises: one problem refuses the whole file."""
    return lambda source, **texts: Parsed(read(source, **texts), [])


def lazy_losses(function: str, **settings: Any) -> Callable[[Any], list[str]]:
    """Return a function of `foveal.formats.losses`, which is imported when it is called."""
    return lambda content: getattr(import_module("foveal.formats.losses"), function)(
        content, **settings
    )


# The modules of each kind of file, in the order in which a file is compared with their formats.
# Their sniffs need not exclude each other: the first that fits is taken.
MODULES: dict[str, tuple[str, ...]] = {
    "run": ("lines", "jsonl", "columns", "inex_runs", "trec_genomics", "answers"),
    "judgements": ("lines", "jsonl", "inex_assessments", "trec_genomics"),
    "topics": ("topic_files",),
    "pool": ("pool_files",),
    "results": ("result_files",),
}
GROUP = "foveal.formats"  # the entry points by which other packages add formats
MAGIC = (b"PAR1", b"ARROW1")  # how Parquet and Arrow files begin
# The beginnings of JSON, and of XML also in UTF-16.
_NOT_FIELDS = (*MAGIC, b"<", b"{", b"[", b"\0", b"\xff\xfe", b"\xfe\xff")
# Names of the formats in headers of JSON Lines.
JSON_FORMATS: dict[JsonKind, tuple[str, ...]] = {
    "run": ("foveal-run", "focused-run"),
    "answers": ("foveal-answers",),
    "judgements": ("foveal-judgements", "focused-qrels"),
    "topics": ("foveal-topics",),
    "pool": ("foveal-pool",),
}
_EMPTY = {
    "run": "the run is empty: it holds no result",
    "judgements": "the judgements are empty: no document is judged",
}
_ASKS = {"title", "query", "castitle", "description"}
_JUDGES = {"spans", "elements", "quote"}
_ANSWERS = {"start", "end", "xpath", "bep", "rank", "score", "text"} | _JUDGES
_SAVED = re.compile(rb'\s*\{\s*"meta"\s*:')


# -- the table -------------------------------------------------------------------------------------


def list_formats(kind: str | None = None) -> Iterator[Format]:
    """Yield the formats of a kind, or all, in the order of the table; those of others come last."""
    for own in (kind,) if kind else MODULES:
        for module in MODULES[own]:
            forms = import_module(f"foveal.formats.{module}").FORMATS
            yield from (form for form in forms if form.kind == own)
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
        try:
            form = point.load()
            if not isinstance(form, Format) or form.kind not in MODULES:
                raise TypeError(f"expected a foveal.formats.Format of {' or '.join(MODULES)}")
        except Exception as error:  # whatever another package's module raises
            raise UsageError(
                f"the format of the entry point '{point.name} = {point.value}' ({GROUP}) cannot be "
                f"loaded ({type(error).__name__}: {error}); fix or remove the package"
            ) from None
        found.append(form)
    return found


# -- detection -------------------------------------------------------------------------------------


def detect_format(source: Source, kind: Kind) -> Format:
    """Return the format of a file that holds a run, judgements and so on; refuse anything else."""
    for form in list_formats(kind):
        if form.sniff(source):
            return form
    number, first = source.head
    if not number:
        raise _report_empty(source, kind)
    if (other := detect_kind(source)) is not None:
        found = f"this is a {other}" if other in ("run", "pool") else f"these are {other}"
    elif first.startswith(b"{"):
        return find_format("jsonl", kind)  # its parser names the bad line
    elif not is_xml(source):
        found = f"{plural(len(head_fields(source)), 'field')} found"
    elif kind == "topics":
        return find_format("inex", kind)  # its parser names the elements
    else:
        from foveal.formats.markup import root_tag

        found = f"root element <{root_tag(source)}>"
    text = f"{found}; expected {'a ' if kind in ('run', 'pool') else ''}{kind}"
    hint = "" if other else " ('foveal formats' shows the fields of each format)"
    raise source.error(f"{kind}.format", number, text + hint)


def _report_empty(source: Source, kind: str) -> InputError:
    return source.error(f"{kind}.empty", None, _EMPTY.get(kind, f"the {kind} are empty"))


def detect_kind(source: Source) -> Kind | None:
    """Return ``run``, ``judgements``, ``topics``, ``pool``, ``results`` or None."""
    return next((form.kind for form in list_formats() if form.sniff(source)), None)


def head_fields(source: Source) -> list[bytes]:
    """Return the fields of the first line; none in XML, JSON and columnar files."""
    return [] if source.head[1].startswith(_NOT_FIELDS) else source.head[1].split()


def json_kind(source: Source) -> JsonKind | None:
    """Return the kind of a JSON file by its header or its first object; None if it has neither."""
    if not source.head[1].startswith(b"{"):
        return None
    if _SAVED.match(source.data):
        return "results"
    from foveal.formats.objects import find_header, loads

    header, header_line = find_header(source)
    for kind, names in JSON_FORMATS.items():
        if header.get("format") in names:
            return kind
    try:
        keys = {*loads([*islice(first_lines(source.data), 2)][1 if header_line else 0][1])}
    except (IndexError, TypeError, ValueError):  # no line, or another value than an object
        return None
    if _ASKS & keys and not _ANSWERS & keys:
        return "topics"
    if "answer" in keys and "doc" not in keys:
        return "answers"
    return "judgements" if (_JUDGES | {"answerable"}) & keys else "run"


# -- reading ---------------------------------------------------------------------------------------


def read_run(
    path: str | Path | Source,
    *,
    texts: Mapping[str, str] | None = None,
    thorough: bool = False,
    hashed: bool = True,
) -> Run:
    """Read a run of any format.

    Parameters
    ----------
    path : path, ``"-"`` for standard input, or Source
    texts : mapping of document name to text, optional
        Needed for results given by their text, and offsets in bytes or UTF-16 units.
    thorough : bool
        Count the fields that are not known, for `Run.unread`.
    hashed : bool
        Keep the hash of the file in `Run.source`. It takes a tenth of the time of scoring.
    """
    if not isinstance(path, Source):
        path = Source.open(path, thorough=thorough, hashed=hashed)
    run: Run = parse_file(path, "run", texts).get_content()
    return run


def read_judgements(
    paths: str | Path | Source | Sequence[str | Path | Source],
    *,
    texts: Mapping[str, str] | None = None,
    thorough: bool = False,
) -> Judgements:
    """Read judgements of any format; several files, a directory or a pattern become one set.

    Parameters
    ----------
    paths : path, Source or a sequence of them
    texts : mapping of document name to text, optional
        Needed for spans that have a quote and no offsets, and where the header declares offsets in
        bytes or UTF-16 units.
    thorough : bool
        Count the fields that are not known, for `Judgements.unread`.
    """
    files = list_files(paths, "judgements")
    parts = []
    for file in files:
        source = file if isinstance(file, Source) else Source.open(file, thorough=thorough)
        parts.append(parse_file(source, "judgements", texts).get_content())
    return parts[0] if len(parts) == 1 else Judgements.merged(parts)


def read_topics(
    paths: str | Path | Source | Sequence[str | Path | Source], *, thorough: bool = False
) -> Topics:
    """Read topics of any format; several files, a directory or a pattern become one set.

    With `thorough`, unknown fields are counted in `Topics.unread`.
    """
    from foveal.model import Topics

    files = list_files(paths, "topics")
    sources = (Source.of(file, thorough=thorough).in_lines() for file in files)
    return Topics.merged([detect_format(own, "topics").parse(own).get_content() for own in sources])


def parse_file(source: Source, kind: Kind, texts: Mapping[str, str] | None = None) -> Parsed:
    """Return what all good lines of a run or of judgements hold, and the problems of the others."""
    try:
        if source.head[1].startswith(b"["):
            source = source.in_lines()
        form = detect_format(source, kind)
        parsed = form.parse(source, texts=texts) if form.uses_texts else form.parse(source)
    except InputError as error:
        parsed = Parsed(None, [*error.problems])
    found = parsed.content
    if not (found is None or found.topics or getattr(found, "topics_without_results", ())):
        parsed = Parsed(None, parsed.problems or [*_report_empty(source, kind).problems])
    return parsed


def find_kind(path: str | Path | Source) -> str:
    """Return the kind of a file or of the first file of a directory: run, judgements or topics."""
    source = Source.of(list_files(path, "files")[0])
    kind = detect_kind(source.in_lines())
    if kind is None:
        message = "not recognised; expected a run, judgements or topics"
        raise source.error("file.format", None, message)
    return kind


# -- writing ---------------------------------------------------------------------------------------


def write_run(run: Run, path: str | Path, form: str) -> None:
    """Write a run in a format, completely or not at all; ``-`` is standard output."""
    _write(run, path, form, "run")


def write_judgements(judgements: Judgements, path: str | Path, form: str) -> None:
    """Write judgements in a format, completely or not at all; ``-`` is standard output.

    Formats of INEX make a folder of complete files.
    """
    _write(judgements, path, form, "judgements")


def write_topics(topics: Topics, path: str | Path, form: str) -> None:
    """Write topics in a format, completely or not at all; ``-`` is standard output."""
    _write(topics, path, form, "topics")


def _write(content: Any, path: str | Path, name: str, kind: Kind) -> None:
    from foveal.files.atomic import write_file, write_folder

    form = find_format(name, kind, to_write=True)
    if form.is_folder and str(path) == STDIN:
        raise UsageError(f"{form.name} is a folder of files; expected the name of one")
    assert form.write is not None  # others are not found
    written = form.write(content)
    if isinstance(written, dict):
        write_folder(path, written, replaceable=written)
    else:
        write_file(path, written)


def __getattr__(name: str) -> Any:
    """Load a name that reading runs and judgements does not need when it is asked for."""
    home = {"read_pool": "pool_files", "read_results": "result_files", "write_pool": "pool_files"}
    if name in home:
        return getattr(import_module(f"foveal.formats.{home[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
