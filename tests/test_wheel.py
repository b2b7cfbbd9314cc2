"""A built wheel installs and scores in a clean environment, without the source tree."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CAMPAIGN = ROOT / "examples" / "crossings"


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of an environment that holds nothing but the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("foveal-*.whl")
    venv.create(folder / "env", with_pip=True)
    binaries = folder / "env" / "bin"
    _run(binaries / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    return binaries


def test_the_wheel_scores_and_its_results_are_read_back(clean: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    _run(
        *(clean / "foveal", "evaluate", CAMPAIGN / "runs" / "paragraphs.run"),
        *("-j", CAMPAIGN / "judgements.qrels", "-t", "2009.Focused", "-f", "json", "-o", saved),
        cwd=tmp_path,
    )
    rows = json.loads(saved.read_text())["results"]
    (aip,) = [r["value"] for r in rows if r["measure"] == "AiP" and r["topic"] == "all"]
    program = "import foveal, sys; print(foveal.read_results(sys.argv[1])['paragraphs', 'AiP'])"
    assert _run(clean / "python", "-c", program, saved, cwd=tmp_path).strip() == repr(aip)


def test_the_wheel_brings_no_development_dependency(clean: Path, tmp_path: Path) -> None:
    listed = json.loads(_run(clean / "python", "-m", "pip", "list", "--format=json", cwd=tmp_path))
    names = {entry["name"].lower() for entry in listed} - {"pip", "setuptools"}
    assert names == {
        "foveal",
        "click",
        "msgspec",
        "numpy",
        "polars",
        "polars-runtime-32",
        "scipy",
        "zstandard",
    }


def test_the_wheel_is_typed(clean: Path, tmp_path: Path) -> None:
    program = (
        "import foveal, pathlib; "
        "print(pathlib.Path(foveal.__file__).with_name('py.typed').exists())"
    )
    assert _run(clean / "python", "-c", program, cwd=tmp_path).strip() == "True"


def test_version_without_the_heavy_parts(clean: Path, tmp_path: Path) -> None:
    program = (
        "import sys, foveal.cli\n"
        "try: foveal.cli.main(['--version'])\n"
        "except SystemExit: pass\n"
        "print({'numpy', 'polars'} & set(sys.modules))"
    )
    out = _run(clean / "python", "-c", program, cwd=tmp_path)
    assert out.splitlines()[-1] == "set()"


def test_the_wheel_brings_the_campaign_of_the_demo(clean: Path, tmp_path: Path) -> None:
    shown = _run(clean / "foveal", "demo", "--no-open", cwd=tmp_path)
    assert "The report is foveal-demo/crossings/report.html" in shown
    assert (tmp_path / "foveal-demo" / "crossings" / "report.html").stat().st_size
