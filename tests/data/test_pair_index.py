"""An index finds the pairs that a search through all of them finds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from transduce.data import pair_index
from transduce.data.context import side_in_context
from transduce.data.pair_index import PairIndex, WordForms, open_index
from transduce.data.store import Side, TokenStore

VOCABULARY = 11
CONTINUES = np.arange(VOCABULARY) > 7


def sentences(seed: int) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [random.integers(0, VOCABULARY, random.integers(1, 9)).tolist() for _ in range(53)]


def side_of(rows: list[list[int]]) -> Side:
    return Side.of(np.concatenate([np.array(row, np.uint16) for row in rows]), [len(row) for row in rows])


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PairIndex:
    monkeypatch.setattr(pair_index, "BLOCK", 37)
    store = TokenStore(side_of(sentences(1)), side_of(sentences(2)), {}, "name")
    rows = np.arange(53)
    read = replace(store, source=side_in_context(store.source, np.maximum(rows - 2, 0), 0, store.target, rows))
    made = open_index(store, read, (VOCABULARY, VOCABULARY), tmp_path)
    assert np.array_equal(open_index(store, read, (0, 0), tmp_path).source.places, made.source.places), "kept"
    return made


def has(row: list[int], form: list[int]) -> bool:
    """Whether a sentence has a form as a whole word, which any token may end."""
    ends = [*row, 0]
    return any(
        row[i : i + len(form)] == form
        and not CONTINUES[ends[i + len(form)]]
        and (not CONTINUES[form[0]] or i == 0 or row[i - 1] == 3)
        for i in range(len(row) - len(form) + 1)
    )


@pytest.mark.parametrize("forms", [[[5]], [[2, 9]], [[1, 8], [9]], [[4, 4, 10]], []])
def test_pairs_with_a_word_are_those_that_have_it(index: PairIndex, forms: list[list[int]]) -> None:
    word = WordForms(forms, CONTINUES, np.arange(VOCABULARY) != 3)
    for part, seed in (("source", 1), ("output", 2)):
        rows = [number for number, row in enumerate(sentences(seed)) if any(has(row, form) for form in forms)]
        assert index.rows_with(word, part).tolist() == rows  # type: ignore[arg-type]
        if part == "source":
            later = {number + ago for number in rows for ago in (1, 2) if number + ago < 53}
            assert index.rows_with(word, "context").tolist() == sorted(later)
        of_form = [row for row in sentences(seed) if any(has(row, form) for form in forms)]
        side = index.target if part == "output" else index.source
        assert side.most(word) >= len(of_form)
