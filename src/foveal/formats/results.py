"""Results as data: tsv, csv, json, jsonl and parquet at full precision."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable

from foveal.errors import UsageError
from foveal.model import Results

__all__ = ["DATA_FORMATS"]


def _tsv(results: Results, *, per_topic: bool) -> str:
    for name in (*results.runs, *results.topics):
        if set("\t\n\r") & set(name):
            raise UsageError(f"{name!r} cannot be a field of tsv; csv and json can hold it")
    lines = ["run\ttopic\tmeasure\tvalue"]
    lines += [
        f"{run}\t{topic}\t{measure}\t{value!r}"
        for run, topic, measure, value in results.rows(per_topic=per_topic)
    ]
    return "".join(f"{line}\n" for line in lines)


def _csv(results: Results, *, per_topic: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["run", "topic", "measure", "value"])
    writer.writerows(
        (run, topic, measure, repr(value))
        for run, topic, measure, value in results.rows(per_topic=per_topic)
    )
    return text.getvalue()


def _json(results: Results, *, per_topic: bool) -> str:  # noqa: ARG001 - always complete
    return results.to_json()


def _jsonl(results: Results, *, per_topic: bool) -> str:
    return "".join(
        json.dumps(
            {
                "run": run,
                "topic": topic,
                "measure": measure,
                "value": None if math.isnan(value) else value,
            },
            ensure_ascii=False,
        )
        + "\n"
        for run, topic, measure, value in results.rows(per_topic=per_topic)
    )


def _parquet(results: Results, *, per_topic: bool) -> bytes:
    buffer = io.BytesIO()
    results.tidy(per_topic=per_topic).write_parquet(buffer)
    return buffer.getvalue()


DATA_FORMATS: dict[str, Callable[..., str | bytes]] = {
    "tsv": _tsv,
    "csv": _csv,
    "json": _json,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
"""Format to writer, ``writer(results, per_topic=...)``; json always holds every topic."""
