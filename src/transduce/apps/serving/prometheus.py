"""Counts for Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The metrics of `/metrics`; a server has its own, so that two in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("transduce_requests", "Requests answered", ["path", "status"], registry=self.registry)
        self._seconds = Histogram(
            "transduce_request_seconds", "Seconds until the answer was complete", ["path"], registry=self.registry
        )
        self.characters = Counter("transduce_characters", "Characters to translate", registry=self.registry)
        self._batches = Histogram(
            "transduce_batch_sentences", "Sentences searched together", buckets=SIZES, registry=self.registry
        )
        self._tokens = Counter("transduce_source_tokens", "Source tokens translated", registry=self.registry)
        self.restarts = Counter("transduce_batcher_restarts", "Batchers started again", registry=self.registry)
        self._search_seconds = Counter("transduce_search_seconds", "Seconds of searching", registry=self.registry)

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """Adds a value that is read when the metrics are."""
        Gauge(name, help, registry=self.registry).set_function(value)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Counts an answer."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def batch(self, sentences: int, tokens: int, seconds: float) -> None:
        """Counts a batch that was searched."""
        self._batches.observe(sentences)
        self._tokens.inc(tokens)
        self._search_seconds.inc(seconds)

    def text(self) -> bytes:
        """Returns all metrics in Prometheus's format."""
        return generate_latest(self.registry)
