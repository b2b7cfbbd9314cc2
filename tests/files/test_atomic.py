"""Writing: a file is complete and new, or exactly as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foveal.errors import InputError
from foveal.files.atomic import same_file, write_file, write_files, write_folder
from inputs import refusal


def test_text_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_file(tmp_path / "text", "né 𝄞\r\n")
    write_file(tmp_path / "bytes", b"\xff\x00")
    assert (tmp_path / "text").read_bytes() == "né 𝄞\r\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\xff\x00"


def test_an_existing_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o640)
    write_file(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "out", "new")
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to_not_replaced() -> None:
    write_file(os.devnull, "into nothing")
    assert Path(os.devnull).is_char_device()


def test_a_name_of_the_greatest_length_is_possible(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_file(path, "new")
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    expected = f"{path}: cannot be written: No space" if isinstance(error, OSError) else "$"
    with pytest.raises((InputError, KeyboardInterrupt), match=f"^{expected}"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    assert refusal(write_file, tmp_path, "") == f"{tmp_path}: is a directory; expected a file name"
    path = tmp_path / "no" / "out"
    assert refusal(write_file, path, "") == f"{path}: cannot be written: No such file or directory"


# -- several files -------------------------------------------------------------------------------


def test_several_files_are_written_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("old")
    message = refusal(write_files, {first: "new", tmp_path / "no" / "b": "new"})
    assert message == f"{tmp_path / 'no' / 'b'}: cannot be written: No such file or directory"
    assert first.read_text() == "old"
    assert list(tmp_path.iterdir()) == [first]
    write_files({first: "new", second: b"two"})
    assert (first.read_text(), second.read_bytes()) == ("new", b"two")
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_a_stream_is_written_when_the_files_are_there(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    refusal(write_files, {"-": "said too early", tmp_path: "a folder"})
    assert capsysbinary.readouterr().out == b""
    write_files({"-": "said", tmp_path / "a": "new"})
    assert capsysbinary.readouterr().out == b"said"
    assert (tmp_path / "a").read_text() == "new"


def test_one_file_has_many_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert same_file("out", tmp_path / "out")  # which is not there yet
    (tmp_path / "a").write_text("")
    (tmp_path / "b").symlink_to("a")
    os.link("a", "c")
    assert same_file("a", "b")
    assert same_file("b", "./c")
    assert not same_file("a", "d")


@pytest.mark.parametrize("replaceable", [("a", "b"), ()])
def test_a_folder_is_new_or_empty(tmp_path: Path, replaceable: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "new" / "one", tmp_path / "empty"):
        write_folder(folder, {"a": "1", "b": "2"}, replaceable=replaceable)
        assert {p.name: p.read_text() for p in folder.iterdir()} == {"a": "1", "b": "2"}


def test_what_a_folder_may_hold(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    message = refusal(write_folder, tmp_path, {"a": "new"})
    assert message == f"{tmp_path}: the folder holds 'a'; expected a new or an empty one"
    assert (tmp_path / "a").read_text() == "old"
    write_folder(tmp_path, {"a": "new"}, replaceable="a")
    (tmp_path / "other").write_text("other")
    message = refusal(lambda: write_folder(tmp_path, {"a": "newer"}, replaceable="a"))
    assert "the folder holds 'other'" in message
    message = refusal(write_folder, tmp_path / "a", {"b": ""})
    assert message == f"{tmp_path / 'a'}: is a file; expected a folder for several files"


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_is_written_whole_or_not(tmp_path: Path, there: bool) -> None:
    """A name that is too long for the system comes last."""
    folder = tmp_path / "made"
    if there:
        folder.mkdir()
    message = refusal(write_folder, folder, {"a": "new", "x" * 300: "new"})
    assert "cannot be written: File name too long" in message
    assert sorted(tmp_path.rglob("*")) == ([folder] if there else [])
