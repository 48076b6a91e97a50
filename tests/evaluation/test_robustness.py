"""A test set is scored as it is written, and as others type it."""

from pathlib import Path

import pytest

import transduce
from transduce.corpora.noise import WAYS_OF_TYPING
from transduce.evaluation.robustness import AS_WRITTEN, WORD_BY_WORD, evaluate_typed
from transduce.search.beam import Beam


@pytest.mark.slow
def test_each_way_of_typing_has_its_scores(tiny_run: Path) -> None:
    sources = ["The dog sleeps.", "I see the old man."]
    translator = transduce.load(tiny_run)
    references = [translation.text for translation in translator.translate(sources, Beam(size=1))]
    typed = evaluate_typed(translator, sources, references, Beam(size=1))
    assert list(typed.ways) == [AS_WRITTEN, *WAYS_OF_TYPING, WORD_BY_WORD]
    assert typed.ways[AS_WRITTEN].exact_match == 1
    assert typed.to_dict()["ways"][WORD_BY_WORD]["sentences"] == 2
    capitals = typed.ways["capitals"].translations
    assert [each.text for each in capitals] == [
        each.text for each in translator.translate([source.upper() for source in sources], Beam(size=1))
    ]
    assert typed.describe().splitlines()[1].startswith(AS_WRITTEN)
