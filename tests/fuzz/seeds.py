"""Seeds of the fuzzer: a small campaign in every input format, and commands that read each file."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from foveal.cli import main
from foveal.measures.measure import FAMILIES

__all__ = ["INPUT", "OUTPUT", "Seed", "make_seeds"]

CROSSINGS = Path(__file__).resolve().parents[2] / "examples" / "crossings"
TOPICS = ("1", "2")
DOCUMENTS = ("reaction-ferries", "chain-ferries", "tidal-causeways", "fords")
INPUT, OUTPUT, BASE = "{input}", "{output}", "{base}"
"""Placeholders in commands: the mutated file, the file to write, the folder of sound files."""

Command = tuple[str, ...]
SCORED = ("-f", "json", "-o", OUTPUT)
JUDGED = ("-j", f"{BASE}/judgements.jsonl")
INDEXED = ("-C", f"{BASE}/crossings.fvx")
TEXT_MEASURES = ("-m", "AiP", "-m", "iP@0.01", "-m", "gP@5", "-m", "charP@5", "-m", "P@5")
ELEMENT_MEASURES = ("-m", "nxCG@5", "-m", "MAep", "-m", "Q", "-m", "BEPD(A=10)", "-m", "T2I")
DROP = ("--overlap", "drop", "--regroup")


class Seed(NamedTuple):
    """A sound file and the commands that read it."""

    name: str
    """Kind and format, as in run-fol."""
    file: str
    """File name of the input."""
    content: bytes
    commands: tuple[Command, ...]
    is_checked: bool = False
    """A damaged file is noticed or ignored: scores are those of the sound one."""


def make_seeds(base: Path) -> list[Seed]:
    """Write the campaign to `base` and return a seed for every input format."""
    with contextlib.redirect_stderr(io.StringIO()):
        _write_campaign(base)
    return [
        *_runs(base),
        _answers(),
        *_judgements(base),
        *_topics_and_pools(base),
        *_results_and_configurations(base),
        *_collections(base),
        *_gold(),
        *_stored(base),
    ]


def _run_command(*args: str) -> None:
    """Run a command that must succeed."""
    try:
        main(list(args))
    except SystemExit as stopped:
        if stopped.code:
            raise RuntimeError(f"exit code {stopped.code}: {args}") from None


def _lines(path: Path, most: int = 6) -> list[str]:
    """Header and some lines of the topics and documents of the small campaign."""
    found: list[str] = []
    count: dict[str, int] = {}
    for line in path.read_text().splitlines():
        fields = json.loads(line)
        topic = fields.get("topic")
        if topic is not None:
            if topic not in TOPICS or fields.get("doc", DOCUMENTS[0]) not in DOCUMENTS:
                continue
            count[topic] = count.get(topic, 0) + 1
            if count[topic] > most:
                continue
        found.append(line)
    return found


def _write_campaign(base: Path) -> None:
    (base / "documents").mkdir(parents=True)
    for name in DOCUMENTS:
        shutil.copy(CROSSINGS / "documents" / f"{name}.xml", base / "documents")
    for source, target in (
        ("judgements.jsonl", "judgements.jsonl"),
        ("topics.jsonl", "topics.jsonl"),
        ("runs/windows.jsonl", "run.jsonl"),
        ("runs/focused.jsonl", "focused.jsonl"),
        ("runs/noisy.jsonl", "noisy.jsonl"),
    ):
        (base / target).write_text("".join(f"{line}\n" for line in _lines(CROSSINGS / source)))
    index = f"{base}/crossings.fvx"
    _run_command("index", f"{base}/documents", "-o", index)
    for form in ("fol", "trec", "parquet"):
        _run_command("convert", f"{base}/run.jsonl", f"{base}/run.{form}", "--to", form)
    for form in ("elements", "inex"):
        _run_command(
            *("convert", f"{base}/focused.jsonl", f"{base}/run.{form}", "--to", form),
            *("-C", index, "--snap"),
        )
    for form in ("fol", "trec"):
        _run_command("convert", f"{base}/judgements.jsonl", f"{base}/qrels.{form}", "--to", form)
    for form in ("inex2006", "inex2005", "inex2003"):
        source = (
            f"{base}/judgements.jsonl" if form == "inex2006" else str(CROSSINGS / "assessments")
        )
        more = ("-C", index) if form == "inex2006" else ()
        with contextlib.suppress(RuntimeError):
            _run_command("convert", source, f"{base}/{form}", "--to", form, *more)
    for form in ("inex", "trec"):
        _run_command("convert", f"{base}/topics.jsonl", f"{base}/topics.{form}", "--to", form)
    _run_command("pool", f"{base}/run.jsonl", "-o", f"{base}/pool.jsonl")
    scored = ("-j", f"{base}/judgements.jsonl", "-m", "AiP", "-m", "charR")
    for run in ("noisy.jsonl", "focused.jsonl"):
        saved = f"{base}/{run.partition('.')[0]}.json"
        _run_command("evaluate", f"{base}/{run}", *scored, *DROP, "-f", "json", "-o", saved)


def _runs(base: Path) -> Iterator[Seed]:
    evaluate = ("evaluate", INPUT, *JUDGED, *TEXT_MEASURES, *DROP, *SCORED)
    for form in ("fol", "trec", "jsonl", "parquet"):
        content = (base / f"run.{form}").read_bytes()
        commands: tuple[Command, ...] = (
            evaluate,
            ("evaluate", INPUT, *JUDGED, *INDEXED, *ELEMENT_MEASURES, *DROP, "--snap", *SCORED),
            ("validate", INPUT, *INDEXED, "--topics-file", f"{BASE}/topics.jsonl"),
            ("stats", INPUT),
            ("convert", INPUT, OUTPUT, "--to", "jsonl"),
            ("compare", INPUT, f"{BASE}/focused.jsonl", *JUDGED, "-m", "P@5", *SCORED),
            ("pool", INPUT, "-o", OUTPUT),
            ("budget", INPUT, *JUDGED, "--overlap", "drop", *SCORED),
            (
                "validate",
                INPUT,
                "-t",
                f"2009.{'RelevantInContext' if form == 'jsonl' else 'Focused'}",
            ),
            ("evaluate", INPUT, *JUDGED, "-t", "2009.Focused", *DROP, "-q", "--lenient", *SCORED),
            ("evaluate", INPUT, *JUDGED, *INDEXED, "-t", "2006.BestInContext", *DROP, *SCORED),
            ("report", INPUT, *JUDGED, "-t", "2009.Focused", *DROP, "-o", OUTPUT),
            ("convert", INPUT, OUTPUT, "--to", "parquet"),
        )
        if form != "trec":
            commands += (
                ("convert", INPUT, OUTPUT, "--to", "inex", *INDEXED, "--snap"),
                ("convert", INPUT, OUTPUT, "--to", "fol", "--focus"),
            )
        if form == "jsonl":
            commands += (("project", *JUDGED, "--division", INPUT, "-f", "json", "-o", OUTPUT),)
        if form == "fol":
            commands += tuple(
                ("inex-eval", f"-{task}", f"{BASE}/qrels.fol", INPUT) for task in "tfri"
            )
        yield Seed(f"run-{form}", f"run.{form}", content, commands)
    for form in ("elements", "inex"):
        content = (base / f"run.{form}").read_bytes()
        yield Seed(
            f"run-{form}",
            f"run.{form}",
            content,
            (
                ("evaluate", INPUT, *JUDGED, *INDEXED, *TEXT_MEASURES, *DROP, *SCORED),
                ("evaluate", INPUT, *JUDGED, *INDEXED, *ELEMENT_MEASURES, *DROP, *SCORED),
                ("validate", INPUT, *INDEXED, "-t", "2006.Focused"),
                ("stats", INPUT, *INDEXED),
                ("convert", INPUT, OUTPUT, "--to", "fol", *INDEXED),
            ),
        )


def _answers() -> Seed:
    """Answers that cite spans, quotes and whole documents."""
    cited = [{"doc": "tidal-causeways", "start": 18, "end": 90}, {"doc": "fords"}]
    quotes = [{"doc": "fords", "start": 9, "end": 28, "quote": "The oldest crossing"}]
    rows: list[dict[str, Any]] = [
        {"type": "header", "format": "foveal-answers", "version": 1, "retrieved": "windows"},
        {"topic": "1", "answer": [{"text": "One.", "citations": cited}, {"text": "Two."}]},
        {"topic": "2", "answer": [{"text": "Three.", "citations": quotes}]},
        {"topic": "3", "answer": []},
    ]
    texts = ("--texts", f"{BASE}/documents")
    measures = [word for name in FAMILIES["citations"].split()[:6] for word in ("-m", name)]
    evaluate = ("evaluate", INPUT, *JUDGED, *measures, "-m", "accepted")
    commands: tuple[Command, ...] = (
        (*evaluate, *texts, *SCORED),
        (*evaluate, *INDEXED, "-m", "P@5", *SCORED),
        (
            "evaluate",
            INPUT,
            *JUDGED,
            *texts,
            "-m",
            "utilisation",
            "--retrieved",
            f"{BASE}/run.jsonl",
        ),
        ("validate", INPUT, *texts),
        ("validate", INPUT),
        ("stats", INPUT),
        ("convert", INPUT, OUTPUT, "--to", "answers", *texts),
        ("convert", INPUT, OUTPUT, "--to", "jsonl", *texts),
        ("report", INPUT, *JUDGED, *texts, "-m", "citeF", "-o", OUTPUT),
        ("pool", INPUT, "-o", OUTPUT),
        ("budget", INPUT, *JUDGED, *texts, "--overlap", "drop", *SCORED),
    )
    content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    return Seed("run-answers", "answers.jsonl", content, commands)


def _judgements(base: Path) -> Iterator[Seed]:
    run = f"{BASE}/run.jsonl"
    files = {form: base / f"qrels.{form}" for form in ("fol", "trec")}
    files["jsonl"] = base / "judgements.jsonl"
    for form, path in files.items():
        commands: tuple[Command, ...] = (
            ("stats", INPUT),
            ("convert", INPUT, OUTPUT, "--to", "trec" if form == "trec" else "jsonl"),
        )
        if form == "trec":
            commands += (("evaluate", run, "-j", INPUT, "-m", "AP", "-m", "P@5", *SCORED),)
        else:
            commands += (
                ("evaluate", run, "-j", INPUT, *TEXT_MEASURES, *DROP, *SCORED),
                (
                    *("evaluate", run, "-j", INPUT, *INDEXED, *ELEMENT_MEASURES),
                    *(*DROP, "--snap", *SCORED),
                ),
                ("recall-base", "-j", INPUT, *INDEXED, "--topic", "1"),
                ("simulate", "-j", INPUT, *INDEXED, "-o", OUTPUT),
                ("fidelity", "-j", INPUT, *INDEXED, "-m", "AiP", "-f", "json", "-o", OUTPUT),
                ("inex-eval", "-f", INPUT, f"{BASE}/run.fol")
                if form == "fol"
                else ("convert", INPUT, OUTPUT, "--to", "inex2006", *INDEXED),
                ("agree", "-j", INPUT, *JUDGED, "-f", "json", "-o", OUTPUT),
                ("project", "-j", INPUT, "--window", "200", "-f", "json", "-o", OUTPUT),
                ("verify", "-j", INPUT, *INDEXED, "--documents", f"{BASE}/documents"),
            )
        yield Seed(f"judgements-{form}", f"judgements.{form}", path.read_bytes(), commands)
    for form in ("inex2003", "inex2005", "inex2006"):
        found = sorted((base / form).glob("*.xml")) if (base / form).is_dir() else []
        content = found[0].read_bytes() if found else _PRINTED[form]
        measure = f"nxCG(quant={'strict' if form == 'inex2003' else 'gen'})@5"
        # One document is enough, and the others are not in the collection.
        first, end, _ = content.partition(b"</file>")
        content = first + end + b"</assessments>\n"
        yield Seed(
            f"judgements-{form}",
            "assessments.xml",
            content,
            (
                ("evaluate", f"{BASE}/run.inex", "-j", INPUT, "-m", measure, *DROP, *SCORED),
                ("stats", INPUT),
                ("convert", INPUT, OUTPUT, "--to", "jsonl", *INDEXED),
                ("recall-base", "-j", INPUT, "--topic", "1", "-f", "json", "-o", OUTPUT),
            ),
        )


_PRINTED = {
    "inex2003": b"""<?xml version="1.0"?>
