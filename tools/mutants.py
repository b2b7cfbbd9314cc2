"""Mutation testing of the code that computes numbers: `measures`, `recall` and `spans`.

Each mutant changes one operator, constant or name of a function. It is killed if a test that runs
the changed line fails. One run under coverage finds the tests of each line first.

    python tools/mutants.py                        # a sample of 100 with a fixed seed
    python tools/mutants.py --sample 0 --only measures/t2i.py
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "foveal"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
TARGETS = ("measures", "recall", "spans.py")
TESTS = (
    "tests/measures", "tests/recall", "tests/evaluation", "tests/model",
    "tests/test_spans.py", "tests/test_cli_structure.py",
)  # fmt: skip
SECONDS = 120
"""Longest run of the tests of one mutant; a mutant that never ends counts as killed."""
REQUIRED = 0.95

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum",
    "any": "all", "all": "any", "left": "right", "right": "left",
}  # fmt: skip


class Mutant(NamedTuple):
    """One change of one file."""

    file: str
    line: int
    key: str
    """File, function and change: stays the same when lines move."""
    code: str


def mutated_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield copies of a node with one change each."""
    changed: ast.AST
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in OPERATORS:
            changed = copy.deepcopy(node)
            changed.ops = [OPERATORS[type(operator)]()]
            yield changed
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) | ast.AugAssign(op=operator):
            if type(operator) in OPERATORS:
                changed = copy.deepcopy(node)
                changed.op = OPERATORS[type(operator)]()
                yield changed
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub(), operand=operand):
            yield copy.deepcopy(operand)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str(value)) if value in NAMES:
            yield ast.Constant(NAMES[value])
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            changed = copy.deepcopy(node)
            changed.func.id = NAMES[name]
            yield changed
        case ast.Call(func=ast.Attribute(attr=name)) if name in NAMES:
            changed = copy.deepcopy(node)
            changed.func.attr = NAMES[name]
            yield changed


