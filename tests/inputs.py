"""What the tests of readers and writers share: inputs from literals, refusals as text or codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import foveal
from foveal.formats import Source, find_format, list_formats

Results = list[tuple[str, str, int | None, int | None]]


WRITERS = {
    kind: {form.name: form.write for form in list_formats(kind) if form.write is not None}
    for kind in ("run", "judgements", "topics")
}
RUN_FORMATS, JUDGEMENT_FORMATS, TOPIC_FORMATS = WRITERS.values()
FOLDER_FORMATS = {name: write for name, write in JUDGEMENT_FORMATS.items() if "inex" in name}


def run_losses(run: foveal.Run, form: str) -> list[str]:
    return find_format(form, "run").list_losses(run)


def judgement_losses(judgements: foveal.Judgements, form: str) -> list[str]:
    return find_format(form, "judgements").list_losses(judgements)


def topic_losses(topics: foveal.Topics, form: str) -> list[str]:
    return find_format(form, "topics").list_losses(topics)


def text_source(text: str | bytes, path: str = "x") -> Source:
    """Read thoroughly, as for a conversion."""
    data = text.encode() if isinstance(text, str) else text
    return Source(path, data, "no hash", thorough=True)


def read_run(text: str | bytes, texts: Mapping[str, str] | None = None) -> foveal.Run:
    return foveal.read_run(text_source(text), texts=texts)


def read_judgements(text: str | bytes, texts: Mapping[str, str] | None = None) -> foveal.Judgements:
    return foveal.read_judgements(text_source(text), texts=texts)


def results(run: foveal.Run) -> Results:
    """Topic, document, start and end of every result in order; None where not known."""
    return run.to_frame().select("topic", "doc", "start", "end").rows()


def highlights(judgements: foveal.Judgements) -> Results:
    """Topic, document, start and end of every span; None for a document without any."""
    return judgements.to_frame().select("topic", "doc", "start", "end").rows()


def refusal(
    read: Callable[..., object], *args: object, error: type[Exception] = foveal.InputError
) -> str:
    """The message with which an input is refused."""
    with pytest.raises(error) as refused:
        read(*args)
    return str(refused.value)


def fault(read: Callable[..., object], *args: object) -> tuple[str, int | None]:
    """Return code and line of the first problem for which an input is refused."""
    with pytest.raises(foveal.InputError) as refused:
        read(*args)
    problem = refused.value.problems[0]
    return problem.code, problem.line


def rewritten(run: foveal.Run, folder: Path, form: str) -> foveal.Run:
    """The run written in a format and read again."""
    foveal.write_run(run, folder / "again", form)
    return foveal.read_run(folder / "again")
