"""Each cleaning step leaves out what it says, counted and shown, in the order of the settings."""

import pytest

from transduce.base.config import convert
from transduce.base.errors import ConfigError
from transduce.corpora.cleaning import (
    Duplicates,
    Identical,
    Language,
    Length,
    Overlap,
    Prefix,
    Ratio,
    Repetition,
    Script,
    cleaning_filters,
)
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.data_settings import DataConfig


def corpus(*pairs):
    return ParallelCorpus.of_pairs("toys", [SentencePair(*pair) for pair in pairs])


def cleaned(steps, pairs, held_out=()):
    """What stays, and what was dropped for which reason."""
    dropped = []
    filters = cleaning_filters(steps, held_out)
    kept = corpus(*pairs).filtered(filters).sift(lambda reason, pair: dropped.append((reason, pair.source)))
    return [(pair.source, pair.target) for pair in kept], dropped


PAIRS = [
    ("a", "x y"),
    ("a b c", "x y z"),
    ("a b c", "x"),
    ("A b  c", "x y z"),
    ("a b c d e", "v w x y z"),
    ("Same here", "same  here"),
    ("", "x"),
]


@pytest.mark.parametrize(
    ("step", "kept", "reason"),
    [
        (Length(min_words=2), [1, 3, 4, 5], "with fewer than 2 words on a side"),
        (Length(max_words=3), [0, 1, 2, 3, 5], "with a side not of 1 to 3 words"),
        (Ratio(most=2), [0, 1, 3, 4, 5], "with more than 2 times the words on a side"),
        (Duplicates(), [0, 1, 2, 4, 5, 6], "whose pair came before"),
        (Duplicates(of="source"), [0, 1, 4, 5, 6], "whose source came before"),
        (Duplicates(of="target"), [0, 1, 2, 4, 5], "whose target came before"),
        (Identical(), [0, 1, 2, 3, 4, 6], "with equal sides"),
    ],
)
def test_a_step_leaves_out_what_it_says(step, kept, reason):
    stays, dropped = cleaned([step], PAIRS)
    assert stays == [PAIRS[i] for i in kept]
    assert dropped == [(reason, source) for i, (source, _) in enumerate(PAIRS) if i not in kept]
    assert cleaned([step], PAIRS)[0] == stays  # nothing is remembered from one pass to the next


def test_a_side_in_another_language_is_left_out() -> None:
    pairs = [
        ("Zwei Kinder spielen im tiefen Schnee.", "Two children play in the deep snow."),
        ("Two children play in the deep snow.", "Two children play in the deep snow."),
        ("Hund", "dog"),
        ("Deux enfants jouent dans la neige profonde.", "Two children play in the deep snow."),
        ("1984", "1984"),
    ]
    stays, dropped = cleaned([Language(side="source", language="de")], pairs)
    assert stays == [pairs[0], pairs[2], pairs[4]]
    assert {reason for reason, _ in dropped} == {"whose source is not in de"}


@pytest.mark.parametrize(
    ("scripts", "least", "kept"),
    [
        (["Latin"], 0.5, ["abc", "Ünïcödé 12", "abв", "7 + 3 !"]),
        (["Latin"], 1.0, ["abc", "Ünïcödé 12", "7 + 3 !"]),
        (["Cyrillic"], 0.5, ["где я", "7 + 3 !"]),
        (["Han", "Hiragana"], 1.0, ["猫がいる", "7 + 3 !"]),
    ],
)
def test_a_side_in_another_script_is_left_out(scripts, least, kept):
    texts = ["abc", "Ünïcödé 12", "abв", "где я", "猫がいる", "7 + 3 !"]
    for side in ("source", "target"):
        pairs = [(text, "x") if side == "source" else ("x", text) for text in texts]
        stays, _ = cleaned([Script(side=side, scripts=scripts, least=least)], pairs)
        assert [pair[side == "target"] for pair in stays] == kept


def test_only_what_begins_with_a_prefix_stays():
    texts = ["I'm OK.", "I’m here!", "Im Haus", "i am", "I amble", "He isn't.", "'He is'", "She", "…"]
    step = Prefix(side="target", prefixes=["i m ", "i am ", "he is"])
    stays, dropped = cleaned([step], [("x", text) for text in texts])
    assert [target for _, target in stays] == ["I'm OK.", "I’m here!", "i am", "He isn't.", "'He is'"]
    assert dropped[0][0] == "whose target begins with none of the prefixes"


@pytest.mark.parametrize(
    ("of", "kept"),
    [("pair", ["b", "a", "d"]), ("source", ["d"]), ("target", ["b", "a"]), ("either", [])],
)
def test_what_is_held_out_is_not_trained_on(of, kept):
    held_out = [corpus(("A", "x")), corpus(("b", "y  z"))]
    training = [("a", "X"), ("b", "w"), ("a", "w"), ("d", "Y z")]
    stays, dropped = cleaned([Overlap(of=of)], training, held_out)
    assert [source for source, _ in stays] == kept
    assert all("is in the validation or test data" in reason for reason, _ in dropped)


