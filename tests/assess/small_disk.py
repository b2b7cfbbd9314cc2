"""A served campaign on a disk of two megabytes, which a test can fill."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assess.serving import Server

_SERVE = """
mount -t tmpfs -o size=2m tmpfs "$1" &&
"$2" -m foveal assess backup "$3" "$1/campaign.fva" && shift 3 && exec "$@"
"""
_NAMESPACE = ("unshare", "--map-root-user", "--mount")
LONG_NOTE = "\N{ROWBOAT}" * 20_000
"""Stored as 12 bytes for each character, more than fit into the files that SQLite has already."""


def _can_mount(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    command = [*_NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class SmallDisk:
    """The disk of a server."""

    def __init__(self, server: Server, folder: Path) -> None:
        # Only the server's own namespace has it mounted.
        self._folder = Path(f"/proc/{server.pid}/root{folder}")

    def fill(self) -> None:
        with pytest.raises(OSError, match="No space left"):
            (self._folder / "ballast").write_bytes(bytes(10_000_000))

    def make_room(self) -> None:
        (self._folder / "ballast").unlink()


@contextmanager
def on_small_disk(campaign: Path) -> Iterator[tuple[Server, SmallDisk]]:
    """Serve a copy of the campaign from a small disk; skip where none can be mounted."""
    folder = campaign.parent.resolve() / "small"
    folder.mkdir()
    if not _can_mount(folder):
        pytest.skip("this system lets nobody mount a disk of their own (unshare)")
    server = Server(folder / "campaign.fva")
    server.said = campaign.with_name("server.log")
    server.prefix = [*_NAMESPACE, "sh", "-c", _SERVE, "sh", str(folder), sys.executable]
    server.prefix.append(str(campaign))
    try:
        server.start()
        yield server, SmallDisk(server, folder)
    finally:
        if server.process is not None:
            server.end()
