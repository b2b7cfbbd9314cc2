"""Write a JSON Schema for every JSON output of the commands, from what they print.

    python tools/schemas.py             # write docs/schemas/NAME.json
    python tools/schemas.py --check     # compare, and name the schemas that differ

The commands of `SAMPLES` run in a copy of `examples/crossings`. Whatever `-f json` prints is a
sample; the samples of a schema must hold a value of every field. A field is required if all samples
have it. A number that is not a count may be undefined, and is then null.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tools.golden import ROOT, run_case, working_copy

FOLDER = ROOT / "docs" / "schemas"
RUNS = "runs/focused.jsonl runs/noisy.jsonl"
JUDGED = "-j judgements.jsonl -C crossings.fvx"
SCORED = f"{JUDGED} --overlap drop --regroup -m AP -m AiP"
SAMPLES = f"""
results: Scores of runs by topic and measure, printed by evaluate and budget.
  evaluate {RUNS} {SCORED} -f json
  budget {RUNS} {JUDGED} --overlap drop --at 250,500 -f json
  evaluate {RUNS} {SCORED} --bounds -f json
comparison: Means of runs and significance tests of their differences, printed by compare.
  compare {RUNS} runs/articles.jsonl {SCORED} -f json
  compare {RUNS} {SCORED} --baseline noisy -f json
  compare {RUNS} {JUDGED} --overlap drop --only-topics 1,2 -m P@1 -f json
  compare {RUNS} runs/articles.jsonl {SCORED} --bounds -f json
  compare {RUNS} -j few.jsonl --overlap drop --bounds -m AP -f json
correlations: Correlations of the rankings of runs, printed by correlate.
  correlate {RUNS} {SCORED} -f json
  correlate {RUNS} {SCORED} --by topics --samples 9 -f json
fidelity: Scores, orderings and verdicts of measures on simulated runs, printed by fidelity.
  fidelity {JUDGED} -m AgP -m AP -f json
pool: Sizes of a pool, contributions and overlap of runs, and growth, printed by pool --stats.
  pool {RUNS} --strategy round-robin --budget 3 --stats - -o pool.jsonl -f json
  pool {RUNS} --depth 3 --stats - -o pool.jsonl -f json
progress: Progress of an assessment campaign by topic and assessor, printed by assess status.
  assess init my.campaign -C crossings.fvx --topics topics.jsonl --pool pool.jsonl --assessor ann
  assess status my.campaign -f json
anchors: Judged spans and whether their text is still in its place, printed by verify.
  verify {JUDGED} --documents documents -f json
  verify -j quotes.jsonl --texts texts.jsonl -f json
agreement: Agreement of assessors by pair and topic, printed by agree.
  agree -j assessors/three.jsonl -f json
  agree -j graded2003/1.xml -j second.xml -C crossings.fvx -f json
projections: Relevant text in chunks, windows or elements, printed by project.
  project {JUDGED} --window 500 --tags p,sec --at 500 -f json
problems: Problems of runs and topics with their codes, printed by validate.
  validate {RUNS} bad/fields.run bad/empty.run bad/path.xml -C crossings.fvx -t 2009.Focused -f json
statistics: Figures of collections, topics, judgements and runs, printed by stats.
  stats crossings.fvx topics.jsonl judgements.jsonl assessments -C crossings.fvx -f json
  stats runs/paragraphs.run runs/strict.xml graded2002 graded2003 assessors/three.jsonl -f json
recall-base: Elements of a topic, their worth and the ideal ones, printed by recall-base.
  recall-base {JUDGED} --topic 2 -f json
  recall-base -j assessments -C crossings.fvx --topic 1 -f json
  recall-base -j graded2002 -C crossings.fvx --topic 1 -f json
formats: File formats that can be read or written, printed by formats.
  formats -f json
axioms: Verdicts on measures by axiom, with counterexamples, printed by axioms.
  axioms -m charF -m P@10 -m gen_passage --campaigns 20 -f json
