"""No test hangs, and no process of a test outlives it, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import pytest

from timeouts import finished, limited, started, until

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]
STARTS = f"import subprocess; own = subprocess.Popen({SLEEPS!r}); print(own.pid, flush=True); "


def ended(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    if state.exists():
        return state.read_text().rpartition(")")[2].split()[0] == "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_wait_that_does_not_end_is_a_failure() -> None:
    said = r"^this is not done after 0\.2 s$"
    with pytest.raises(pytest.fail.Exception, match=said), limited("this", 0.2):
        Future[int]().result()
    with pytest.raises(pytest.fail.Exception), limited("this", 0.2):
        finished(SLEEPS)


def test_what_a_process_started_ends_with_the_test() -> None:
    command = [sys.executable, "-c", STARTS + "own.wait()"]
    with started(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert not ended(child)
    assert ended(process.pid)
    until(lambda: ended(child), "the end of the child")


FOLLOWED = """
import os, signal, sys
from pathlib import Path
from benchmarks.dask_cluster import start
place = Path(sys.argv[1])
print(start("dask_scheduler", "--port", "0", folder=place, log=place / "log").pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_parts_of_a_cluster_end_with_who_started_them(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    root = Path(__file__).parent.parent
    done = finished([sys.executable, "-c", FOLLOWED, str(tmp_path)], cwd=root)
    assert done.returncode < 0
    until(lambda: ended(int(done.stdout)), "the end of the scheduler")
