"""Words and punctuation come back as normally written text."""

import gzip
import os
from pathlib import Path

import pytest

from transduce.text.detokenization import detokenize
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

SENTENCES = [
    "Two young, White males are outside near many bushes.",
    "A man's dog doesn't like it; they've said we're wrong, I'd bet she'll go.",
    'A sign reads "Welcome to New York" and another says "Stop!"',
    "A woman (in a red dress) walks [slowly] past {it}.",
    "It costs $5, £3.50 or 1,234.56 euros at 10:30 p.m.",
    "The well-known mother-in-law runs and/or walks 100% of the time.",
    "Write to jane_doe@mail or leave it…",
    "Wait, what?! No...",
    "The U.S. team plays against the others.",
    "He bought a black & white photo of an R&B singer.",
    "The welders' masks lie near the O'Brien house at five o'clock.",
    "The so-called 'stop' sign is the 'best' one.",
    "Ein Mann sagt: „Wie geht's?“ und sie lacht.",
    "Eine Gruppe mit „Welcome Bikers“-Leuchtreklame.",
    "Viele Limonade- und Bierdosen für 3,50 Euro.",
    "Der 10-jährige Junge läuft 2 km.",
    "L'herbe d'un pré qu'il voit aujourd'hui, c'est « vert ».".replace("« ", "«").replace(" »", "»"),
    "¿Qué hace? ¡Nada!",
    "Größe, Straße, naïve, café.",
]


@pytest.fixture(scope="module")
def words():
    return train_tokenizer(SideConfig(kind="words", min_frequency=1), SENTENCES)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_punctuation_quotes_contractions_hyphens_and_numbers_come_back_as_written(words, sentence):
    assert words.decode(words.encode(sentence)) == sentence


@pytest.mark.skipif("TRANSDUCE_DATA" not in os.environ, reason="TRANSDUCE_DATA does not name a folder with multi30k")
@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_nearly_all_captions_of_multi30k_come_back_as_written(language):
    with gzip.open(
        Path(os.environ["TRANSDUCE_DATA"]) / "multi30k" / f"val.{language}.gz", "rt", encoding="utf-8"
    ) as file:
        lines = [" ".join(line.split()) for line in file]
    tokenizer = train_tokenizer(SideConfig(kind="words", min_frequency=1, normalize="none"), lines)
    back = [tokenizer.decode(ids) for ids in tokenizer.encode_batch(lines)]
    assert sum(a == b for a, b in zip(lines, back, strict=True)) >= 0.99 * len(lines)


@pytest.mark.parametrize("words", [[], ['"'], ["'", "a"], ["-"], [".", "."], ["&"], ["a", "'"], ["„"], ["“", "„", "“"]])
def test_any_words_can_be_joined_without_losing_one(words):
    assert detokenize(words).replace(" ", "") == "".join(words)


def test_an_unknown_word_is_seen(words):
    ids = words.encode("A zyzzyva walks.")
    assert words.unknown in ids
    assert words.decode(ids) == "A <unk> walks."


def test_text_that_spells_a_special_token_is_taken_as_words():
    text = "say <unk> or <pad>"
    tokenizer = train_tokenizer(SideConfig(kind="words", min_frequency=1), [text])
    ids = tokenizer.encode(text)
    assert not {tokenizer.pad, tokenizer.unknown, tokenizer.bos, tokenizer.eos}.intersection(ids)
