"""What is seen of sentence pairs before anything is made of them."""

import math
import random

import pytest

from transduce.corpora.corpus import SentencePair
from transduce.corpora.facts import are_swapped, describe_pairs, sample_pairs
from transduce.corpora.generated.grammar import derive_pairs


def test_a_sample_counts_all_and_keeps_the_same_lines_each_time() -> None:
    pairs = [SentencePair(str(n), str(n)) for n in range(1000)]
    assert sample_pairs(pairs, 2000) == (1000, pairs)
    count, sample = sample_pairs(iter(pairs), 70)
    assert (count, len(sample), len(set(sample))) == (1000, 70, 70)
    assert sample_pairs(iter(pairs), 70) == (count, sample)
    assert sum(int(pair.source) for pair in sample) / 70 == pytest.approx(500, abs=150), "from everywhere"


def test_words_of_a_sample_stand_for_those_of_the_whole() -> None:
    facts = describe_pairs([SentencePair("ein kleiner Hund", "a small dog runs")] * 10, 700)
    assert (facts.source.words, facts.target.words, facts.words) == (2100, 2800, 4900)
    assert facts.target.usual_length == 4


def test_a_script_is_that_of_nearly_all_letters_whatever_dirt_there_is() -> None:
    clean = [SentencePair("犬は速い。ネコも走る。", "Собака быстрая, 100 %.")] * 97
    facts = describe_pairs([*clean, *[SentencePair("Privacy", "Privacy")] * 3], 100)
    assert facts.source.scripts == ("Han", "Hiragana", "Katakana")
    assert facts.target.scripts == ("Cyrillic",)


def test_text_of_many_scripts_or_of_none_has_no_script() -> None:
    mixed = "абвгдежз αβγδεζηθ abcdefgh אבגדהוזח अआइईउऊ กขฃค ㄱㄴㄷㄹ"
    several = [SentencePair("1 + 1 = 2", f"{mixed[i]}") for i in range(len(mixed))]
    assert describe_pairs(several, len(several)).source.scripts == ()


def test_words_that_no_spaces_separate_are_counted_by_characters() -> None:
    facts = describe_pairs([SentencePair("彼は毎朝公園を散歩する。雨の日も。", "He walks in the park.")] * 5, 5)
    assert not facts.source.has_spaces
    assert facts.target.has_spaces
    assert facts.source.words > 5 * 5


def test_a_language_of_several_scripts_has_all_of_them_however_rare() -> None:
    japanese = [SentencePair("彼は公園を走っている。", "x")] * 60 + [SentencePair("キャッチボールをしよう。", "x")]
    assert describe_pairs(japanese, len(japanese)).source.scripts == ("Han", "Hiragana", "Katakana")
    serbian = [SentencePair("Пас трчи по трави.", "x")] * 60 + [SentencePair("Pas trči.", "x")]
    assert describe_pairs(serbian, len(serbian)).source.scripts == ("Cyrillic",)
    assert describe_pairs(serbian, len(serbian), ("sr_RS", "en")).source.scripts == ("Cyrillic", "Latin")
    korean = [SentencePair("나는 개가 있다.", "x")] * 60 + [SentencePair("大韓民國", "x")]
    assert describe_pairs(korean, len(korean), ("ko", "en")).source.scripts == ("Han", "Hangul")


@pytest.mark.parametrize("text", ["狗在公园。", "犬は公園で走る。", "สุนัขวิ่ง", "ខ្ញុំទៅ"])
def test_short_sentences_without_spaces_are_more_than_one_word(text: str) -> None:
    facts = describe_pairs([SentencePair(text, "A dog runs.")] * 4, 4)
    assert not facts.source.has_spaces
    assert facts.source.words == 4 * math.ceil(len(text) / 2)


@pytest.mark.parametrize("seed", range(5))
def test_swapped_sides_are_found_by_the_words_that_they_share_with_known_text(seed: int) -> None:
    chance = random.Random(seed)
    pairs = derive_pairs(600, seed=seed)
    known, held_out = pairs[:500], pairs[500:]
    chance.shuffle(held_out)
    swapped = [SentencePair(pair.target, pair.source) for pair in held_out]
    same = [SentencePair(pair.source, pair.source) for pair in pairs]
    assert are_swapped(swapped, known) and are_swapped(swapped[:3], known)
    assert not are_swapped(held_out, known) and not are_swapped(held_out[:3], known)
    assert not are_swapped(same[500:], same[:500]) and not are_swapped([], known)
