"""A run from the cache is the run of the file; what is wrong with an entry costs time, no score."""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from command import call, write_toy
from foveal.formats import Source
from foveal.formats.cache import CacheWarning, RunCache
from inputs import RUN_FORMATS

FOL = "1 Q0 d1 1 0.5 mine 0 20\n# a comment\n1 Q0 d2 2 0.25 mine 5 10\n2 Q0 d1 1 -0.0 mine 0 0\n"
TREC = "1 Q0 d1 1 0.5 mine\n1 Q0 d2 2 0.25 mine\n"
ELEMENTS = "1 Q0 d1 1 0.5 mine /a[1]/b[2]\n1 Q0 d2 2 0.25 mine /a[1]\n"
JSON_LINES = (
    '{"topic": "1", "doc": "d1", "start": 0, "end": 9, "rank": 1, "tokens": 3, "colour": "red"}\n'
    '{"topic": "1", "doc": "d2", "start": 0, "end": 9, "rank": 2, "score": 2.5}\n'
)
XML = (
    '<inex-submission participant-id="12" run-id="x" task="Focused" query="automatic">'
    '<topic-fields title="yes" castitle="no" description="no" narrative="no"/>'
    "<description>plain</description><collections><collection>wikipedia</collection></collections>"
    '<topic topic-id="1"><result><file>d1</file><path>/a[1]</path><rsv>0.5</rsv></result>'
    "<result><file>d2</file><path>/a[1]/b[1]</path><rsv>0.25</rsv></result></topic>"
    "</inex-submission>"
)
SCATTERED = "1 Q0 d1 1 0.5 mine 0 20\n2 Q0 d1 1 0.5 mine 0 9\n1 Q0 d2 2 0.2 mine 5 10\n"
ALL_KINDS = (FOL, TREC, ELEMENTS, JSON_LINES, XML, SCATTERED)

names = st.text("aZ09é漢𝄞_-.", min_size=1, max_size=4).filter(lambda name: name != "all")
results = st.tuples(names, st.integers(0, 99), st.integers(0, 99))
some_runs = st.dictionaries(names, st.lists(results, min_size=1, max_size=5), min_size=1)


def everything(run: foveal.Run) -> dict[str, Any]:
    """All that a run holds, to the bit."""
    held = {field.name: getattr(run, field.name) for field in fields(run)}
    for name, value in held.items():
        if isinstance(value, np.ndarray):
            held[name] = (value.dtype.str, value.shape, value.tobytes(), value.flags.writeable)
        elif isinstance(value, pl.Series):
            held[name] = (value.dtype, value.to_list())
    held["codes"] = [getattr(note, "code", None) for note in run.notes]
    return held


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("text", ALL_KINDS)
def test_a_run_comes_back_as_it_was_read(text: str, thorough: bool, folder: Path) -> None:
    source = Source.of_text(text, "dir/some.run", thorough=thorough)
    expected = everything(foveal.read_run(source))
    assert everything(foveal.read_run(source, cache=folder)) == expected
    assert RunCache(folder).find(source) is not None
    assert everything(foveal.read_run(source, cache=folder)) == expected


