"""`python -m transduce`, the entry point of the program."""

import gc
import os
import signal
import sys
import threading

LONGEST_END = 10.0  # seconds that the interpreter may take to end, which waits for threads


def start() -> None:
    """Runs the command; Ctrl-C at any time, imports included, prints one line."""
    try:
        from transduce.apps.cli.main import main

        main()
    except KeyboardInterrupt:
        print("transduce: interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # nothing may interrupt the end
            signal.signal(number, signal.SIG_IGN)
        error = sys.exc_info()[1]
        status = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else error is not None
        end = threading.Timer(LONGEST_END, os._exit, (int(status),))
        end.daemon = True  # the interpreter waits for other threads only
        end.start()
        gc.freeze()  # else the interpreter searches all that PyTorch made for cycles, for half a second


if __name__ == "__main__":
    start()
