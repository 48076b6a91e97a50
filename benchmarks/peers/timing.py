"""Times a translator that is given as a function; knows no toolkit, so that every environment can import it."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

Sentence = TypeVar("Sentence")

TIMES_ALONE = 3
"""How often each of the sentences alone is translated."""


def report_translation(
    job: dict[str, Any],
    sentences: Sequence[Sentence],
    translate: Callable[[Sequence[Sentence]], list[str]],
    **facts: str,
) -> None:
    """Print, as the last line of standard output, how fast a translator is, with its outputs and facts of its toolkit.

    Measured after a first batch that is not: seconds for all sentences together, and the median of some alone, each
    three times after once that is not measured, since more than the first may have to be compiled.
    """
    translate(sentences[: job["batch"]])
    started = time.perf_counter()
    outputs = translate(sentences)
    seconds = time.perf_counter() - started
    some, alone = list(sentences[: job["alone"]]), []
    for sentence in some:
        translate([sentence])
    for sentence in TIMES_ALONE * some:
        started = time.perf_counter()
        translate([sentence])
        alone.append(time.perf_counter() - started)
    found = {"seconds": seconds, "seconds_alone": statistics.median(alone), "sentences": len(sentences)}
    print(json.dumps({**facts, **found, "outputs": outputs}), flush=True)


def read_tokens(job: dict[str, Any]) -> list[list[str]]:
    """The source sentences' tokens."""
    return [line.split(" ") for line in Path(job["tokens"]).read_text(encoding="utf-8").split("\n")[:-1]]


def sorted_by_length(sentences: Sequence[list[str]]) -> list[int]:
    """The places of sentences, the longest first, for toolkits that take batches as they come."""
    return sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
