"""Freeze what the commands print, so that a rebuild of the internals cannot change it unnoticed.

    python tools/golden.py             # write tests/golden/recorded.jsonl.gz
    python tools/golden.py --check     # compare byte for byte, and show what differs

Every case of `tests/golden/cases.txt` is a command, run in a copy of `examples/crossings` with
`tests/golden/files` added. The recording holds its exit code, standard output, standard error and
the files it wrote. A deliberate change of output updates the recording in a commit of its own that
says why.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import difflib
import gzip
import io
import json
import lzma
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "golden"
RECORDING = FOLDER / "recorded.jsonl.gz"
SHOWN_LINES = 12
COMPRESSORS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
COMPRESSED = {
    "runs/paragraphs.run": ".gz",
    "runs/sections.xml": ".gz",
    "runs/focused.jsonl": ".xz",
    "good/documents.trec": ".bz2",
    "judgements.qrels": ".gz",
    "bad/numbers.run": ".gz",
}
"""Files that the folder `compressed` of the working copy holds once more."""
NOT_RECORDED = (".fvx", ".campaign", ".parquet")
"""Binary files, whose bytes may differ between versions of the libraries that write them."""


def read_cases() -> dict[str, list[str]]:
    """Return the commands of each group, with the names of the file's first lines replaced."""
    names: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for line in (FOLDER / "cases.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            commands = groups.setdefault(line.strip("[]"), [])
        elif groups and line:
            commands.append(Template(line).substitute(names))
        elif " = " in line:
            name, _, value = line.partition(" = ")
            names[name] = value
    return groups


CASES = read_cases()


@contextlib.contextmanager
def working_copy() -> Iterator[None]:
    """Change into a copy of the example campaign with its index and the files of the cases."""
    from foveal.collection import build_index

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        campaign = Path(directory, "crossings")
        shutil.copytree(ROOT / "examples" / "crossings", campaign)
        shutil.copytree(FOLDER / "files", campaign, dirs_exist_ok=True)
        os.chdir(campaign)
        try:
            build_index(Path("documents"), Path("crossings.fvx"))
            Path("compressed").mkdir()
            for name, suffix in COMPRESSED.items():
                target = Path("compressed", Path(name).name + suffix)
                target.write_bytes(COMPRESSORS[suffix](Path(name).read_bytes()))
            yield
        finally:
            os.chdir(before)


def changed_files(seen: dict[str, tuple[os.stat_result, bytes]]) -> dict[str, bytes]:
    """Return the files below the working directory whose content is new, and add them to `seen`."""
    changed = {}
    for path in sorted(str(path) for path in Path().rglob("*") if path.is_file()):
        now = Path(path).stat()
        before, content = seen.get(path, (None, b""))
        if before is None or (before.st_mtime_ns, before.st_size) != (now.st_mtime_ns, now.st_size):
            seen[path] = now, Path(path).read_bytes()
            if before is None or seen[path][1] != content:
                changed[path] = seen[path][1]
    return changed


def run_case(command: str, seen: dict[str, tuple[os.stat_result, bytes]]) -> dict[str, Any]:
    """Run one command in this process and return all it left behind."""
    from foveal.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(shlex.split(command))
        except SystemExit as stopped:
            code = stopped.code
    written = {
        name: content.decode("utf-8", "replace")
        for name, content in changed_files(seen).items()
        if not name.endswith(NOT_RECORDED)
    }
    return {"exit": code, "out": read_stream(out), "err": read_stream(err), "files": written}


def read_stream(stream: io.TextIOWrapper) -> str:
    """Return all that was written to a captured stream, without times."""
    stream.flush()
    content: bytes = stream.buffer.getvalue()  # type: ignore[attr-defined]
    return re.sub(r"[0-9.]+ s$", "... s", content.decode("utf-8", "replace"), flags=re.MULTILINE)


def record(groups: list[str]) -> dict[str, dict[str, Any]]:
    """Run all cases of these groups, each group in a fresh copy of the campaign."""
    os.environ["COLUMNS"] = "100"
    found = {}
    for group in groups:
        with working_copy():
            seen: dict[str, tuple[os.stat_result, bytes]] = {}
            changed_files(seen)
            for command in CASES[group]:
                found[f"{group}: {command}"] = run_case(command, seen)
    return found


def load() -> dict[str, dict[str, Any]]:
    """Return the recorded cases."""
    with gzip.open(RECORDING, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    return {case.pop("case"): case for case in cases}


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return the first differing lines of a case."""
    lines: list[str] = []
    for part in ("exit", "out", "err", "files"):
        if expected[part] != found[part]:
            before, after = (
                json.dumps(case[part], indent=0).replace("\\n", "\n").splitlines()
                for case in (expected, found)
            )
            diff = difflib.unified_diff(
                before, after, f"recorded {part}", f"{part} now", lineterm="", n=1
            )
            lines += [line[:200] for line in list(diff)[:SHOWN_LINES]]
    return lines


def main() -> int:
    """Write the recording, or compare with it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with the recording instead of writing it"
    )
    parser.add_argument(
        "--group", action="append", choices=CASES, help="only these cases, with --check"
    )
    options = parser.parse_args()
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # threads only cost time on such small files
    groups = options.group or list(CASES)
    found = record(groups)
    if not options.check:
        lines = (
            json.dumps({"case": name, **case}, ensure_ascii=False) + "\n"
            for name, case in found.items()
        )
        with RECORDING.open("wb") as target, gzip.GzipFile("", "wb", 9, target, mtime=0) as zipped:
            zipped.write("".join(lines).encode("utf-8"))
        print(f"recorded {len(found)} cases in {RECORDING.relative_to(ROOT)}")
        return 0
    expected = {name: case for name, case in load().items() if name.split(": ")[0] in groups}
    different = [name for name in expected | found if expected.get(name) != found.get(name)]
    for name in different:
        print(f"--- {name}")
        both = name in expected and name in found
        print("\n".join(differences(expected[name], found[name])) if both else "only on one side")
    print(f"{len(found)} cases, {len(different)} differ")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