"""
"""Names and descriptions of outputs, each above the commands that print samples of it."""
LAYOUTS: dict[str, int] = {}
"""Versions of layouts after the first. A breaking change of an output raises its number."""
KEYED = {"statistics": ("/files", "/files/*/*"), "axioms": ("/axioms", "/unsound")}
"""Paths of objects whose keys are names of files, tags, axioms or measures."""
FILES = {
    "texts.jsonl": '{"doc": "a", "text": "The ferry leaves. The bridge is closed. The ferry is."}',
    "few.jsonl": '{"topic": "1", "doc": "reaction-ferries", "spans": [{"start": 0, "end": 90}]}\n'
    '{"topic": "2", "doc": "reaction-ferries", "spans": [{"start": 0, "end": 90}]}\n',
    "quotes.jsonl": '{"topic": "1", "doc": "missing", "spans": [{"start": 0, "end": 9}]}\n'
    '{"topic": "1", "doc": "a", "spans": [{"start": 1, "end": 10, "quote": "The ferry"},'
    '{"start": 1, "end": 20, "quote": "The bridge is shut."}]}',
    "second.xml": '<assessments pool="2" topic="1"><file file="reaction-ferries">'
    '<path path="/article[1]" exhaustiveness="1" specificity="1"/></file></assessments>',
}
"""Few judgements, quotes that are not in their places in a text, and a second assessor."""
META = {
    "type": "object",
    "description": "Where the numbers come from. Other fields depend on the command.",
    "properties": {
        "version": {"type": "string", "description": "Version of Foveal."},
        "options": {"type": "object"},
        "inputs": {"type": "array", "items": {"type": "object", "required": ["path", "sha256"]}},
        "warnings": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["version"],
}
TYPES = {bool: "boolean", str: "string", list: "array", dict: "object", type(None): "null"}


def describe(values: Sequence[Any], keyed: Sequence[str], path: str = "") -> dict[str, Any]:
    """Return the schema of the values that the samples hold at a path."""
    if path == "/meta":
        return META
    types = {TYPES.get(type(value), "number") for value in values}
    if float in map(type, values):
        types.add("null")
    items = [item for value in values if isinstance(value, list) for item in value]
    objects = [value for value in values if isinstance(value, dict)]
    fields = dict.fromkeys(name for one in objects for name in one)
    if types <= {"null", "array", "object"} and not items and not fields:
        raise ValueError(f"no sample holds a value of {path}")
    schema: dict[str, Any] = {"type": types.pop() if len(types) == 1 else sorted(types)}
    if items:
        schema["items"] = describe(items, keyed, path)
    if fields and any(fnmatchcase(path, pattern) for pattern in keyed):
        inner = [value for one in objects for value in one.values()]
        schema["additionalProperties"] = describe(inner, keyed, f"{path}/*")
    elif fields:
        named = [name for name in fields if "@" not in name]
        schema["properties"] = {
            name: describe([one[name] for one in objects if name in one], keyed, f"{path}/{name}")
            for name in named
        }
        if len(named) < len(fields):  # columns named after measures, such as iP@0.1
            schema["patternProperties"] = {"@": {"type": ["null", "number"]}}
        schema["required"] = [name for name in named if all(name in one for one in objects)]
    return schema


def read_samples() -> dict[str, tuple[str, list[str]]]:
    """Return description and commands of every output by name."""
    outputs: dict[str, tuple[str, list[str]]] = {}
    for line in SAMPLES.strip().splitlines():
        if not line.startswith(" "):
            name, _, description = line.partition(": ")
            outputs[name] = description, []
        else:
            outputs[name][1].append(line.strip())
    return outputs


def make_schemas() -> dict[str, str]:
    """Return the text of every schema by name."""
    schemas = {}
    with working_copy():
        for file, content in FILES.items():
            Path(file).write_text(content)
        for name, (description, commands) in read_samples().items():
            printed = {command: run_case(command, {}) for command in commands}
            if failed := [done["err"] for done in printed.values() if done["exit"] == 2]:
                raise ValueError(f"{name}: {failed[0]}")
            samples = [json.loads(d["out"]) for c, d in printed.items() if c.endswith("-f json")]
            head = {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$id": f"foveal/{name}/{LAYOUTS.get(name, 1)}",
                "description": description,
            }
            described = describe(samples, KEYED.get(name, ()))
            schemas[name] = json.dumps(head | described, indent=1) + "\n"
    return schemas


def main() -> int:
    """Write the schemas, or compare with them."""
    parser = argparse.ArgumentParser(description="Write JSON Schemas of the commands' outputs.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # threads only cost time on such small files
    schemas = make_schemas()
    before = {path.stem: path.read_text() for path in FOLDER.glob("*.json")}
    different = sorted(n for n in schemas | before if schemas.get(n) != before.get(n))
    if not options.check:
        for name, text in schemas.items():
            (FOLDER / f"{name}.json").write_text(text)
    print(f"{len(schemas)} schemas, different: {', '.join(different) or 'none'}")
    return int(options.check and bool(different))


if __name__ == "__main__":
    sys.exit(main())
