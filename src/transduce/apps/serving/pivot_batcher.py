"""Serves directions through a third language, by two models that are served anyway."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

from transduce.apps.serving.batching import Batcher, fail, settle
from transduce.apps.serving.clients import CLIENT
from transduce.base.errors import InputError
from transduce.inference.pivot import Pivot, best_of, only_text, through
from transduce.inference.request import Request
from transduce.inference.translation import Translation
from transduce.inference.translator import Result, Translator
from transduce.search.choices import DecisionRule


class PivotBatcher(Batcher):
    """Queues sentences for the first model, and each translation for the second as soon as it is there.

    It has no thread and no model of its own: the two batchers search the sentences beside those of other requests, and
    divide their time among clients as ever.
    """

    def __init__(self, translator: Pivot, first: Batcher, second: Batcher) -> None:
        self.translator, self.pivot = translator, translator
        self.first, self.second = first, second
        self.restarts = 0

    @property
    def waiting(self) -> int:
        """See Batcher; 0, since both count what waits for them."""
        return 0

    @property
    def busy_seconds(self) -> float:
        """See Batcher; 0, since both count their own."""
        return 0.0

    @property
    def seconds(self) -> float:
        """See Batcher; for both models."""
        return self.first.seconds + self.second.seconds

    def waiting_of(self, client: str) -> int:
        """See Batcher; a sentence waits for one model at a time."""
        return self.first.waiting_of(client) + self.second.waiting_of(client)

    def submit(
        self,
        requests: Sequence[Request],
        search: DecisionRule,
        with_details: bool = False,
        tell: Callable[[], None] = lambda: None,
        translator: Translator | None = None,
        client: str | None = None,
        encoded: Sequence[list[list[int]]] | None = None,
    ) -> list["Future[Translation]"]:
        """See Batcher; InputError for details, which two models do not give."""
        if with_details:
            raise InputError("words are not aligned through a third language; leave the alignment out")
        client = CLIENT.get() if client is None else client
        results: list[Future[Translation]] = [Future() for _ in requests]
        begun = self.first.submit(
            [only_text(request) for request in requests],
            best_of(search),
            False,
            tell,
            self.pivot.first,
            client,
            encoded,
        )
        for request, middle, result in zip(requests, begun, results, strict=True):
            result.add_done_callback(partial(_cancel_too, middle))
            middle.add_done_callback(partial(self._continue, request, search, result, tell, client))
        return results

    def run(self, work: Callable[[], Result], client: str | None = None) -> "Future[Result]":
        """See Batcher; beside the second model."""
        return self.second.run(work, client)

    def close(self) -> None:
        """See Batcher; both are closed by themselves."""

    def _continue(
        self,
        request: Request,
        search: DecisionRule,
        result: "Future[Translation]",
        tell: Callable[[], None],
        client: str,
        middle: "Future[Translation]",
    ) -> None:
        """Queues what the first model has written for the second."""
        if middle.cancelled() or result.done():
            result.cancel()
            return
        try:
            asked = self.pivot.continued(request, middle.result())
            (final,) = self.second.submit([asked], search, False, tell, self.pivot.second, client)
        except Exception as error:  # whoever waits hears of it
            fail(result, error)
            tell()
            return
        result.add_done_callback(partial(_cancel_too, final))
        final.add_done_callback(partial(_finish, middle.result(), result))


def _finish(middle: Translation, result: "Future[Translation]", final: "Future[Translation]") -> None:
    if final.cancelled():
        result.cancel()
    elif not result.done():
        settle(result, lambda: through(middle, final.result()))


def _cancel_too(other: "Future[Translation]", result: "Future[Translation]") -> None:
    if result.cancelled():
        other.cancel()
