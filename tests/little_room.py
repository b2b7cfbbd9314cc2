"""The command on a disk that is as good as full: no file may be longer than a few bytes."""

import resource
import signal
import sys

from foveal.cli import main

if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    main(sys.argv[1:])
