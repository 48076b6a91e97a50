"""The learning report begins with what it means."""

import pytest

from transduce.apps.projects.lessons import Lesson
from transduce.apps.projects.project_store import ConfirmedSegment
from transduce.apps.projects.report import Course, render_report

pytest.importorskip("matplotlib")
RIGHT, WRONG = "ein Hund schläft hier", "eine Katze rennt dort"


def page(without: list[str], adapted: list[str]) -> str:
    """The report of segments with the same confirmed translation."""
    segments = [ConfirmedSegment(number, "a dog", "", RIGHT, 0.0) for number, _ in enumerate(adapted, 1)]
    lessons = [Lesson("learned", static, output) for static, output in zip(without, adapted, strict=True)]
    return render_report("shop", Course(segments, lessons, []))


@pytest.mark.parametrize(
    ("without", "adapted", "said"),
    [
        ([WRONG] * 9, [RIGHT] * 9, "Learning helps"),
        ([RIGHT] * 9, [WRONG] * 9, "Learning makes new segments worse (chrF"),
        ([RIGHT, WRONG] * 4, [WRONG, RIGHT] * 4, "Learning makes no clear difference yet"),
        ([WRONG] * 4, [WRONG] * 4, "Learning makes no clear difference yet"),
        ([""], [RIGHT], "Nothing can be said yet"),
    ],
)
def test_its_first_sentence_says_whether_learning_helped_and_what_to_do(
    without: list[str], adapted: list[str], said: str
) -> None:
    """By the gain of each segment, where chance does not explain it."""
    shown = page(without, adapted)
    sentences = ("Learning helps", "Learning makes", "Nothing can be said yet")
    assert said in shown and sum(shown.count(sentence) for sentence in sentences) == 1
    assert shown.index(said) < shown.index("<table")
