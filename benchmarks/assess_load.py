"""Time the saves of many assessors who work at once against a real server on this machine.

python -m benchmarks.assess_load [--assessors N] [--rate N] [--minutes N] [--disk DIR]
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from math import ceil
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

from benchmarks.articles import generate
from benchmarks.frame import add_output_options, publish
from benchmarks.outcome import Aim, Outcome, Table
from benchmarks.processes import ROOT, compiled

ADDRESS = "127.0.0.1"
PASSWORD = "seven ferries"
POOLED = 40
"""Documents of each topic."""
HIGHLIGHTS = 3
"""Of each document; an entry point and the validation follow."""
AIM = 100.0
"""Milliseconds that a save may take in 99 of 100 cases."""
TIMEOUT = 60.0
BETWEEN = 1.0
"""Seconds between two looks at the disk and at a server that only says that it is there."""


# -- a campaign and its server --------------------------------------------------------------------


def make_campaign(folder: Path, assessors: int) -> Path:
    """A topic of Wikipedia-like articles for each assessor, who has a password."""
    from foveal.assess.accounts import encode_password
    from foveal.assess.store import Campaign
    from foveal.collection import Collection, build_index
    from foveal.files.source import Source
    from foveal.formats.pool_files import read_pool
    from foveal.model import Topic, Topics

    source, index, campaign = (folder / name for name in ("articles", "index.fvx", "campaign.fva"))
    generate(source, 1_500_000)
    build_index(source, index)
    collection = Collection.open(index)
    chance, documents = Random(assessors), sorted(collection)
    lines: list[dict[str, Any]] = [
        {"type": "header", "format": "foveal-pool", "version": 1, "pooled": "document"}
    ]
    lines += (
        {
            "topic": name,
            "doc": doc,
            "priority": rank,
            "rank": rank,
            "runs": [{"run": "a", "rank": rank}],
        }
        for name in names(assessors)
        for rank, doc in enumerate(chance.sample(documents, min(POOLED, len(documents))), 1)
    )
    made = Campaign.create(
        campaign,
        collection=collection,
        source=source,
        topics=Topics.of(Topic(name, title=name) for name in names(assessors)),
        pool=read_pool(Source.of_text("\n".join(map(json.dumps, lines)))),
    )
    with made:
        encoded = encode_password(PASSWORD)
        for name in names(assessors):
            made.add_user(name, "assessor", encoded)
            made.assign(name, name)
    return campaign


def names(assessors: int) -> list[str]:
    """Of the assessors, and of their topics."""
    return [f"a{number:02}" for number in range(assessors)]


@contextmanager
def served(campaign: Path, cache: Path) -> Iterator[int]:
    """The port of a server in a process of its own, which is ended in the end."""
    with socket.socket() as tried:
        tried.bind((ADDRESS, 0))
        port = tried.getsockname()[1]
    command = [sys.executable, "-m", "foveal", "assess", "serve", str(campaign)]
    command += ["--port", str(port), "--trusted-host", ADDRESS]
    with tempfile.TemporaryFile() as said:
        server = subprocess.Popen(command, cwd=ROOT, env=compiled(cache), stdout=said, stderr=said)
        try:
            _await(server, port)
            yield port
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _await(server: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server listens."""
    last = time.monotonic() + TIMEOUT
    while server.poll() is None and time.monotonic() < last:
        try:
            socket.create_connection((ADDRESS, port), timeout=TIMEOUT).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"the server does not listen (exit code {server.poll()})")


# -- assessors ------------------------------------------------------------------------------------