def test_steps_are_applied_in_their_order_and_a_pair_is_counted_once():
    pairs = [("a b", "x"), ("a b", "x"), ("a", "y")]
    _, dropped = cleaned([Duplicates(), Ratio(most=1)], pairs)
    assert [reason.split()[0] for reason, _ in dropped] == ["with", "whose"]
    _, dropped = cleaned([Ratio(most=1), Duplicates()], pairs)
    assert [reason.split()[0] for reason, _ in dropped] == ["with", "with"]


def test_what_a_corpus_is_changes_with_its_cleaning():
    toys = corpus(("a", "b"))
    held_out = [corpus(("c", "d"))]
    variants = [
        [],
        [Identical()],
        [Length(min_words=2)],
        [Length(min_words=3)],
        [Length(min_words=2), Identical()],
        [Identical(), Length(min_words=2)],
        [Overlap()],
        [Overlap(of="source")],
    ]
    contents = {toys.filtered(cleaning_filters(steps, held_out)).content() for steps in variants}
    contents.add(toys.filtered(cleaning_filters([Overlap()], [corpus(("c", "e"))])).content())
    assert len(contents) == len(variants) + 1


@pytest.mark.parametrize(
    ("step", "pattern"),
    [
        ({"kind": "lenght"}, r"cleaning\[0\].*'lenght' is not one of .*did you mean 'length'"),
        ({"kind": "length", "words": 3}, r"cleaning\[0\]: unknown key 'words'"),
        ({"kind": "length", "min_words": 3, "max_words": 2}, "max_words must be at least min_words"),
        ({"kind": "ratio", "most": 0.5}, "most: must be at least 1"),
        ({"kind": "script", "side": "source", "scripts": ["Latein"]}, "'Latein' is not a Unicode script such as Latin"),
        ({"kind": "script", "side": "source", "scripts": []}, "at least one script"),
        ({"kind": "language", "side": "source", "language": "tlh"}, "'tlh' is not a language that can be detected"),
        (
            {"kind": "script", "side": "source", "scripts": ["Latin"], "least": 0.0},
            "least: must be above 0 and at most 1",
        ),
        ({"kind": "prefix", "side": "source", "prefixes": ["I'm"]}, 'the prefix "I\'m" can never match'),
        ({"kind": "prefix", "side": "source", "prefixes": [" "]}, "can never match"),
    ],
)
def test_a_step_that_makes_no_sense_is_named(step, pattern):
    with pytest.raises(ConfigError, match=pattern):
        convert({"dataset": "multi30k", "cleaning": [step]}, DataConfig, "x.toml")


@pytest.mark.parametrize(
    ("source", "target", "stays"),
    [
        ("a very very very big dog", "ein Hund", True),
        ("a dog", "ein ein ein ein Hund", False),
        ("a dog", "Ein ein EIN ein Hund", False),
        ("a dog", "und ein Hund und ein Hund und ein Hund und ein Hund", False),
        ("a dog", "und ein Hund und ein Hund und ein Hund", True),
        ("ha ha ha ha ha", "ha ha ha ha ha", True),
        ("ha ha ha ha", "ha ha ha ha ha", False),
        ("a dog", "一只狗狗狗狗狗", False),
        ("a dog", "一只狗狗狗", True),
        ("", "", True),
    ],
)
def test_a_phrase_that_repeats_more_often_than_in_the_other_side_is_left_out(source, target, stays):
    for pair in ((source, target), (target, source)):
        kept, dropped = cleaned([Repetition()], [pair])
        assert bool(kept) == stays
        assert dropped == ([] if stays else [("with a phrase more than 3 times in a row", pair[0])])


def test_phrases_are_looked_for_up_to_their_longest():
    text = "to be or not to be or not to be or not"
    assert not cleaned([Repetition(most=2, max_words=4)], [(text, "x")])[0]
    assert cleaned([Repetition(most=2, max_words=3)], [(text, "x")])[0]


SAME = "The little dog sleeps under the big table in the kitchen."
TRANSLATED = {
    "Burmese": "ခွေးကလေးသည် မီးဖိုချောင်ရှိ စားပွဲကြီးအောက်တွင် အိပ်နေသည်။",
    "Chinese": "小狗在厨房的大桌子下面睡觉。",
    "Japanese": "小さな犬が台所の大きなテーブルの下で寝ています。",
    "Khmer": "ឆ្កែតូចកំពុងគេងនៅក្រោមតុធំក្នុងផ្ទះបាយ។",
    "Lao": "ໝານ້ອຍນອນຢູ່ໃຕ້ໂຕະໃຫຍ່ໃນຫ້ອງຄົວ",
    "Thai": "สุนัขตัวน้อยนอนหลับอยู่ใต้โต๊ะตัวใหญ่ในห้องครัว",
    "Tibetan": "ཁྱི་ཆུང་ཆུང་དེ་ཐབ་ཚང་ནང་གི་ཅོག་ཙེ་ཆེན་པོའི་འོག་ལ་གཉིད་ཉལ་གྱི་འདུག",
}


@pytest.mark.parametrize("text", TRANSLATED.values(), ids=TRANSLATED)
def test_words_are_counted_in_scripts_that_write_no_spaces_between_them(text):
    pairs = [(SAME, text), (text, SAME), (" ".join([text] * 5), SAME), (SAME, text[:3])]
    assert cleaned([Ratio(most=2)], pairs)[0] == pairs[:2]
    assert cleaned([Length(min_words=6, max_words=22)], pairs)[0] == pairs[:2]
