"""`python -m transduce`, the entry point of the program."""

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


if __name__ == "__main__":
    start()
