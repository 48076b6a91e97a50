"""`python -m transduce`, the entry point of the program."""

import gc
import os
import signal
import sys
import threading
import time

LONGEST_END = 10.0  # seconds that the interpreter may take to end, which waits for threads


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
        threading.Thread(target=_cut_end_short, args=(sys.exc_info()[1],), daemon=True).start()
        gc.freeze()  # else the interpreter searches all that PyTorch made for cycles, for half a second


def _cut_end_short(error: BaseException | None) -> None:
    """Ends the process with its exit status if the interpreter waits too long for a thread."""
    time.sleep(LONGEST_END)
    status = error.code if isinstance(error, SystemExit) else 1
    os._exit(status if isinstance(status, int) else 0 if status is None else 1)


if __name__ == "__main__":
    start()
