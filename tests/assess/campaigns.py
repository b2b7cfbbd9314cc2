"""Small campaigns of documents that are hard on offsets, and the way to act on them."""

from __future__ import annotations

import atexit
import itertools
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from foveal.assess.actions import Action, History, State
from foveal.assess.documents import Elements
from foveal.assess.store import Campaign, Saved
from foveal.collection import Collection, build_index
from foveal.files.source import Source
from foveal.formats.pool_files import Pool, read_pool
from foveal.model import Topic, Topics

JATS = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article [<!ENTITY clef "\U0001d11e &#x1F600;"><!ENTITY para "<p>from an entity</p>">]>
<article xmlns:mml="http://www.w3.org/1998/Math/MathML"><front><article-meta><title-group>
<article-title>Music &amp; <italic>sea</italic> \U0001f30a</article-title></title-group>
</article-meta></front>
<body><sec><title>One</title><p>A clef &clef; stands <bold>first</bold>&#8212;always.</p>
<!-- a comment <p>not text</p> --><p>Then<?skip me?> <![CDATA[<b>raw & ready</b>]]> text.</p>&para;
</sec><sec><title>Two</title><p>e\u0301 and \u00e9 differ; <mml:math><mml:mi>x</mml:mi></mml:math>
does not.</p><fig><caption><p>Waves</p></caption></fig></sec></body></article>"""
SCRIPT = (
    "<doc onload=\"alert(1)\"><p onclick='alert(2)'>&lt;script&gt;alert(3)&lt;/script&gt;"
    "</p><script>alert(4)</script><p>plain sea</p></doc>"
)
PLAIN = "A line.\r\n\r\nAnother with \U0001f600 astral\u2028 characters, no mark-up at <all>.\n"
DOCUMENTS: Mapping[str, str] = {
    "music.xml": JATS,
    "deep/script.xml": SCRIPT,
    "notes.txt": PLAIN,
    "empty.xml": "<doc><p/><p></p></doc>",
    "sea.xml": "<doc><head>The sea</head><p>The sea is <i>very</i> wide.</p><p>It's wet.</p></doc>",
}
TOPICS = (
    Topic("1", title="sea music", description="Music about the sea.", narrative="All of it."),
    Topic("2", title="clefs"),
)
POOL = (
    {"topic": "1", "doc": "music", "priority": 1, "runs": [("a", 1), ("b", 2)],
     "support": [("a", 1, None, None, "/article/body/sec/p[2]"), ("b", 2, 5, 20, None)]},
    {"topic": "1", "doc": "sea", "priority": 2, "runs": [("a", 2)],
     "support": [("a", 3, None, None, None)]},
    {"topic": "1", "doc": "deep/script", "priority": 3, "runs": [("b", 1)], "support": []},
    {"topic": "2", "doc": "sea", "priority": 1, "runs": [("a", 1)], "support": []},
)  # fmt: skip
ANN, BOB = "ann", "bob"


def pool_text(rows: Sequence[Mapping[str, Any]] = POOL, **header: Any) -> str:
    """A pool as its file has it."""
    first = {"type": "header", "format": "foveal-pool", "version": 1, "pooled": "document"}
    lines = [json.dumps(first | header)]
    for row in rows:
        runs = [{"run": run, "rank": rank} for run, rank in row["runs"]]
        record: dict[str, Any] = {**row, "rank": min(rank for _, rank in row["runs"]), "runs": runs}
        if "support" in row:
            names = ("run", "rank", "start", "end", "xpath")
            record["support"] = [
                {name: value for name, value in zip(names, one, strict=True) if value is not None}
                for one in row["support"]
            ]
        lines.append(json.dumps(record))
    return "\n".join(lines) + "\n"


def pool_of(rows: Sequence[Mapping[str, Any]] = POOL, **header: Any) -> Pool:
    return read_pool(Source.of_text(pool_text(rows, **header)))


def write_documents(folder: Path, documents: Mapping[str, str] = DOCUMENTS) -> Path:
    """The documents below a folder, as an index is made from them."""
    for name, text in documents.items():
        place = folder / "documents" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    return folder / "documents"


def index_of(folder: Path, documents: Mapping[str, str] = DOCUMENTS, **options: Any) -> Collection:
    source = write_documents(folder, documents)
    build_index(source, folder / "index.fvx", **options)
    return Collection.open(folder / "index.fvx")


@cache
def _template() -> Path:
    """The campaign of most tests, made once for all that this process runs."""
    folder = Path(tempfile.mkdtemp(prefix="foveal-campaign-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _create(folder / "made").close()
    return folder / "made"


def make(folder: Path, **given: Any) -> Campaign:
    """A campaign with two assessors of all topics, in a folder with its index and documents.

    Without options it is a copy, which has the identity of all other copies.
    """
    if given:
        return _create(folder, **given)
    shutil.copytree(_template(), folder, dirs_exist_ok=True)
    return Campaign.open(folder / "a.campaign")


def _create(folder: Path, name: str = "a.campaign", **given: Any) -> Campaign:
    documents = given.pop("documents", DOCUMENTS)
    collection = given.pop("collection", None) or index_of(folder, documents)
    settings: dict[str, Any] = {
        "collection": collection,
        "source": folder / "documents",
        "topics": Topics.of(TOPICS),
        "pool": pool_of(),
        "assessors": (ANN, BOB),
        **given,
    }
    return Campaign.create(folder / name, **settings)


def make_version_1(path: Path) -> None:
    """Turn a closed campaign into one of version 1."""
    with closing(sqlite3.connect(path)) as old:
        old.executescript(
            "DROP TABLE suggestions; DROP TABLE invitations; DROP TABLE tokens; "
            "ALTER TABLE documents DROP COLUMN markup; DELETE FROM meta WHERE key = 'identity'; "
            "PRAGMA user_version = 1;"
        )


def replay(campaign: Campaign) -> list[tuple[str, str, str, int, State]]:
    """The assessments as the log leads to them."""
    found = []
    for assessor, topic, doc, *_ in campaign.assessments():
        history = History(action for action, _ in campaign.actions(assessor, topic, doc))
        found.append((assessor, topic, doc, history.version, history.state))
    return found


_numbers = itertools.count()


def act(
    campaign: Campaign,
    action: Action,
    *,
    assessor: str = ANN,
    topic: str = "1",
    doc: str = "music",
    base: int | None = None,
    uuid: str | None = None,
) -> Saved:
    """An action as a page that is up to date sends it."""
    document = campaign.document(doc)
    version = campaign.state(assessor, topic, doc)[0] if base is None else base
    return campaign.act(
        assessor,
        topic,
        doc,
        uuid or f"test-{next(_numbers)}",
        version,
        action,
        length=document.length,
        digest=document.sha256,
    )


def tree(*rows: tuple[str, int, int]) -> Elements:
    """Elements from paths and spans, parents before their children."""
    paths = [path for path, _, _ in rows]
    steps = [path.rpartition("/")[2][:-1].rpartition("[") for path in paths]
    above = [path.rpartition("/")[0] for path in paths]
    return Elements(
        path=tuple(paths),
        parent=np.array([paths.index(p) if p else -1 for p in above], dtype=np.int64),
        start=np.array([start for _, start, _ in rows], dtype=np.int64),
        end=np.array([end for _, _, end in rows], dtype=np.int64),
        tag=tuple(tag for tag, _, _ in steps),
        ordinal=np.array([int(ordinal) for _, _, ordinal in steps], dtype=np.int64),
    )