@dataclass
class Times:
    """Seconds that things took, by their name."""

    of: dict[str, list[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def taken(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        seconds = time.perf_counter() - begin
        with self._lock:
            self.of.setdefault(name, []).append(seconds)


class Browser:
    """What a page does of HTTP, on one connection that stays."""

    def __init__(self, port: int) -> None:
        self.http = HTTPConnection(ADDRESS, port, timeout=TIMEOUT)
        self.cookies: dict[str, str] = {}
        self.token = ""

    def close(self) -> None:
        self.http.close()

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> tuple[int, bytes]:
        """Status and body of the answer; cookies are kept."""
        headers = {"Cookie": "; ".join(f"{name}={own}" for name, own in self.cookies.items())}
        if body is not None:
            headers |= {"Content-Type": kind, "X-CSRF-Token": self.token}
        self.http.request(method, path, body, headers)
        answer = self.http.getresponse()
        for line in answer.headers.get_all("Set-Cookie", []):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer.status, answer.read()

    def sign_in(self, name: str) -> None:
        _, page = self.ask("GET", "/login")
        fields = {"name": name, "password": PASSWORD, "csrf": _found(rb'name="csrf" value="', page)}
        form = "application/x-www-form-urlencoded"
        _expect(303, self.ask("POST", "/login", urlencode(fields).encode(), form))
        self.token = _found(rb'name="csrf" content="', _expect(200, self.ask("GET", "/")))


def _found(before: bytes, page: bytes) -> str:
    match = re.search(before + rb'([^"]+)"', page)
    if match is None:
        raise RuntimeError("the page has no token")
    return match[1].decode()


def _expect(status: int, answer: tuple[int, bytes]) -> bytes:
    if answer[0] != status:
        raise RuntimeError(f"answered {answer[0]}, expected {status}: {answer[1][:300]!r}")
    return answer[1]


def _actions(chance: Random, length: int) -> Iterator[dict[str, Any]]:
    """What is done to a document: passages, where to begin, and that this is all."""
    entry = length - 1
    for _ in range(HIGHLIGHTS):
        start = chance.randrange(length)
        entry = min(entry, start)
        yield {"kind": "highlight", "start": start, "end": min(start + 200, length)}
    yield {"kind": "bep", "start": entry}
    yield {"kind": "validate"}


def _work(
    browser: Browser,
    name: str,
    count: int,
    due: Iterator[float],
    times: Times,
    ended: threading.Event,
) -> None:
    """Open documents one after the other and act, each action when it is due."""
    chance = Random(name)
    _, pool = browser.ask("GET", f"/api/topics/{name}/pool")
    documents = [entry["doc"] for entry in json.loads(pool)["documents"]]
    done = 0
    while done < count:
        doc = documents[done // (HIGHLIGHTS + 2) % len(documents)]
        path = f"/api/topics/{name}/documents/{quote(doc)}"
        with times.taken("open"):
            opened = json.loads(_expect(200, browser.ask("GET", path)))
        version, text = opened["version"], opened["structure"]
        for action in list(_actions(chance, text["length"]))[: count - done]:
            message = {
                "campaign": opened["campaign"],
                "uuid": str(UUID(int=chance.getrandbits(128))),
                "base": version,
                "length": text["length"],
                "digest": text["digest"],
                "action": action,
            }
            body = json.dumps(message).encode()
            if ended.wait(max(0.0, next(due) - time.monotonic())):
                return  # somebody else has failed
            with times.taken("save"):
                saved = _expect(200, browser.ask("POST", f"{path}/actions", body))
            version = json.loads(saved)["version"]
            done += 1


def _look(port: int, folder: Path, times: Times, ended: threading.Event) -> None:
    """What saves cannot do without: a write that reaches the disk, and a request and its answer."""
    with closing(Browser(port)) as browser, (folder / "bare").open("wb") as bare:
        while not ended.wait(BETWEEN):
            with times.taken("disk"):
                bare.write(bytes(4096))
                bare.flush()
                os.fsync(bare.fileno())
            with times.taken("nothing"):
                _expect(200, browser.ask("GET", "/healthz"))


def measured(folder: Path, options: Namespace) -> Times:
    """Everybody signs in, then all work for the same time."""
    campaign, times, ended = make_campaign(folder, options.assessors), Times(), threading.Event()
    count, apart = round(options.rate * options.minutes), 60 / options.rate
    with (
        served(campaign, folder / "cache") as port,
        ThreadPoolExecutor(options.assessors + 1) as people,
    ):
        browsers = [Browser(port) for _ in names(options.assessors)]
        try:
            for browser, name in zip(browsers, names(options.assessors), strict=True):
                browser.sign_in(name)
            begin, chance = time.monotonic(), Random(0)
            looking = people.submit(_look, port, folder, times, ended)
            work = []
            for browser, name in zip(browsers, names(options.assessors), strict=True):
                first = begin + chance.random() * apart
                due = iter([first + number * apart for number in range(count)])
                work.append(people.submit(_work, browser, name, count, due, times, ended))
            for one in work:
                one.result()
        finally:
            ended.set()
            for browser in browsers:
                browser.close()
        looking.result()
    _check(campaign, options.assessors * count)
    return times


def _check(campaign: Path, count: int) -> None:
    """A save that was fast because nothing was saved is none."""
    import sqlite3

    with closing(sqlite3.connect(campaign)) as connection:
        ((found,),) = connection.execute("SELECT count(*) FROM actions").fetchall()
    if found != count:
        raise RuntimeError(f"{found} actions are in the log, expected {count}")


# -- the report -----------------------------------------------------------------------------------


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of all do not exceed.

    >>> quantile([3, 1, 2, 4], 0.5), quantile([3, 1, 2, 4], 0.99)
    (2, 4)
    """
    return sorted(values)[max(ceil(share * len(values)), 1) - 1]


ROWS: Mapping[str, str] = {
    "save": "save an action, as the client sees it",
    "open": "open a document",
    "nothing": "request that does nothing (`/healthz`)",
    "disk": "4 KiB written and on the disk, without a server",
}


def outcome(times: Times, options: Namespace, load: float) -> Outcome:
    """How long everything took, and whether saves are fast enough."""
    disk = quantile(times.of["disk"], 0.5)
    rows = []
    for name, words in ROWS.items():
        own = times.of[name]
        found = [quantile(own, share) for share in (0.5, 0.99, 1.0)]
        cells = [f"{1e3 * seconds:.1f}" for seconds in found]
        rows.append([words, str(len(own)), *cells, f"{found[0] / disk:.1f}"])
    loads = f"load average {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    pace = f"{options.rate:g} actions a minute each, for {options.minutes:g} minutes"
    slowest = 1e3 * quantile(times.of["save"], 0.99)
    return Outcome(
        "Load of the assessment tool",
        [
            f"{options.assessors} assessors, {pace}; one server process, all on loopback",
            f"{os.cpu_count()} cores, {loads}",
        ],
        [Table(["request", "number", "p50 ms", "p99 ms", "max ms", "p50 / disk"], rows)],
        [Aim("p99 of a save", slowest, AIM, "ms")],
        measurements={
            name: [{"seconds": seconds} for seconds in own] for name, own in times.of.items()
        },
    )


def _options(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.assess_load", description=__doc__)
    for name, kind, default, words in (
        ("assessors", int, 20, "who work at once"),
        ("rate", float, 10.0, "actions a minute of each"),
        ("minutes", float, 5.0, "that they work"),
    ):
        parser.add_argument(
            f"--{name}",
            type=kind,
            default=default,
            metavar="N",
            help=f"{words} (default {default:g})",
        )
    parser.add_argument(
        "--disk", type=Path, metavar="DIR", help="campaign on the disk of DIR, for a while"
    )
    add_output_options(parser)
    options = parser.parse_args(arguments)
    if min(options.assessors, options.rate, options.minutes) <= 0:
        parser.error("--assessors, --rate and --minutes must be positive")
    if options.rate * options.minutes * 60 < 60 or options.minutes * 60 < 2 * BETWEEN:
        parser.error("expected an action of each, and two seconds, or more")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    with tempfile.TemporaryDirectory(dir=options.disk) as folder:
        load = os.getloadavg()[0]
        times = measured(Path(folder).resolve(), options)
    publish(outcome(times, options, load), options)


if __name__ == "__main__":
    main()
