"""What tests of safety attack a server with."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assess_site import Client, answering
from foveal.assess.server import create_app
from foveal.assess.store import Campaign

ACTIONS = "/api/topics/1/documents/ferries/actions"
CHANGES = [
    ("POST", ACTIONS),
    ("POST", "/api/topics/1/documents"),
    ("POST", "/api/topics/1/events"),
    ("PUT", "/api/topics/1/settings"),
    ("POST", "/api/assignments"),
    ("POST", "/api/users"),
    ("POST", "/api/adjudication/agreed"),
    ("POST", "/api/users/import"),
    ("POST", "/api/invitations"),
    ("PUT", "/api/campaign"),
    ("POST", "/api/tokens"),
    ("DELETE", "/api/tokens/1"),
    ("POST", "/api/account/password"),
]
"""All that changes something."""


@contextmanager
def served_as(path: Path, **options: Any) -> Iterator[str]:
    """The address of a server that is behind a proxy, or has little patience."""
    with Campaign.open(path) as campaign, answering(create_app(campaign), **options) as address:
        yield address


def raw(url: str, request: bytes) -> bytes:
    """What the server answers to bytes."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def path_as_is(client: Client, path: str) -> int:
    """The status of a path that no library tidies up first."""
    parts = urlsplit(client.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    cookies = "; ".join(f"{name}={value}" for name, value in client.http.cookies.items())
    connection.putrequest("GET", path, skip_accept_encoding=True)
    connection.putheader("Cookie", cookies)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert b"the secret" not in body
    assert b"root:" not in body
    return answer.status
