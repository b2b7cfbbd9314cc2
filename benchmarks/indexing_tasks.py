"""What a measured process of the indexing benchmark does: one task, timed after its imports.

    python -m benchmarks.indexing_tasks index_1 DIRECTORY

prints what it found as JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from xml.parsers import expat

import numpy as np

from benchmarks.articles import PARTS
from benchmarks.processes import Report, timed
from foveal.collection import Collection, build_index
from foveal.collection.storage import open_sections
from foveal.executors import Processes

__all__ = ["TASKS"]

_PROBES = 2_000_000


def _files(folder: Path) -> list[Path]:
    return sorted((folder / "articles").rglob("*.xml"))


def read(folder: Path) -> Report:
    """Read every file once."""
    return {"bytes": sum(len(path.read_bytes()) for path in _files(folder))}


def parse(folder: Path) -> Report:
    """What no indexing in Python can avoid: a call for every tag and every piece of text."""

    def opening(_tag: str, _attributes: dict[str, str]) -> None:
        pass

    def ignored(_: str) -> None:
        pass

    for path in _files(folder):
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = opening
        parser.EndElementHandler = ignored
        parser.CharacterDataHandler = ignored
        parser.Parse(path.read_bytes(), True)  # noqa: FBT003 - expat's signature
    return {}


def _index(source: Path, output: Path, workers: int) -> Report:
    read_bytes = 0

    def progress(_documents: int, size: int, _done: float) -> None:
        nonlocal read_bytes
        read_bytes += size

    output.unlink(missing_ok=True)
    shutil.rmtree(output.with_name(f".{output.name}.partial"), ignore_errors=True)
    with Processes(workers) if workers > 1 else nullcontext() as executor:
        index = build_index(source, output, executor=executor, progress=progress)
    return {
        "bytes": read_bytes,
        "elements": index.elements,
        "documents": len(index),
        "paths": index.header["paths"],
        "index_bytes": output.stat().st_size,
    }


def lookup(folder: Path) -> Report:
    """Look up elements drawn at random, by number and by name."""
    begin = time.perf_counter()
    collection = Collection.open(folder / "index")
    opened = time.perf_counter()
    documents, paths = collection.documents, collection.xpaths()
    ready = time.perf_counter()
    _, sections = open_sections(folder / "index")
    rng = np.random.default_rng(0)
    # Ninety-nine of a hundred are elements; the others are some document with some path.
    element = rng.integers(0, collection.elements, _PROBES // 100 * 99)
    others = _PROBES - len(element)
    of_element = np.searchsorted(sections["doc_bounds"], element, side="right") - 1
    doc = np.concatenate([of_element, rng.integers(0, len(collection), others)])
    path = np.concatenate([sections["path"][element], rng.integers(0, len(paths), others)])
    path = path.astype(np.int64)
    names, xpaths = documents["doc"].gather(doc), paths.gather(path)
    drawn = time.perf_counter()
    found = collection.find(doc, path)
    by_number = time.perf_counter()
    resolved = collection.resolve(names, xpaths)
    by_name = time.perf_counter()
    assert len(resolved.problem) == int((found < 0).sum()) < _PROBES // 20
    return {
        "open": opened - begin,
        "tables": ready - opened,
        "find": _PROBES / (by_number - drawn),
        "resolve": _PROBES / (by_name - by_number),
    }


TASKS: dict[str, Callable[[Path], Report]] = {
    "read": read,
    "expat": parse,
    "index_quarter": lambda folder: _index(folder / "articles" / PARTS[0], folder / "quarter", 1),
    "index_1": lambda folder: _index(folder / "articles", folder / "index", 1),
    "index_2": lambda folder: _index(folder / "articles", folder / "index_2", 2),
    "lookup": lookup,
}


def main(name: str, folder: str) -> None:
    report: Report = {}
    took = timed(lambda: report.update(TASKS[name](Path(folder))))
    print(json.dumps(took | report))


if __name__ == "__main__":
    main(*sys.argv[1:])
