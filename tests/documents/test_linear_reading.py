"""Reading, translating and writing a document takes time and memory that are at most linear in its length, or the
document is refused in one line.

    PYTHONPATH=tests python tests/documents/test_linear_reading.py [--most PLACES] [FORMAT ...]

tries more places, and texts of 100,000 characters, and prints the slowest.
"""

import argparse
import contextlib
from collections.abc import Callable

import pytest
import torch  # noqa: F401 (what it takes is no document's, and some errors import it)
from hostile import Place, attacks, places
from theorem import in_capitals

from docsegments.document_formats import FORMATS
from growth import Attack, Growth, Rule, growths
from transduce.base.errors import InputError

pytestmark = pytest.mark.slow

QUICK = Rule(screened=(100, 400), lengths=(500, 2_000, 8_000), slowest=2)
THOROUGH = Rule(slowest=3)
PLACES = 2  # of each format, in a suite of tests
SHARE, OF_ARCHIVES = 12, 24  # of the texts one of this many, there; of archives, which are packed for each


@pytest.mark.parametrize("kind", FORMATS)
def test_documents_are_read_in_linear_time_and_memory(kind: str) -> None:
    wrong = [f"{place}\n    {growth}" for place, growth in _measured([kind], PLACES, QUICK) if not growth.is_linear]
    assert not wrong, "\n".join(wrong)


def test_every_format_has_a_document_to_be_tried() -> None:
    assert not [kind for kind in FORMATS if len(places(kind, 10)) < 3]


def _measured(kinds: list[str], most: int, rule: Rule) -> list[tuple[Place, Growth]]:
    jobs = [
        (place, OF_ARCHIVES if FORMATS[kind].is_archive else SHARE)
        for kind in kinds
        for place in places(kind, 2 * most)[1::2]
    ]
    return [(place, growth) for (place, _), growth in growths(_make, jobs, rule=rule)]


def _make(job: tuple[Place, int]) -> tuple[Callable[[str], object], list[Attack]]:
    place, share = job

    def run(text: str) -> None:
        with contextlib.suppress(InputError):
            in_capitals(place.document(text), place.name, place.kind)

    return run, attacks(place.kind)[::share]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("formats", nargs="*", default=list(FORMATS))
    arguments = parser.parse_args()
    wrong = 0
    for place in (place for kind in arguments.formats for place in places(kind, arguments.most)):
        for _, growth in growths(_make, [(place, 1)], rule=THOROUGH):
            print(f"{'' if growth.is_linear else 'NOT LINEAR '}{place}\n    {growth}", flush=True)
            wrong += not growth.is_linear
    print(f"{wrong} places where it is not linear")