<assessments topic="1" version="1">
<file file="reaction-ferries">
<path path="/article[1]" exhaustivity="2" specificity="1"/>
<path path="/article[1]/body[1]/sec[1]" exhaustivity="3" specificity="3"/>
</file>
</assessments>
""",
    "inex2005": (CROSSINGS / "assessments" / "1.xml").read_bytes(),
    "inex2006": (CROSSINGS / "assessments" / "1.xml").read_bytes(),
}


def _topics_and_pools(base: Path) -> Iterator[Seed]:
    run = f"{BASE}/run.inex"
    for form in ("jsonl", "inex", "trec"):
        yield Seed(
            f"topics-{form}",
            f"topics.{form}",
            (base / f"topics.{form}").read_bytes(),
            (
                ("validate", INPUT),
                ("stats", INPUT),
                ("convert", INPUT, OUTPUT, "--to", "jsonl"),
                ("validate", run, "--topics-file", INPUT, "-t", "2006.Focused"),
                (
                    *("evaluate", run, *JUDGED, *INDEXED, "--topics-file", INPUT, "--cas", "VV"),
                    *("-m", "nxCG@5", "-m", "MAep", *DROP, *SCORED),
                ),
            ),
        )
    yield Seed(
        "pool",
        "pool.jsonl",
        (base / "pool.jsonl").read_bytes(),
        (
            (
                *("assess", "init", OUTPUT, *INDEXED, "--documents", f"{BASE}/documents"),
                *("--topics", f"{BASE}/topics.jsonl", "--pool", INPUT, "--assessor", "ann"),
            ),
        ),
    )


def _results_and_configurations(base: Path) -> Iterator[Seed]:
    yield Seed(
        "results",
        "saved.json",
        (base / "noisy.json").read_bytes(),
        (
            ("compare", INPUT, f"{BASE}/focused.json", "-m", "AiP", *SCORED),
            ("correlate", INPUT, f"{BASE}/focused.json", *SCORED),
            ("plot", "topics", INPUT, "-m", "AiP", "-o", f"{OUTPUT}.dat"),
        ),
    )
    shutil.copy(CROSSINGS / "assessments" / "1.xml", base / "assessed.xml")
    places = "ASSESSMENTS_DIR: $d/assessed.xml\nSUBMISSIONRUNS_DIR: $d/run.inex\n"
    task = "TASK: Focused\nMETRICS: nxCG, ep/gr, q\nOVERLAP: on, off\nALPHA: 1.0\n"
    properties = f"{task}QUANT_FUNCTIONS: gen, strict\nDCV: 5, 10\n{places}"
    markup = (
        '<metrics>\n<EPRUM id="e"><binary value="false"/><generator value="BEPTargetGenerator"/>\n'
        '<quantisation value="Exh"/><behaviour value="BEPDistance"><A value="10"/></behaviour>\n'
        '</EPRUM>\n<BEPD id="b"><a value="10"/></BEPD>\n</metrics>\n'
    )
    yield Seed(
        "configuration-properties",
        "evalj.prop",
        properties.encode(),
        (("evaluate", "--config", INPUT, "-f", "tsv", "-o", OUTPUT, "--define", f"d={BASE}"),),
    )
    yield Seed(
        "configuration-xml",
        "evalj.xml",
        markup.encode(),
        (
            (
                *("evaluate", "--config", INPUT, f"{BASE}/run.jsonl", *JUDGED, *DROP),
                *("-f", "tsv", "-o", OUTPUT),
            ),
        ),
    )


def _collections(base: Path) -> Iterator[Seed]:
    index = (("index", INPUT, "-o", OUTPUT),)
    text = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article [<!ENTITY ferry "reaction ferry"><!ELEMENT article ANY>]>
<article id="a1"><title>A &ferry; &amp; more</title><!-- said twice -->
<sec n='1'><p>One.</p><p>Two <b>bold</b> words.<![CDATA[ < raw > ]]></p></sec><sec/></article>
"""
    yield Seed("collection-xml", "article.xml", text, index)
    document = (base / "documents" / "fords.xml").read_bytes()
    yield Seed("collection-document", "fords.xml", document, index)
    lines = [{"doc": "a", "text": "One. Two."}, {"doc": "b", "text": "Three\nfour \U0001f600."}]
    yield Seed("collection-jsonl", "texts.jsonl", _json_lines(lines), index)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.xml", text)
        archive.writestr("b.txt", "A text.\n")
    yield Seed("collection-zip", "articles.zip", packed.getvalue(), index)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as folder:
        member = tarfile.TarInfo("a.xml")
        member.size = len(text)
        folder.addfile(member, io.BytesIO(text))
    yield Seed("collection-tar", "articles.tar.gz", packed.getvalue(), index)
    run = (base / "run.fol").read_bytes()
    evaluate = (("evaluate", INPUT, *JUDGED, *TEXT_MEASURES, *DROP, *SCORED), ("stats", INPUT))
    for name, content in (
        ("run.gz", gzip.compress(run, mtime=0)),
        ("run.bz2", bz2.compress(run)),
        ("run.xz", lzma.compress(run)),
        ("run.zst", zstandard.ZstdCompressor().compress(run)),
    ):
        yield Seed(f"compressed-{name[4:]}", name, content, evaluate)


