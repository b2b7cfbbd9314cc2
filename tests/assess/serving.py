"""``foveal assess serve`` in a process of its own: killed, started again, asked as pages ask it.

Every process that is started here is ended here, by its own id, whatever becomes of the test.
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from assess_site import PASSWORD, Client

ADDRESS = "127.0.0.1"
PAUSE = 0.05
"""Seconds between two tries."""
TRIES = 1200
"""How often somebody asks a server that does not answer before giving up: a minute or more."""


def free_port() -> int:
    """A port that can be listened at again and again.

    It is below those that systems give to connections: while no server listens, a client's own end
    could get the number, and keep the next server out.
    """
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((ADDRESS, port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port among a hundred")


class Server:
    """A server that people sign in to with passwords, always at the same port."""

    def __init__(self, campaign: Path) -> None:
        self.campaign = campaign
        self.port = free_port()
        self.url = f"http://{ADDRESS}:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.prefix: list[str] = []
        """A command that runs the server's own."""
        self.said = campaign.with_name(f"server-{self.port}.log")

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [
            *self.prefix,
            sys.executable,
            "-m",
            "foveal",
            "assess",
            "serve",
            str(self.campaign),
        ]
        command += ["--port", str(self.port), "--trusted-host", ADDRESS]
        with self.said.open("ab") as said:
            self.process = subprocess.Popen(command, stdout=said, stderr=said)
        waiting = threading.Event()
        for _ in range(TRIES):
            assert self.process.poll() is None, self.said.read_text()
            try:
                socket.create_connection((ADDRESS, self.port), timeout=10).close()
            except OSError:
                waiting.wait(PAUSE)
            else:
                return
        raise AssertionError(f"the server does not answer: {self.said.read_text()}")

    def end(self, how: signal.Signals = signal.SIGKILL) -> int:
        """End the process that was started; how it says it ended."""
        process, self.process = self.process, None
        assert process is not None
        try:
            process.send_signal(how)
            return process.wait(30)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait(30)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid


@contextmanager
def running(campaign: Path) -> Iterator[Server]:
    """A server that answers; in the end it is killed if nobody has done that."""
    server = Server(campaign)
    try:
        server.start()
        yield server
    finally:
        if server.process is not None:
            server.end()


class Answer(NamedTuple):
    """The outcome of an action."""

    status: int
    content: dict[str, Any]


class Page(Client):
    """An article page without a browser: it repeats an action until it is told what came of it.

    Sessions outlive the server, so it signs in once.
    """

    def __init__(self, url: str, name: str, *, given_up: threading.Event | None = None) -> None:
        super().__init__(url)
        self.name = name
        self.measured: dict[str, dict[str, Any]] = {}
        self.waiting = threading.Event() if given_up is None else given_up
        assert self.login(name, PASSWORD).status_code == 303

    def open(self, topic: str, doc: str) -> dict[str, Any]:
        """Load a document, and keep what proves that the page shows its text."""
        found = self.document(topic, doc)
        text = found["structure"]
        self.measured[doc] = {
            "campaign": found["campaign"],
            "length": text["length"],
            "digest": text["digest"],
        }
        return found

    def message(self, doc: str, uuid: str, base: int, action: dict[str, Any]) -> dict[str, Any]:
        return {"uuid": uuid, "base": base, "at": None, **self.measured[doc], "action": action}

    def once(
        self, topic: str, doc: str, uuid: str, base: int, action: dict[str, Any]
    ) -> httpx.Response:
        """Send an action as it is, and hear whatever is said; raises if nothing is."""
        body = self.message(doc, uuid, base, action)
        return self.send(f"/api/topics/{topic}/documents/{doc}/actions", body)

    def save(
        self, topic: str, doc: str, uuid: str, base: int, action: dict[str, Any]
    ) -> Answer | None:
        """Send an action, always under the same name, until it is answered; None if given up."""
        for _ in range(TRIES):
            try:
                answer = self.once(topic, doc, uuid, base, action)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code != 503:
                return Answer(answer.status_code, answer.json())
            if self.waiting.wait(PAUSE):
                return None
        return None
