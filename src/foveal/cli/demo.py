"""``foveal demo``: two short stories on the bundled examples, command by command."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from pathlib import Path

import click

from foveal.cli.options import VERBOSE, Command, options
from foveal.cli.shared import say
from foveal.errors import FovealError, UsageError

_EXAMPLES = ("handbook", "crossings")
_MADE = ("*.fvx", "*.json", "report.html", ".*")
"""What trying out the documentation leaves in a checkout, and is not copied."""
_MARK = ".foveal-demo"
"""A file by which a later demo knows a directory as its own."""
_SCRIPT = """\
Two short stories. Each command can be pasted.

# 1. Which chunks should a language model get?

Eight Markdown pages, twelve questions with the sentences that answer them, and three ways to cut
the pages into chunks: every 250 characters, by section, by sentence.

$ cd {folder}/handbook

$ foveal evaluate runs/* -j gold.jsonl --texts documents -t rag -f table

charR@5: share of the answers' text in the first five chunks. charP@5: share of answer text
in them. nDCG and RR: how early the answers come. charR(budget=2000): what 2,000 characters of
prompt hold. answered: questions with the whole answer. Sections find most, sentences waste least.

$ foveal compare runs/* -j gold.jsonl --texts documents -m charR@5 -m charP@5 \\
    --baseline sections --show means

# 2. Which system finds the best passages?

An INEX task: 43 documents, twelve topics, the relevant text marked by hand, and eight runs of
passages and XML elements. The index finds the elements in the documents.

$ cd ../crossings

$ foveal index documents -o crossings.fvx

$ foveal evaluate runs/* -j judgements.jsonl -C crossings.fvx -t 2009.Focused --overlap drop \\
    -f table

iP@x: best precision once a share x of the relevant text has been read. AiP: its mean over all
shares. Short passages begin best; over the whole list, elements of any size lead. The warning is
about runs that were made for another task.

$ foveal report runs/* -j judgements.jsonl -C crossings.fvx --documents documents \\
    --topics-file topics.jsonl -t 2009.Focused --overlap drop --by AiP -o report.html

The report is {folder}/crossings/report.html. Open it in a browser: scores, graphs, topics, and
the documents with what each run returned.

What next? 'foveal demo --full' goes through a whole campaign. 'foveal measures AiP' explains a
measure. Put a run of your own into {folder}/crossings/runs and call the demo again.
"""
_FULL = """\
A campaign about crossing water: 43 documents, twelve topics, the relevant text marked by
hand, and eight runs by systems that return different things. Each command can be pasted.

$ cd {folder}/crossings

# 1. Index the documents, so that results can be XPaths

$ foveal index documents -o crossings.fvx

# 2. Is anything wrong with the runs?

$ foveal validate runs/* -C crossings.fvx --topics-file topics.jsonl

# 3. Score them: the Focused task of 2009, on marked characters

iP@x is the best precision once a share x of the relevant text has been read, and AiP its
average over all shares. The warning is about runs that were made for another task.

$ foveal evaluate runs/* -j judgements.jsonl -C crossings.fvx \\
    -t 2009.Focused --overlap drop -f table

The same once more into a file, with every topic, for the comparison below.

$ foveal evaluate runs/* -j judgements.jsonl -C crossings.fvx \\
    -t 2009.Focused --overlap drop -f json -o focused.json

# 4. The Thorough task of 2005, on graded elements

Every relevant element counts here, also one within another, by a grade of exhaustivity. The
curves of a thousand points go into a file. Which system is best depends on the question.

$ foveal evaluate runs/*.xml -j assessments -t 2005.CO.Thorough -f json -o thorough.json

$ foveal compare thorough.json \\
    -m "nxCG(quant=gen5)@10" -m "MAep(quant=gen5)" -m "MAep(quant=strict5)" --show means

# 5. Relevant in Context, 2009: documents are ranked, and each scores by its parts

gP@k is the mean score of the first k documents, and AgP averages it over all relevant ones.
Results of a document must be together: --regroup sees to it.

$ foveal evaluate runs/paragraphs.run runs/sections.xml runs/windows.jsonl \\
    -j judgements.jsonl -C crossings.fvx -t 2009.RelevantInContext --regroup -f table

# 6. Is the best run really better?

$ foveal compare focused.json -m AiP --baseline focused --show means

# 7. Can the measure be trusted?

Simulated runs of known order are scored: too much text, too little, documents swapped. A
measure that reverses no order passes. AP, which knows documents only, finds many runs equal.

$ foveal fidelity -j judgements.jsonl -C crossings.fvx -m AiP -m AP --table verdict -f table

# 8. All of it on one page

$ foveal report runs/* -j judgements.jsonl -C crossings.fvx --documents documents \\
    --topics-file topics.jsonl -t 2009.Focused --overlap drop --by AiP -o report.html

Done. The report is {folder}/crossings/report.html; open it in a browser: scores, graphs, topics,
and the documents with what each run returned.

What next? Put a run of your own into {folder}/crossings/runs and call the demo again. 'foveal
measures AiP' explains a measure, 'foveal --help' lists all commands.
"""
"""Headings, paragraphs and commands, with an empty line between them."""


@click.command("demo", cls=Command, examples=("foveal demo", "foveal demo --full -o trial"))
@options(
    """
    -o --output=DIR  The directory to work in.
    --full  Go through a whole campaign: validate, score under three tasks, compare, test a measure.
    --open/--no-open  Show the report in the browser.
    """,
    output="foveal-demo",
    open=False,
)
def command(output: str, **options: bool) -> None:
    """Score the bundled examples and explain the figures.

    The first example compares chunks for retrieval-augmented generation, the second compares runs
    of an INEX task and writes a report. Both are copied into a directory. Every command is shown
    before its output and works when it is pasted.

    A later demo in the same directory restores the files of the examples and includes added ones: a
    run of your own in DIR/crossings/runs is scored and reported with the others.
    """
    _copy_examples(find_examples(), Path(output))
    target = Path(output).absolute()
    script = _FULL if options["full"] else _SCRIPT
    with contextlib.chdir(target):
        for part in script.format(folder=shlex.quote(output)).strip().split("\n\n"):
            if part.startswith("# "):
                click.secho(f"\n{part[2:]}", fg="cyan", bold=True)
                continue
            click.secho(f"\n{part}", bold=part.startswith("$ "))
            if part.startswith("$ cd "):
                os.chdir(target / part.rpartition("/")[2])
            elif part.startswith("$ foveal "):
                _run_line(part)
    if options["open"]:
        import webbrowser

        webbrowser.open((target / "crossings" / "report.html").as_uri())


def find_examples() -> Path:
    """Return the folder of the examples: in the installed package, or in a checkout."""
    import foveal

    package = Path(foveal.__file__).resolve().parent
    places = [place / "examples" for place in (package, package.parents[1])]
    for place in places:
        if all((place / name / "runs").is_dir() for name in _EXAMPLES):
            return place
    raise FovealError(
        "the examples are missing from this installation; expected them in "
        + " or ".join(map(str, places))
    )


def _copy_examples(examples: Path, target: Path) -> None:
    """Copy the examples into a directory that is new, empty or an earlier demo's."""
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; expected a directory for the demo (-o)")
    if target.is_dir() and any(target.iterdir()) and not (target / _MARK).is_file():
        raise UsageError(
            f"{target} holds files that are not of a demo; expected a new or empty directory (-o)"
        )
    target.mkdir(parents=True, exist_ok=True)
    # First of all, so that a demo that was interrupted here can be started again.
    (target / _MARK).write_text("made by foveal demo\n")
    for name in _EXAMPLES:
        # Contents only: an installation may be read-only, and its copy is written again.
        shutil.copytree(
            examples / name,
            target / name,
            ignore=shutil.ignore_patterns(*_MADE),
            copy_function=shutil.copyfile,
            dirs_exist_ok=True,
        )


def _run_line(line: str) -> None:
    """Run a command in this process; a failure ends the demo."""
    from foveal.cli import run_words

    words: list[str] = []
    for word in shlex.split(line.replace("\\\n", "")):
        files = [str(path) for path in Path().glob(word) if path.name[0] != "."]
        words += sorted(files) if "*" in word else [word]
    try:
        run_words(words[2:], **{VERBOSE: False})
        return
    except click.exceptions.Exit as stopped:
        code = stopped.exit_code
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    if code:
        say(f"This command ended with exit code {code}, and the demo with it.")
        if " runs/" in line:
            say("Mend a faulty run in 'runs' or take it out, then call the demo again.")
        raise click.exceptions.Exit(code)
