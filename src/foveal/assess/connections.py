"""A time limit on the arrival of requests.

Without it the HTTP server waits forever for the rest of a request: a thousand silent connections
would use up the file handles of the process and lock everybody out.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["TIMEOUT", "with_request_timeout"]

TIMEOUT = 30.0
"""Seconds in which a whole request must arrive."""


def with_request_timeout(seconds: float = TIMEOUT) -> type[H11Protocol]:
    """Return uvicorn's protocol class with a time limit on the arrival of each request."""

    class TimedProtocol(H11Protocol):
        clock: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self.rest()
            super().connection_lost(exc)

        def watch(self) -> None:
            # Each byte does not restart the clock: a request must not trickle in.
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                self.rest()
            elif self.clock is None:
                self.clock = self.loop.call_later(seconds, self.transport.close)

        def rest(self) -> None:
            if self.clock is not None:
                self.clock.cancel()
                self.clock = None

    return TimedProtocol