@pytest.mark.parametrize("form", RUN_FORMATS)
@settings(max_examples=30)
@given(ranked=some_runs)
def test_runs_of_every_format(
    form: str, ranked: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    run = foveal.Run.from_results(
        {t: [(d, min(a, b), max(a, b)) for d, a, b in own] for t, own in ranked.items()}
    )
    if form in ("elements", "inex"):
        frame = run.to_frame().drop("rank").with_columns(xpath=pl.lit("/a[1]/b[2]"))
        run = foveal.Run.from_frame(frame, name="r")
    foveal.write_run(run, folder / "file", form)
    expected = everything(foveal.read_run(folder / "file"))
    for _ in range(2):
        assert everything(foveal.read_run(folder / "file", cache=folder / "cache")) == expected
    assert RunCache(folder / "cache").find(Source.open(folder / "file")) is not None


def test_an_entry_is_used(folder: Path) -> None:
    """Another run in the place of the entry is what is read: nothing was parsed."""
    source, other = Source.of_text(FOL), Source.of_text(SCATTERED)
    RunCache(folder).keep(source, foveal.read_run(other))
    assert len(foveal.read_run(source, cache=folder)) == 3
    assert foveal.read_run(source, cache=folder).line.tolist() == [1, 3, 2]


def test_what_changes_reading_changes_the_entry(folder: Path) -> None:
    cache = RunCache(folder)
    same = [Source.of_text(JSON_LINES, path) for path in ("a/x.jsonl", "b/x.jsonl.gz")]
    assert len({cache.path_of(source) for source in same}) == 1
    others = [
        Source.of_text(JSON_LINES, "y.jsonl"),
        Source.of_text(JSON_LINES + "\n", "x.jsonl"),
        Source.of_text(JSON_LINES, "x.jsonl", thorough=True),
    ]
    assert len({cache.path_of(source) for source in (*same, *others)}) == 4


def test_the_file_at_hand_is_named_not_the_one_that_was_kept(folder: Path) -> None:
    foveal.read_run(Source.of_text(FOL, "one/x.run"), cache=folder)
    again = foveal.read_run(Source.of_text(FOL, "other/x.run"), cache=folder)
    assert again.source.path == "other/x.run"
    assert len(entries(folder)) == 1


@settings(max_examples=60)
@given(data=st.data())
def test_a_damaged_entry_is_read_anew(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    source = Source.of_text(FOL)
    expected = everything(foveal.read_run(source, cache=folder))
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    for damaged in (flipped, whole[:at], b"", whole + b"x", b"foveal run\n"):
        entry.write_bytes(damaged)
        assert RunCache(folder).find(source) is None
        assert everything(foveal.read_run(source, cache=folder)) == expected
        assert entry.read_bytes() == whole


def test_errors_name_file_and_line_with_and_without_an_entry(folder: Path) -> None:
    truth = foveal.Judgements.from_highlights({"1": {"d1": {"spans": [(0, 9)], "length": 10}}})
    said = set()
    for cache in (None, folder, folder):
        run = foveal.read_run(Source.of_text("# first\n\n" + FOL, "x.run"), cache=cache)
        with pytest.raises(foveal.InputError) as refused:
            foveal.evaluate(run, truth, "iP@0.01")
        said.add(str(refused.value))
    (message,) = said
    assert message.startswith("x.run:3: the result ends at 20")


def test_a_file_that_is_refused_leaves_nothing_behind(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(foveal.InputError, match="x:2: 3 fields found"):
            foveal.read_run(Source.of_text(FOL[:24] + "1 Q0 d\n", "x"), cache=folder)
    assert not folder.exists()


def test_with_texts_the_cache_is_left_alone(folder: Path) -> None:
    text = '{"topic": "1", "doc": "d", "start": 0, "end": 2}\n'
    foveal.read_run(Source.of_text(text), texts={"d": "ab"}, cache=folder)
    assert not folder.exists()


@pytest.mark.parametrize("place", ["file/cache", "file"])
def test_a_folder_that_cannot_be_written_only_warns(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    source = Source.of_text(FOL)
    with pytest.warns(CacheWarning, match="runs are not cached"):
        run = foveal.read_run(source, cache=tmp_path / place)
    assert everything(run) == everything(foveal.read_run(source))
    assert RunCache(tmp_path / place).refusal is not None


def test_a_full_disk_only_warns_and_leaves_nothing_half_written(folder: Path) -> None:
    resource = pytest.importorskip("resource")
    source = Source.of_text(FOL * 50)
    folder.mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal = pytest.importorskip("signal")
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = foveal.read_run(source, cache=folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [warning.category for warning in caught] == [CacheWarning]
    assert len(run) == 150
    assert not entries(folder)


def read_often(path: str, cache: str) -> int:
    return sum(len(foveal.read_run(path, cache=cache)) for _ in range(10))


def test_several_processes_use_one_folder(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "x.run"
    path.write_text(FOL)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        found = list(pool.map(read_often, [str(path)] * 4, [str(folder)] * 4))
    assert found == [30] * 4
    assert len(entries(folder)) == 1


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_toy(tmp_path))
    return tmp_path


COMMAND = ("evaluate", "run", "-j", "qrels", "-m", "iP@0.01", "-m", "AiP", "-f", "json")


def test_the_command_prints_the_same_with_a_cold_a_warm_and_no_cache(
    toy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without = call(capsys, *COMMAND)
    assert without.code == 0
    assert [call(capsys, *COMMAND, "--cache", "kept") for _ in range(2)] == [without] * 2
    assert len(entries(toy / "kept")) == 1
    monkeypatch.setenv("FOVEAL_CACHE", "other")
    assert call(capsys, *COMMAND) == without
    assert len(entries(toy / "other")) == 1


def test_the_command_says_that_nothing_is_cached_and_scores(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (toy / "run").is_file()
    without, refused = call(capsys, *COMMAND), call(capsys, *COMMAND, "--cache", "run")
    assert refused.err == (
        f"warning: {toy / 'run'}: runs are not cached: Not a directory\n{without.err}"
    )
    assert refused.out == without.out
