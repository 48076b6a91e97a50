"""Whatever a translator makes of it, a message of any family has all that it holds, once, with its neighbours."""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from docsegments.segment import Segment, problems
from docsegments.text.clusters import clusters_of
from docsegments.text.layout import mark_layout
from docsegments.text.placeholder_families import families_for
from docsegments.text.placeholders import hold, mark_tags
from docsegments.translating.held_texts import held_of
from docsegments.translating.segment_translator import SegmentTranslator
from docsegments.translating.sentence_translator import FunctionTranslator
from documents.made_messages import flagged_messages
from documents.theorem import reordered, sentence_by_sentence, translated

CHANGES: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "reordered": lambda text: " ".join(reversed(text.split())),
    "nothing held": lambda text: " ".join(re.findall("[A-Za-z]+", text)),
    "doubled": lambda text: f"{text} {text}",
    "other signs": lambda text: f"{{y}} %d <b>l'eau 5% {text}",
    "one letter": lambda text: "x",
    "without blanks": lambda text: "".join(text.split()),
}


def clusters(segment: Segment) -> Counter[str]:
    marks, places = held_of(segment)
    return Counter(cluster.shown for cluster in clusters_of(segment.text, marks, places))


@pytest.mark.parametrize("change", CHANGES)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(message=flagged_messages())
def test_all_that_is_held_is_there_once_with_its_neighbours(change: str, message: tuple[str, str]) -> None:
    flag, text = message
    families = families_for([flag])
    source = Segment.of(mark_layout(hold(mark_tags([text]), str, families)), families).split_edges()[1]
    translator = SegmentTranslator(FunctionTranslator(sentence_by_sentence(CHANGES[change])))
    found = translator.translate([source])[0].segment
    assert not problems(source, found)
    for shown, count in clusters(source).items():
        assert found.text.count(shown) >= count
    if change in ("capitals", "reordered"):
        before, after = ("".join(segment.text.split()).upper() for segment in (source, found))
        assert Counter(before) == Counter(after)


def test_a_translation_that_repeats_its_source_changes_nothing() -> None:
    for page in (b"<p>Who? <kbd>Esc</kbd> <%= a b %></p>", b"<p>A dog. &nbsp;<b>Two <img src=x></b> <i> cats?</i></p>"):
        assert translated(str, page, "a.html").data == page


def test_placeholders_that_touch_are_found_before_one_of_them_that_is_elsewhere_too() -> None:
    text = reordered(b"{0} dogs see cats: {n, number}/{0}", "a", "text").data.decode()
    assert text.count("{0}") == 2 and text.count("{n, number}/{0}") == 1 and text.count("/") == 1
