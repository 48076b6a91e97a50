"""A run can be saved whatever its validation text is like."""

from pathlib import Path

import pytest

import transduce
from transduce.bundle.model_bundle import ModelBundle
from transduce.bundle.probe import PROBES
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.splits import Splits
from transduce.experiment import load_recipe
from transduce.tasks.translation.translation_validation import PROBE_CHARACTERS, probe_texts

WORDS = "the dog sees a small house "
LONG = [SentencePair(WORDS * (20 + number), f"{number} {WORDS * 9}") for number in (5, 3, 7, 4, 2, 6)]


def probes(*pairs: SentencePair) -> list[tuple[str, str]]:
    return probe_texts(Splits([], ParallelCorpus.of_pairs("validation", pairs), None))


def test_corpora_of_long_paragraphs_can_be_trained_on_and_saved(recipe_file: Path, tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        for language in ("en", "de"):
            lines = (recipe_file.parent / f"{name}.{language}").read_text(encoding="utf-8").splitlines()
            paragraphs = [" ".join(lines[start : start + 12]) for start in range(0, len(lines), 12)]
            (tmp_path / f"{name}.{language}").write_text("".join(f"{text}\n" for text in paragraphs), encoding="utf-8")
    recipe = tmp_path / "paragraphs.toml"
    recipe.write_text(recipe_file.read_text(encoding="utf-8"), encoding="utf-8")
    short = ["training.updates=2", "batching.target_tokens=600", "search={size=1, max_ratio=0.1}"]
    result = transduce.train(load_recipe(str(recipe), short), tmp_path / "run")
    assert ModelBundle.load(result.model).history["updates"] == 2


def test_the_first_short_pairs_are_the_probes_where_there_are_any() -> None:
    short = [SentencePair(f" short {number} ", "kurz") for number in range(PROBES + 2)]
    edge = SentencePair("x" * PROBE_CHARACTERS, "y")
    blank = SentencePair("  ", "kurz")
    assert probes(LONG[0], blank, edge, LONG[1], *short) == [
        (pair.source, pair.target) for pair in [edge, *short[: PROBES - 1]]
    ]
    assert probes(LONG[0], short[0], LONG[1]) == [(short[0].source, short[0].target)]


def test_where_all_are_long_the_shortest_are_cut_between_words() -> None:
    found = probes(*LONG)
    assert [target.split()[0] for _, target in found] == ["2", "3", "4", "5"]
    for source, target in found:
        for cut, text in ((source, WORDS), (target, target.split()[0] + " " + WORDS)):
            assert 0.8 * PROBE_CHARACTERS < len(cut) <= PROBE_CHARACTERS
            assert set(cut.split()) <= set(text.split())


@pytest.mark.parametrize("text", ["犬" * 900, "x" * 300 + " tail", "   " + "word" * 200])
def test_text_without_spaces_is_cut_between_characters(text: str) -> None:
    ((source, target),) = probes(SentencePair(text, "one side is short"), SentencePair("", text))
    assert source == text.strip()[:PROBE_CHARACTERS]
    assert target == "one side is short"
