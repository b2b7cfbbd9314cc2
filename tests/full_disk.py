"""The command on a full disk: no file may grow beyond 100 bytes."""

import resource
import signal
import sys

from foveal.cli import main

if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    main(sys.argv[1:])
