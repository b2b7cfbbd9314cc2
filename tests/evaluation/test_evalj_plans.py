"""What a configuration of EvalJ asks for: which runs and assessments, found by which paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalj_files import PLACES, SMALL, configuration, names, planned
from foveal.errors import InputError
from foveal.evaluation.evalj import plan
from inex2005 import submission, write_campaign


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_campaign(tmp_path)


def test_a_task_selects_the_runs_that_declare_it(folder: Path) -> None:
    text = SMALL.replace("CO.Thorough", "CO.Thorough, COS.Focused, SSCAS") + PLACES
    jobs = planned(folder, text)
    assert [names(job.runs) for job in jobs] == [["thorough"], ["structured"], ["strict"]]


def test_paths_are_relative_to_the_configuration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "settings").mkdir()
    text = SMALL + PLACES.replace("official", "../official/CO+S").replace("runs", "../runs")
    monkeypatch.chdir(folder / "runs")
    (job,) = plan(configuration(folder, text, "settings/a.prop"))
    assert names(job.judgements) == ["topic203", "topic202"]
    assert names(job.runs) == ["thorough"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("official/CO+S/*/", ["topic203", "topic202"]),
        ("offici*/CO+S/29?/", ["topic202"]),
        ("official/*/[23]*/topic*.xml", ["topic250", "topic203", "topic202"]),
        ("official/CAS, official/CO+S/297/", ["topic250", "topic202"]),
        ("official/**/topic203.xml", ["topic203"]),
        ("official/CAS/301/topic250.xml, official/CAS", ["topic250"]),
    ],
)
def test_patterns_fit_files_and_folders(folder: Path, pattern: str, found: list[str]) -> None:
    (job,) = planned(folder, SMALL + PLACES.replace("official/", pattern))
    assert names(job.judgements) == found


def test_hidden_files_are_left_alone(folder: Path) -> None:
    (folder / "runs" / ".note").write_text("no run")
    (job,) = planned(folder, SMALL + PLACES)
    assert names(job.runs) == ["thorough"]


@pytest.mark.parametrize(
    ("text", "define", "problem"),
    [
        (PLACES.replace("runs/", "$x/runs"), {}, "6: $x is not defined; give --define x=PATH"),
        (PLACES.replace("runs/", "runs/*.txt"), {}, "6: no file or folder matches 'runs/*.txt'"),
        (PLACES.replace("official/", "official/,no/"), {}, "5: no file or folder matches 'no/'"),
        (
            PLACES.partition("\n")[2],
            {},
            "1: there is no ASSESSMENTS_DIR; give files on the command line",
        ),
        (PLACES.partition("\n")[0], {}, "1: there is no SUBMISSIONRUNS_DIR"),
    ],
)
def test_paths_that_lead_nowhere_are_refused(
    folder: Path, text: str, define: dict[str, str], problem: str
) -> None:
    with pytest.raises(InputError) as error:
        planned(folder, SMALL + text, define=define)
    assert str(error.value).startswith(f"{folder / 'a.prop'}:{problem}")


def test_runs_without_a_task_are_left_out_and_counted(folder: Path) -> None:
    (folder / "runs" / "silent.xml").write_text(submission("s", None, {"202": ["A /article[1]"]}))
    (folder / "runs" / "plain.run").write_text("202 Q0 A 1 1 plain 0 10\n")
    (job,) = planned(folder, SMALL + PLACES)
    assert names(job.runs) == ["thorough"]
    (warning,) = job.warnings
    assert warning.startswith("runs that declare no task, left out: 2 (")
    for name in ("thorough", "focussed", "structured", "browsed", "strict"):
        (folder / "runs" / f"{name}.xml").unlink()
    with pytest.raises(InputError, match=r"no run declares the task CO\.Thorough; none does"):
        planned(folder, SMALL + PLACES)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lines.jsonl", '{"type":"header","task":"CO.Thorough"}\n{"topic":"202","doc":"A"}\n'),
        (
            "old.xml",
            "<?xml version='1.0'?>\n<!-- <inex-submission task='X'> -->\n"
            + submission("old", "CO.Thorough", {"202": ["A /article[1]"]}),
        ),
        (
            "entity.xml",
            "<!DOCTYPE inex-submission [<!ENTITY t 'CO.Thorough'>]>\n"
            + submission("entity", "&t;", {"202": ["A /article[1]"]}),
        ),
        (
            "wide.xml",
            submission("wide", "CO.Thorough", {"202": ["A /article[1]"]}).replace(
                "<inex-submission", '<?xml version="1.0" encoding="UTF-16"?>\n<inex-submission'
            ),
        ),
    ],
)
def test_the_declared_task_is_found_in_any_run(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(text, encoding="utf-16" if "UTF-16" in text else None)
    (job,) = planned(folder, SMALL, runs=[str(path)], judgements=["x"])
    assert job.runs == (str(path),)
