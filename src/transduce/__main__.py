"""`python -m transduce`, the entry point of the program."""

import gc
import signal
import sys


def start() -> None:
    """Runs the command; Ctrl-C at any time, imports included, prints one line."""
    try:
        from transduce.cli.main import main

        main()
    except KeyboardInterrupt:
        print("transduce: interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # nothing may interrupt the end
            signal.signal(number, signal.SIG_IGN)
        gc.freeze()  # else the interpreter searches all that PyTorch made for cycles, for half a second


if __name__ == "__main__":
    start()
