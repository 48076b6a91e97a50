"""Completions of what clients type: an older keystroke gives way to a newer one."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from transduce.apps.serving.batching import Batcher
from transduce.apps.serving.clients import CLIENT
from transduce.apps.serving.refusals import RefusedError
from transduce.inference.completer import Completion
from transduce.inference.translator import Translator


class Keystroke:
    """A completion that is asked for."""

    def __init__(self) -> None:
        self._future: Future[Completion] | None = None
        self._is_given_up = False
        self._is_superseded = False

    async def complete(
        self,
        batcher: Batcher,
        translator: Translator,
        complete: Callable[[Translator, Callable[[str], None]], Completion],
        tell: Callable[[str], None] | None = None,
    ) -> Completion:
        """Waits for a completion, made in the batcher's thread; `tell` receives it there as it grows.

        Raises RefusedError (409) once a newer keystroke has come.
        """

        def grow(completion: str) -> None:
            if self._is_given_up:
                raise _superseded()
            if tell is not None:
                tell(completion)

        if self._is_superseded:
            raise _superseded()
        self._future = batcher.run(lambda: complete(translator, grow))
        try:
            return await asyncio.wrap_future(self._future)
        except asyncio.CancelledError:
            if self._is_superseded:
                raise _superseded() from None
            raise
        finally:
            self._is_given_up = True

    def supersede(self) -> None:
        """Gives the keystroke up for a newer one, whether its work waits or has begun."""
        self._is_superseded = self._is_given_up = True
        if self._future is not None:
            self._future.cancel()


class Keystrokes:
    """The newest keystroke in each text of each person: a client at an address, since several may share a key."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, str, str], Keystroke] = {}

    @contextmanager
    def newest(self, text: str, address: str) -> Iterator[Keystroke]:
        """Yields a keystroke in the translation of a text, in place of the one before of the same person."""
        key, keystroke = (CLIENT.get(), address, text), Keystroke()
        if (older := self._newest.get(key)) is not None:
            older.supersede()
        self._newest[key] = keystroke
        try:
            yield keystroke
        finally:
            if self._newest.get(key) is keystroke:
                del self._newest[key]


def _superseded() -> RefusedError:
    return RefusedError(409, "A newer keystroke has taken the place of this one")
