"""`python -m transduce`, and where the program begins."""

import signal
import sys


def start() -> None:
    """Run the command; Ctrl-C before and after its work is one line and nothing more, too."""
    try:
        from transduce.cli.main import main

        main()
    except KeyboardInterrupt:
        print("transduce: interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # all that is left is to end
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    start()