class Sites(ast.NodeVisitor):
    """Find the expressions inside functions, with the function's name and a way to replace them."""

    def __init__(self) -> None:
        self.scope: list[str] = []
        self.found: list[tuple[str, ast.AST, ast.AST, str, int | None]] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_scope(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_scope(node)

    def _visit_scope(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        self.scope.append(node.name)
        for statement in node.body:
            # Texts and values of declarations in a class body are not computations.
            if isinstance(node, ast.FunctionDef) or isinstance(statement, ast.FunctionDef):
                self.visit(statement)
        self.scope.pop()

    def generic_visit(self, node: ast.AST) -> None:
        for field, value in ast.iter_fields(node):
            if field in {"annotation", "returns", "decorator_list"}:
                continue
            children = value if isinstance(value, list) else [value]
            for number, child in enumerate(children):
                if not isinstance(child, ast.AST):
                    continue
                if self.scope and hasattr(child, "lineno"):
                    index = number if isinstance(value, list) else None
                    self.found.append((".".join(self.scope), node, child, field, index))
                self.visit(child)


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    sites = Sites()
    sites.visit(tree)
    file = path.relative_to(SOURCE).as_posix()
    mutants: list[Mutant] = []
    times: dict[str, int] = {}
    for scope, parent, child, field, index in sites.found:
        for changed in mutated_nodes(child):
            shown = parent if isinstance(parent, ast.expr) else child
            before = ast.unparse(shown)
            _put(parent, field, index, ast.copy_location(changed, child))
            after = ast.unparse(parent if shown is parent else changed)
            code = ast.unparse(ast.fix_missing_locations(tree))
            _put(parent, field, index, child)
            key = f"{file} {scope}: {before} -> {after}"
            times[key] = times.get(key, 0) + 1
            key += f" #{times[key]}" if times[key] > 1 else ""
            mutants.append(Mutant(file, child.lineno, key, code))  # type: ignore[attr-defined]
    return mutants


def _put(parent: ast.AST, field: str, index: int | None, child: ast.AST) -> None:
    if index is None:
        setattr(parent, field, child)
    else:
        getattr(parent, field)[index] = child


def pytest(
    overlay: Path, *arguments: str, seconds: float | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run tests against a copy of the sources."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(overlay),
            "CI": "true",
            "HYPOTHESIS_PROFILE": "mutants",
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def all_pass(overlay: Path, tests: list[str]) -> bool:
    """Return True if all these tests pass in time."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("\n".join(tests))
        listed.flush()
        try:
            done = pytest(
                overlay, "-x", f"@{listed.name}", seconds=SECONDS, PYTHONDONTWRITEBYTECODE="1"
            )
        except subprocess.TimeoutExpired:
            return False
    if done.returncode not in {0, 1, 2}:
        sys.exit(
            f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.returncode == 0


def order(test: str) -> tuple[bool, str]:
    """Sort tests that compare with a naive reference first: they kill most mutants."""
    return "naive" not in test, test


def tests_by_line(overlay: Path, data_file: Path) -> dict[str, dict[int, list[str]]]:
    """Return the tests that run each line of each file."""
    done = pytest(
        overlay, "-n", "2", *TESTS, "--cov=foveal", "--cov-context=test", "--cov-report=",
        "--cov-fail-under=0", COVERAGE_FILE=str(data_file),
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"the tests fail without any mutant:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    data = CoverageData(str(data_file))
    data.read()
    tests: dict[str, dict[int, list[str]]] = {}
    for measured in data.measured_files():
        path = Path(measured)
        if path.is_relative_to(overlay / "foveal"):
            file = path.relative_to(overlay / "foveal").as_posix()
            tests[file] = {
                line: sorted(
                    {context.rpartition("|")[0] for context in contexts if context}, key=order
                )
                for line, contexts in data.contexts_by_lineno(measured).items()
            }
    return tests


def main() -> int:
    """Print the surviving mutants and the share that was killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--sample", type=int, default=100, help="number of mutants; 0: all (default: 100)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.add_argument(
        "--only", action="append", default=[], help="only files whose path begins so"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants tested at once")
    options = parser.parse_args()

    files = [
        path
        for target in TARGETS
        for path in (
            [SOURCE / target] if target.endswith(".py") else sorted((SOURCE / target).rglob("*.py"))
        )
        if not options.only or path.relative_to(SOURCE).as_posix().startswith(tuple(options.only))
    ]
    mutants = [mutant for path in files for mutant in mutants_of(path)]
    total = len(mutants)
    equivalent = {
        line.split("  # ")[0].strip()
        for line in EQUIVALENT.read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    }
    if options.sample and options.sample < total:
        # By hash: a change of the code leaves most of the sample as it is.
        mutants.sort(key=lambda own: sha256(f"{options.seed} {own.key}".encode()).digest())
        mutants = mutants[: options.sample]
    skipped = [mutant for mutant in mutants if mutant.key in equivalent]
    mutants = [mutant for mutant in mutants if mutant.key not in equivalent]

    with tempfile.TemporaryDirectory() as directory:
        overlays: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for job in range(options.jobs):
            overlay = Path(directory, str(job))
            shutil.copytree(
                SOURCE, overlay / "foveal", ignore=shutil.ignore_patterns("__pycache__")
            )
            overlays.put(overlay)
        print(f"{len(mutants)} of {total} mutants; finding the tests of each line ...", flush=True)
        tests = tests_by_line(overlay, Path(directory, "coverage"))

        def survives(mutant: Mutant) -> bool:
            selected = tests.get(mutant.file, {}).get(mutant.line, [])
            if not selected:
                return True
            overlay = overlays.get()
            target = overlay / "foveal" / mutant.file
            original = target.read_bytes()
            target.write_text(mutant.code, encoding="utf-8")
            try:
                return all_pass(overlay, selected)
            finally:
                target.write_bytes(original)
                overlays.put(overlay)

        survivors = 0
        with ThreadPoolExecutor(options.jobs) as pool:
            for number, (mutant, alive) in enumerate(
                zip(mutants, pool.map(survives, mutants), strict=True), start=1
            ):
                if alive:
                    survivors += 1
                    print(f"survived  {mutant.file}:{mutant.line}  {mutant.key}", flush=True)
                if not number % 10:
                    print(f"          {number} of {len(mutants)} done", flush=True)
    killed = (len(mutants) - survivors) / len(mutants) if mutants else 1.0
    print(
        f"killed {len(mutants) - survivors} of {len(mutants)} mutants ({killed:.1%}); "
        f"{len(skipped)} more are equivalent (tools/{EQUIVALENT.name})"
    )
    return int(killed < REQUIRED)


if __name__ == "__main__":
    sys.exit(main())