def _json_lines(values: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(value)}\n" for value in values).encode()


def _gold() -> Iterator[Seed]:
    snippet = {
        "document": "http://www.ncbi.nlm.nih.gov/pubmed/17",
        "beginSection": "abstract",
        "endSection": "abstract",
        "text": "is so",
        "offsetInBeginSection": 3,
        "offsetInEndSection": 8,
    }
    answer = {"answer": {"evidence": ["We show things.", "FLOAT SELECTED: Table 1"]}}
    paper = {
        "title": "A paper",
        "abstract": "We show things.",
        "full_text": [{"section_name": "Intro", "paragraphs": ["First one.", "Again."]}],
        "qas": [{"question": "What?", "question_id": "x1", "answers": [answer]}],
    }
    qa = {"id": "q1", "question": "When?", "answers": [{"text": "1066", "answer_start": 20}]}
    squad = {"context": "The Normans came in 1066 from Normandy.", "qas": [qa]}
    cited = {
        "wikipedia_id": "736",
        "start_paragraph_id": 2,
        "start_character": 5,
        "end_paragraph_id": 2,
        "end_character": 30,
    }
    selector = {"type": "TextPositionSelector", "start": 3, "end": 5}
    annotation = {
        "type": "Annotation",
        "body": {"type": "TextualBody", "value": "doubt", "purpose": "tagging"},
        "target": {"source": "hamlet", "selector": selector},
    }
    legal = {"file_path": "nda.txt", "span": [0, 3], "answer": "Yes"}
    files: dict[str, str] = {
        "chunking-evaluation": "question,references,corpus_id\n"
        '"Who?","[{""content"": ""Ann"", ""start_index"": 4, ""end_index"": 7}]",speech\n',
        "legalbench-rag": json.dumps({"tests": [{"query": "May they?", "snippets": [legal]}]}),
        "squad": json.dumps({"data": [{"title": "Normans", "paragraphs": [squad]}]}),
        "bioasq": json.dumps({"questions": [{"id": "5a", "body": "?", "snippets": [snippet]}]}),
        "kilt": json.dumps(
            {"id": "k1", "input": "Where?", "output": [{"answer": "Ulm", "provenance": [cited]}]}
        ),
        "qasper": json.dumps({"1911.1": paper}),
        "trec-genomics": "200\t14747618\t64\t20\tICAM-1|CD14\n200\t77\t5\t3\t\n",
        "trec-genomics-run": "200 14747618 1 0.9 64 20 mine\n200 77 2 0.5 5 3 mine\n",
        "web-annotation": json.dumps(annotation),
    }
    for form, text in files.items():
        command = ("convert", INPUT, OUTPUT, "--to", "jsonl", "--from", form)
        yield Seed(f"gold-{form}", f"gold-{form}", f"{text}\n".encode(), (command,))


def _stored(base: Path) -> Iterator[Seed]:
    scored = ("-m", "AiP", "-m", "charR", *DROP, *SCORED)
    run = f"{BASE}/run.inex"
    yield Seed(
        "index",
        "crossings.fvx",
        (base / "crossings.fvx").read_bytes(),
        (
            ("index", INPUT, "--verify"),
            ("stats", INPUT),
            ("evaluate", run, *JUDGED, "-C", INPUT, *scored),
            ("evaluate", run, *JUDGED, "-C", INPUT, "-m", "nxCG@5", *DROP, *SCORED),
        ),
        is_checked=True,
    )
