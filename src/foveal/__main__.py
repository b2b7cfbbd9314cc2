"""The program ``foveal``, also as ``python -m foveal``."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

from foveal.cli import main


def run() -> NoReturn:
    """Run the command line, then end the process at once.

    Python would first take down all that NumPy and Polars set up, which takes a tenth of the time
    of a small evaluation. All files are closed and all workers have ended by then.
    """
    # Foveal multiplies no matrices; starting threads for it takes a tenth of the time of a small
    # evaluation, too.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    if code is not None and not isinstance(code, int):
        sys.exit(str(code))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or nobody reads it
            stream.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    run()
