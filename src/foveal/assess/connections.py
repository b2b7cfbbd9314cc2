"""Connections on which a request does not come to its end are closed.

The server of HTTP waits for ever for the rest of a request; a thousand connections that say
nothing would take all that a process may open, and keep everybody out.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["PATIENCE", "impatient"]

PATIENCE = 30.0
"""Seconds in which a request, of a million bytes at most, has to arrive."""

_UNFINISHED = (h11.IDLE, h11.SEND_BODY)


def impatient(seconds: float = PATIENCE) -> type[H11Protocol]:
    """The protocol of uvicorn, with an end to waiting for a request that was begun."""

    class Impatient(H11Protocol):
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
            # Not begun anew by each byte: a request that trickles in is as bad as none.
            if self.conn.their_state not in _UNFINISHED:
                self.rest()
            elif self.clock is None:
                self.clock = self.loop.call_later(seconds, self.transport.close)

        def rest(self) -> None:
            if self.clock is not None:
                self.clock.cancel()
                self.clock = None

    return Impatient
