"""Answers for requests that cannot be done."""

import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from starlette.exceptions import HTTPException


class RefusedError(HTTPException):
    """An answer with an HTTP status and a message; an HTTPException, since FastAPI makes 400 of others in a body."""

    def __init__(self, status: int, message: str, retry_after: float = 0.0) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
        """Seconds after which to try again; 0 for an answer that would stay the same."""


class Paths:
    """The paths of a server's files, which no client may read."""

    def __init__(self, places: Iterable[str | Path]) -> None:
        """Takes the folders and files that the server was given; others of the system are known."""
        given = [Path(place) for place in (*places, Path.cwd(), Path.home(), tempfile.gettempdir(), sys.prefix)]
        spelled = {str(form) for place in given for form in (place, place.absolute(), place.resolve())}
        tops = {path.name for path in Path(Path.cwd().anchor).iterdir()}
        folders = "|".join(map(re.escape, sorted(spelled - {"/", "."}, key=len, reverse=True)))
        names = "|".join(map(re.escape, sorted(tops, key=len, reverse=True)))
        self._path = re.compile(
            rf"(?<![\w/.-])(?:{folders}|(?:[A-Za-z]:)?[/\\](?:{names}))(?:[/\\][^\s'\"():;,]*)?(?!\w)"
        )

    def hide(self, message: str) -> str:
        """Returns a message with the name of each file in place of its path."""
        return self._path.sub(lambda found: Path(found[0].replace("\\", "/")).name, message)
