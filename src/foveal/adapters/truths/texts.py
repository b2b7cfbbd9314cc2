"""The texts of documents from a folder of files, or from JSON Lines of names and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from foveal.adapters.truths.objects import json_lines
from foveal.errors import InputError
from foveal.files.source import Source

__all__ = ["FolderTexts", "read_texts"]


class FolderTexts(Mapping[str, str]):
    """The files of a folder, read when they are asked for.

    A document is called as its file is from the folder on, with or without the extension. If two
    files differ in nothing else, neither goes by the shorter name.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        names = {path.relative_to(self.folder).as_posix(): path for path in files}
        short: dict[str, list[Path]] = {}
        for name, path in names.items():
            short.setdefault(name.removesuffix(path.suffix), []).append(path)
        only = {name: paths[0] for name, paths in short.items() if len(paths) == 1}
        self._files = {**only, **names}
        self._read: dict[Path, str] = {}

    def __getitem__(self, name: str) -> str:
        path = self._files[name]
        if path not in self._read:
            source = Source.open(path)
            source.check_utf8()
            # Lines may end in any way: their ends are characters as Python reads them.
            text = source.data.decode()
            self._read[path] = text.replace("\r\n", "\n").replace("\r", "\n")
        return self._read[path]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def read_texts(path: str | Path) -> Mapping[str, str]:
    """The texts of a folder of files, or of a file with ``{"doc", "text"}`` on each line."""
    if Path(path).is_dir():
        found = FolderTexts(path)
        if not found:
            raise InputError.at("unclassified", str(path), None, "the directory holds no file")
        return found
    return {line["doc"].name: line["text"].text for line in json_lines(Source.open(path))}
