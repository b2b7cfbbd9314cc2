"""``foveal inex-eval`` prints what the official evaluator printed, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import call
from foveal.cli import main
from foveal.errors import InputError
from foveal.evaluation.official import Evaluator, format_double
from foveal.files.source import Source
from shared_data import INEX, needs_inex

QRELS = """\
1 Q0 A 100 1000 200 200:50 400:50
1 Q0 B 300 300 0 0:300
1 Q0 C 0 500
2 Q0 A 40 400 350 350:40
"""


def evaluate(run: str, task: str, *, qrels: str = QRELS, **options: object) -> dict[str, float]:
    """Values on topic all, from literal files."""
    evaluator = Evaluator(Source.of_text(qrels, "qrels"), task, **options)  # type: ignore[arg-type]
    return evaluator.score(Source.of_text(run, "a.run")).overall


def _rows(text: str) -> list[tuple[str, str, float]]:
    rows = []
    for line in text.splitlines():
        if line.startswith("<"):
            continue
        name, topic, value = line.replace("\t\t", "\t").split("\t")
        rows.append((name, topic, float(value)))
    return rows


OFFICIAL = sorted((INEX / "official").glob("*.txt")) if INEX.exists() else []


@needs_inex
def test_all_official_outputs_are_at_hand() -> None:
    assert len(OFFICIAL) == 38


@pytest.mark.parametrize("path", OFFICIAL, ids=lambda path: path.stem)
def test_real_runs_are_reproduced(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, task = path.stem.split(".")
    options = [f"-{task[0]}", "-q", *(["-c"] if task.endswith("-c") else [])]
    main(["inex-eval", *options, str(INEX / "qrels.txt"), str(INEX / "runs" / f"{name}.run")])
    ours, theirs = capsys.readouterr().out, path.read_text()
    # The first line names the file by the path it had; every other line is the same to the letter.
    assert ours.splitlines()[1:] == theirs.splitlines()[1:]


SAME_AS_JAVA = ["normal", "missing_topic", "rank_ignored", "touching", "unknown_topic", "zerolen"]
INPUTS = {"sixfields": ("six.qrels", "normal.run")}


@needs_inex
@pytest.mark.parametrize("case", [*SAME_AS_JAVA, "sixfields"])
@pytest.mark.parametrize("task", ["t", "f", "r", "b", "i"])
@pytest.mark.parametrize("every", ["", "-c"])
def test_edge_cases_that_behave_as_the_official_evaluator(
    case: str, task: str, every: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = INEX / "edge_cases"
    theirs = (folder / f"{case}.{task}{every}.out").read_text()
    qrels, run = INPUTS.get(case, ("base.qrels", f"{case}.run"))
    arguments = ["inex-eval", f"-{task}", "-q", *([every] if every else [])]
    arguments += [str(folder / qrels), str(folder / run)]
    if "ERROR" in theirs:
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert capsys.readouterr().out == ""
    else:
        main(arguments)
        assert _rows(capsys.readouterr().out) == _rows(theirs)


@needs_inex
@pytest.mark.parametrize("task", ["t", "f", "r", "i", "b"])
def test_lenient_scores_unresolved_results_as_the_official_evaluator(
    task: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = INEX / "edge_cases"
    files = [str(folder / "base.qrels"), str(folder / "xoffset.run")]
    main(["inex-eval", f"-{task}", "-q", "--lenient", *files])
    theirs = (folder / f"xoffset.{task}.out").read_text()
    assert _rows(capsys.readouterr().out) == _rows(theirs)


def test_unresolved_results_are_an_error_that_names_their_lines() -> None:
    with pytest.raises(InputError) as caught:
        evaluate("1 Q0 A 1 9 r 200 50\n1 Q0 B 2 8 r X X\n1 Q0 D 3 7 r -1 -1\n", "f")
    assert [problem.line for problem in caught.value.problems] == [2, 3]


def test_thorough_charges_repeated_text_only_where_nothing_is_relevant() -> None:
    run = "1 Q0 A 1 9 r 0 1000\n1 Q0 A 2 8 r 200 50\n1 Q0 C 3 7 r 0 500\n1 Q0 C 4 6 r 0 500\n"
    values = evaluate(run, "t")
    assert (values["ret_size"], values["rel_ret_size"]) == (2000, 100)


def test_an_empty_run_is_an_error_without_c_and_zero_with_it() -> None:
    with pytest.raises(InputError, match="empty"):
        evaluate("", "f")
    values = evaluate("", "f", every_topic=True)
    assert (values["num_q"], values["num_rel"], values["MAiP"]) == (2, 3, 0)
    assert evaluate("", "r", every_topic=True)["MAgP"] == 0


def test_a_topic_without_relevant_text_is_left_out_and_named() -> None:
    qrels = "1 Q0 A 100 1000 200 200:50 400:50\n3 Q0 C 0 500\n"
    evaluator = Evaluator(Source.of_text(qrels, "qrels"), "r")
    table = evaluator.score(Source.of_text("1 Q0 A 1 9 r 200 300\n3 Q0 C 1 9 r 0 500\n", "a.run"))
    values = table.overall
    assert values["num_q"] == 1
    assert values["MAgP"] == pytest.approx(0.3469387755102041, abs=1e-12)
    assert evaluator.warnings == ["qrels: topics without relevant text are left out: 3"]


def test_lines_of_a_topic_are_grouped_with_a_warning() -> None:
    evaluator = Evaluator(Source.of_text(QRELS, "qrels"), "t")
    run = "1 Q0 A 1 9 r 200 50\n2 Q0 A 1 9 r 350 40\n1 Q0 A 2 8 r 200 50\n"
    table = evaluator.score(Source.of_text(run, "a.run"))
    values = {(name, t): value for t, own in table.topics.items() for name, value in own.items()}
    assert values["char_rec", "1"] == 0.125  # the repeat adds nothing, recall stays below 1
    assert "grouped" in table.warnings[0]
    with pytest.raises(InputError, match=r"a\.run:3: overlaps the result on line 1"):
        evaluate(run, "f")


def test_an_entry_point_without_a_passage_is_ignored_with_a_warning() -> None:
    evaluator = Evaluator(Source.of_text("1 Q0 A 100 1000 200\n", "qrels"), "b")
    assert evaluator.warnings == ["qrels:1: best entry point without a passage; it is ignored"]
    table = evaluator.score(Source.of_text("1 Q0 A 1 9 r 200 300\n", "a.run"))
    assert table.overall["MAgP"] == 0


def test_scores_and_ranks_may_be_anything() -> None:
    assert evaluate("1 Q0 A x NaN r 200 300\n", "f")["char_prec"] == pytest.approx(1 / 3)


def test_parameters_change_the_scores() -> None:
    run = "1 Q0 A 1 9 r 300 100\n"
    assert evaluate(run, "b", n=200)["gP[1]"] == 0.5
    assert evaluate(run, "b", n=50)["gP[1]"] == 0
    assert evaluate(run, "r", beta=1)["gP[1]"] == 0
    hit = "1 Q0 A 1 9 r 200 100\n"
    assert evaluate(hit, "r", beta=1)["gP[1]"] == 0.5
    assert evaluate(hit, "i", irr=50)["gP[1]"] == 0.5


def test_a_rejected_run_does_not_silence_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "q": QRELS,
        "a": "1 Q0 A 1 9 r 200 300\n",
        "fields": "1 Q0 A\n",
        "overlap": "1 Q0 A 1 9 r 200 300\n1 Q0 A 2 8 r 250 10\n",
        "empty": "",
        "b": "1 Q0 B 1 9 s 0 300\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    alone = [call(capsys, "inex-eval", "-f", "q", name) for name in ("a", "b")]
    assert [outcome.code for outcome in alone] == [0, 0]
    mixed = call(capsys, "inex-eval", "-f", *files, "missing")
    assert mixed.code == 2
    assert mixed.out == alone[0].out + alone[1].out
    places = ["fields:1:", "overlap:2:", "empty:", "missing:"]
    assert [line.split()[0] for line in mixed.err.splitlines()] == places


@pytest.mark.parametrize("end", ["", "\n", "\n\n# a comment\n"])
def test_the_last_of_several_run_ids_names_the_table(
    end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q").write_text(QRELS)
    (tmp_path / "a").write_text(
        f"2 Q0 A 1 9 first 350 40\n1 Q0 A 1 9 second 200 300\n9 Q0 A 1 9 third 0 1{end}"
    )
    out = call(capsys, "inex-eval", "-f", str(tmp_path / "q"), str(tmp_path / "a")).out
    assert out.startswith('<eval run-id="third" ')


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.0"), (1.0, "1.0"), (0.001, "0.001"), (0.00025, "2.5E-4"), (-1e-05, "-1.0E-5")],
)
def test_doubles_are_printed_as_java_does(value: float, shown: str) -> None:
    assert format_double(value) == shown
