"""Text comes back from its tokens as it was, and a vocabulary is what was asked for or an error."""

import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from transduce.base.config import convert
from transduce.base.errors import CheckpointError, ConfigError, DataError
from transduce.text.tokenizer import BYTES, Tokenizer
from transduce.text.tokenizer_settings import SPECIALS, SideConfig, TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizer, train_tokenizers

SUBWORDS = ["bpe", "wordpiece", "unigram"]
EXACT = [*SUBWORDS, "characters", "bytes"]
KINDS = [*EXACT, "words"]
GERMAN = [
    f"{start} {noun} {end}"
    for start in ("Eine Frau und ein Mann mit", "Zwei Hunde, ein Vogel oder", "Viele Kinder neben")
    for noun in ("Größe", "Straße", "Bäumen", "Häusern", "Tüchern")
    for end in ("laufen schnell.", "spielen draußen!", "schlafen heute?")
]
ENGLISH = [
    f"{start} {noun} {end}"
    for start in ("A woman and a man with", "Two dogs, one bird or", "Many children beside")
    for noun in ("size", "the street", "trees", "houses", "cloths")
    for end in ("run quickly.", "play outside!", "sleep today?")
]
TEXTS = GERMAN + ENGLISH


def config(kind, **settings):
    """Subwords of a size that the few texts allow."""
    return SideConfig(kind=kind, **({"size": 330} if kind in SUBWORDS else {}) | settings)


@pytest.fixture(scope="module")
def trained():
    return {
        (kind, lowercase): train_tokenizer(config(kind, lowercase=lowercase), TEXTS)
        for kind in EXACT
        for lowercase in (False, True)
    }


def normal(text, kind="words"):
    """The slow, obvious form of what a tokenizer does to a text first; only bytes spell characters that nobody sees."""
    unseen = "" if kind == "bytes" else "\u00ad\u200b\u2060\ufeff"
    text = "".join(c for c in unicodedata.normalize("NFC", text) if c not in unseen)
    return " ".join("".join(" " if unicodedata.category(c) in ("Cc", "Zs", "Zl", "Zp") else c for c in text).split())


characters = st.characters(exclude_categories=["Cs", "Cn"])
spelled = st.sampled_from(
    [
        *SPECIALS,
        "<0x41>",
        "##",
        "##a",
        "▁",
        "▁a",
        "👩‍👩‍👧",
        "שלום",
        "مرحبا",
        "日本語",
        "[CLS]",
        " ",
        "é",
        "e\u0301",
        "frau",
        "Größe",
    ]
)
any_text = st.lists(spelled | st.text(characters, max_size=5), max_size=6).map("".join)


@pytest.mark.parametrize("kind", EXACT)
@given(text=any_text)
@example(text="<pad> <eos> <0x41> ## ##a a##b")
@example(text="a▁b ▁ c▁")
@example(text="▁")
@example(text="x<pad>y\u200b\u00ad\ufeff")
@example(text=" a\t\tb\n\r\u2028c\x00 ")
def test_any_text_comes_back_from_its_tokens(trained, kind, text):
    tokenizer = trained[kind, False]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == normal(text, kind)
    assert not {tokenizer.pad, tokenizer.unknown, tokenizer.bos, tokenizer.eos}.intersection(ids)


@pytest.mark.parametrize("kind", EXACT)
@given(text=st.text("aBÄ日Ω ß.<P", max_size=9))
@example(text="Wörd日 X日y")
def test_lowercased_text_comes_back_in_lower_case(trained, kind, text):
    tokenizer = trained[kind, True]
    assert tokenizer.decode(tokenizer.encode(text)) == normal(text).lower()


@pytest.mark.parametrize("kind", EXACT)
@given(texts=st.lists(any_text, min_size=2, max_size=3))
def test_texts_together_are_texts_one_by_one(trained, kind, texts):
    tokenizer = trained[kind, False]
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]


@pytest.mark.parametrize("kind", KINDS)
def test_a_blank_text_has_no_tokens(kind):
    tokenizer = train_tokenizer(config(kind), TEXTS)
    assert tokenizer.encode_batch(["", " \t\n\u2028 ", "\x00"]) == [[], [], []]
    assert tokenizer.decode([]) == ""


def test_any_ids_can_be_decoded_and_of_special_ones_the_unknown_is_printed(trained):
    for tokenizer in trained.values():
        text = tokenizer.decode([tokenizer.bos, *range(len(tokenizer)), tokenizer.eos, tokenizer.pad])
        assert [name for name in SPECIALS if name in text] == ["<unk>"]


@pytest.mark.parametrize("kind", KINDS)
def test_tabs_and_line_marks_never_enter_a_vocabulary(kind):
    marks = "\t\r\x0b\x0c\x1c\x85\u2028\u2029\u00a0\u3000\x00"
    tokenizer = train_tokenizer(config(kind), [f"{marks}{text}{marks}".replace(" ", "\t\t") for text in TEXTS * 2])
    assert not any(mark in piece for piece in tokenizer.pieces(range(len(tokenizer))) for mark in marks)
    plain = train_tokenizer(config(kind), TEXTS * 2)
    assert tokenizer.backend.get_vocab().keys() == plain.backend.get_vocab().keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("form", "text"), [("NFC", "e\u0301"), ("NFKC", "ﬁ②"), ("NFD", "é"), ("NFKD", "ﬁé"), ("none", "e\u0301")]
)
def test_text_is_normalised_as_asked(kind, form, text):
    plain = " ".join([*map(chr, range(97, 123)), "e\u0301 \u0301 é fi 2 ﬁ ② fié fie\u0301 fi2 ﬁ②"])
    tokenizer = train_tokenizer(
        config(kind, normalize=form, min_frequency=1, size=None if kind not in SUBWORDS else 290), [plain]
    )
    expected = text if form == "none" else unicodedata.normalize(form, text)
    assert tokenizer.decode(tokenizer.encode(text)) == expected


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "unigram"])
def test_training_twice_gives_the_same_tokenizer(kind):
    first, second = (train_tokenizer(config(kind), TEXTS) for _ in range(2))
    assert first.backend.to_str() == second.backend.to_str()
    assert first.content == second.content


def test_training_unigram_twice_gives_nearly_the_same_scores():
    first, second = (
        dict(map(tuple, json.loads(train_tokenizer(config("unigram"), TEXTS).backend.to_str())["model"]["vocab"]))
        for _ in range(2)
    )
    common = first.keys() & second.keys()
    assert len(common) >= 0.95 * len(first)
    assert all(abs(first[piece] - second[piece]) < 1 for piece in common)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_tokenizer_is_read_back_the_same(kind, tmp_path):
    tokenizer = train_tokenizer(config(kind), TEXTS)
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    texts = [*TEXTS, "日本 <pad> neu▁ 7"]
    assert loaded.encode_batch(texts) == tokenizer.encode_batch(texts)
    assert [loaded.decode(ids) for ids in loaded.encode_batch(texts)] == [
        tokenizer.decode(ids) for ids in tokenizer.encode_batch(texts)
    ]
    assert loaded.content == tokenizer.content
    assert len(loaded) == len(tokenizer)


@pytest.mark.parametrize("kind", SUBWORDS)
@pytest.mark.parametrize("size", [266, 283, 311, 337])
def test_subwords_have_the_size_that_was_asked_for_however_many_characters_there_are(kind, size):
    tokenizer = train_tokenizer(config(kind, size=size), [f"{text} {text[::-1]}" for text in TEXTS])
    assert len(tokenizer) == size
    assert tokenizer.decode(tokenizer.encode(GERMAN[0])) == GERMAN[0]


@pytest.mark.parametrize(("kind", "size"), [("words", 11), ("characters", 271), ("bytes", 260)])
def test_words_characters_and_bytes_have_the_size_that_was_asked_for(kind, size):
    assert len(train_tokenizer(config(kind, size=size), TEXTS)) == size


def test_a_largest_size_gives_way_to_what_the_text_yields() -> None:
    texts = ["the dog sees the cat", "a dog and a cat"] * 3
    most = len(train_tokenizer(SideConfig(max_size=9_999), texts))
    assert most == len(train_tokenizer(SideConfig(), texts)) < 9_999
    assert len(train_tokenizer(SideConfig(max_size=most - 2), texts)) == most - 2
    with pytest.raises(ConfigError, match="size and max_size exclude each other"):
        convert({"size": 300, "max_size": 300}, SideConfig, "x.toml")
    with pytest.raises(ConfigError, match=r"tokenizer\.max_size = 9 is too small"):
        train_tokenizer(SideConfig(max_size=9), texts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_larger_than_the_text_allows_names_a_size_that_is_possible(kind):
    with pytest.raises(DataError, match=r"tokenizer\.size = 9,999, but the training text yields only") as caught:
        train_tokenizer(config(kind, size=9999), TEXTS)
    possible = int(str(caught.value).rpartition("at most ")[2])
    assert len(train_tokenizer(config(kind, size=possible), TEXTS)) == possible


@pytest.mark.parametrize("kind", SUBWORDS)
def test_a_size_that_nobody_asked_for_shrinks_to_what_the_text_yields(kind):
    tokenizer = train_tokenizer(SideConfig(kind=kind), TEXTS)
    assert 260 < len(tokenizer) < 1000
    assert tokenizer.decode(tokenizer.encode(TEXTS[0])) == TEXTS[0]


@pytest.mark.parametrize("kind", EXACT)
def test_a_vocabulary_without_room_for_text_names_the_least_size(kind):
    with pytest.raises(ConfigError, match=r"tokenizer\.size = 37 is too small .*set it to at least \d+"):
        train_tokenizer(config(kind, size=37), TEXTS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "bytes"])
@pytest.mark.parametrize("texts", [[], [""], [" \t", "\n"]])
def test_an_empty_training_text_is_an_error(kind, texts):
    with pytest.raises(DataError, match="the training text is empty"):
        train_tokenizer(config(kind), texts)


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_what_occurs_less_often_than_the_least_frequency_is_left_out(kind):
    tokenizer = train_tokenizer(config(kind, min_frequency=3), ["a a a b b c", "b c"])
    found = set(tokenizer.pieces(range(len(tokenizer)))) & set("abc")
    assert found == {"a", "b"}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_may_come_from_an_iterator_that_is_read_once(kind):
    once = train_tokenizer(config(kind), iter(TEXTS))
    assert once.backend.get_vocab().keys() == train_tokenizer(config(kind), TEXTS).backend.get_vocab().keys()


def test_a_shared_vocabulary_is_learned_from_both_sides():
    both = train_tokenizers(TokenizerConfig(kind="words"), GERMAN, ENGLISH)
    assert both.source is both.target
    assert {"Frau", "woman"} <= both.source.backend.get_vocab().keys()


def test_a_vocabulary_a_side_is_learned_from_that_side():
    each = train_tokenizers(TokenizerConfig(kind="words", shared=False), GERMAN, ENGLISH)
    assert each.source is not each.target
    assert "Frau" in each.source.backend.get_vocab() and "woman" not in each.source.backend.get_vocab()
    assert "woman" in each.target.backend.get_vocab() and "Frau" not in each.target.backend.get_vocab()


def test_each_side_may_have_settings_of_its_own():
    tables = TokenizerConfig(source=SideConfig(kind="bytes"), target=SideConfig(kind="words", lowercase=True))
    each = train_tokenizers(tables, GERMAN, ENGLISH)
    assert len(each.source) == 260
    assert each.target.decode(each.target.encode("A Woman")) == "a woman"


@pytest.mark.parametrize(
    ("tree", "pattern"),
    [
        ({"kind": "file"}, 'kind = "file" requires file = .*, and the reverse'),
        ({"file": "x.json"}, 'kind = "file" requires file = .*, and the reverse'),
        ({"size": 4}, "size: must be from 5"),
        ({"source": {"kind": "words"}}, r"tokenizer\.source and tokenizer\.target go together"),
    ],
)
def test_settings_that_contradict_each_other_say_so(tree, pattern):
    with pytest.raises(ConfigError, match=pattern):
        convert(tree, TokenizerConfig, "x.toml")


def bert():
    """A small stranger: names in brackets, cutting, padding and a template."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    pieces = [*names, "a", "##b", "[", "]", "cls", "dog", ","]
    backend = Backend(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.add_special_tokens(names)
    backend.enable_truncation(3)
    backend.enable_padding(length=7)
    return backend


def test_a_tokenizer_that_is_brought_is_neither_cut_nor_padded_and_its_special_names_are_known(tmp_path):
    bert().save(str(tmp_path / "mine.json"))
    tokenizer = train_tokenizer(SideConfig(kind="file", file="mine.json"), [], tmp_path)
    assert (tokenizer.pad, tokenizer.unknown, tokenizer.bos, tokenizer.eos) == (0, 1, 2, 3)
    assert len(tokenizer) == 11
    assert tokenizer.decode(tokenizer.encode("ab, dog a ab DOG")) == "ab, dog a ab dog"
    assert tokenizer.decode([2, *tokenizer.encode("dog cat"), 3, 0]) == "dog <unk>"
    assert tokenizer.encode("") == []


def test_a_text_that_spells_a_special_token_of_a_brought_tokenizer_does_not_become_it(tmp_path):
    bert().save(str(tmp_path / "mine.json"))
    tokenizer = Tokenizer.load(tmp_path / "mine.json")
    assert tokenizer.pieces(tokenizer.encode("a [CLS] dog")) == ["a", "[", "cls", "]", "dog"]


def test_special_tokens_that_a_brought_tokenizer_lacks_are_added(tmp_path):
    backend = Backend(models.WordLevel({"a": 0, "b": 1, "<unk>": 2}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.save(str(tmp_path / "mine.json"))
    tokenizer = Tokenizer.load(tmp_path / "mine.json")
    assert len(tokenizer) == 6
    assert len({tokenizer.pad, tokenizer.unknown, tokenizer.bos, tokenizer.eos, 0, 1}) == 6
    assert tokenizer.decode([tokenizer.bos, *tokenizer.encode("b a"), tokenizer.eos]) == "b a"
    tokenizer.save(tmp_path / "again.json")
    assert Tokenizer.load(tmp_path / "again.json").content == tokenizer.content


def test_a_brought_file_that_is_missing_or_no_tokenizer_is_named(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"tokenizer\.file: .*gone\.json: no such file"):
        train_tokenizer(SideConfig(kind="file", file="gone.json"), [], tmp_path)
    with pytest.raises(ConfigError, match=r"tokenizer\.file: .*x\.json: not a tokenizer of the Hugging Face"):
        train_tokenizer(SideConfig(kind="file", file="x.json"), [], tmp_path)
    with pytest.raises(CheckpointError, match=r"gone\.json: no such file"):
        Tokenizer.load(tmp_path / "gone.json")


@pytest.mark.parametrize("kind", ["words", "bpe", "characters"])
def test_letters_are_all_that_is_read_of_a_text_here_and_when_loaded_again(kind, tmp_path):
    texts = ["I'm “OK”, 7 times!", "Où ça ? Ici.", "где я"] * 9
    made = train_tokenizer(
        SideConfig(kind=kind, normalize="letters", min_frequency=1, size=None if kind != "bpe" else 285), texts
    )
    made.save(tmp_path / "t.json")
    for tokenizer in (made, Tokenizer.load(tmp_path / "t.json")):
        for text, plain in (("I’m OK times!", "i m ok times!"), ("OÙ  (ÇA) ?", "ou ca?"), ("ГДЕ Я", "где я")):
            decoded = tokenizer.decode(tokenizer.encode(text))
            assert decoded.replace(" ?", "?") == plain
            assert tokenizer.encode(plain) == tokenizer.encode(plain.upper())
        assert tokenizer.encode(" 12 … ") == []


def test_letters_fold_case_for_scores_too():
    assert SideConfig(normalize="letters").folds_case
    assert SideConfig(lowercase=True).folds_case
    assert not SideConfig().folds_case


def _words_file(folder, vocabulary, unknown="<unk>", **changes):
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown} | changes
    tree = {"version": "1.0", "added_tokens": [], "model": model, "pre_tokenizer": {"type": "Whitespace"}}
    (folder / "mine.json").write_text(json.dumps(tree))
    return SideConfig(kind="file", file="mine.json")


SPECIAL_IDS = {"<pad>": 0, "<unk>": 1, "<bos>": 2, "<eos>": 3}


def test_a_brought_file_may_leave_out_some_ids(tmp_path):
    tokenizer = train_tokenizer(_words_file(tmp_path, {**SPECIAL_IDS, "dog": 9}), [], tmp_path)
    assert tokenizer.encode("dog cat") == [9, 1]
    assert len(tokenizer) == 10


BPE = {"type": "BPE", "merges": [], "unk_token": None}


@pytest.mark.parametrize(
    ("vocabulary", "changes", "words"),
    [
        (SPECIAL_IDS | {"dog": 4_000_000_000}, {}, "ids up to 4,000,000,000; number them from 0"),
        (SPECIAL_IDS | {"dog": 4, "cat": 4}, {}, "have the same id, 4"),
        ({"dog": 0, "cat": 2}, {}, "have the same id, 2"),  # the special tokens are added after as many as there are
        (SPECIAL_IDS, {"unk_token": "[nothing]"}, "no token for characters that its vocabulary lacks"),
        (SPECIAL_IDS | {"d": 4}, BPE, "no token for characters that its vocabulary lacks"),
        (SPECIAL_IDS | {"d": 4, "o": 5}, BPE | {"merges": ["d o"]}, "not a tokenizer of the Hugging Face"),  # a panic
        ({}, {}, "its vocabulary is empty"),
    ],
)
def test_a_brought_file_that_cannot_encode_any_text_is_one_line(tmp_path, capfd, vocabulary, changes, words):
    config = _words_file(tmp_path, vocabulary, **changes)
    with pytest.raises(ConfigError, match=rf"tokenizer\.file: .*mine\.json: .*{re.escape(words)}") as caught:
        train_tokenizer(config, [], tmp_path)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", EXACT)
def test_bytes_that_spell_line_ends_and_control_characters_are_decoded_as_spaces(kind):
    size = 266 if kind in SUBWORDS else None
    text = "ein Hund und noch eine Katze und ein alter Mann"
    tokenizer = train_tokenizer(SideConfig(kind=kind, size=size, min_frequency=1), [text] * 9)
    for character in "\n\r\t\0\x0b\x0c\x1b\x1c\x1d\x1e\x7f\x85\u2028\u2029":
        spelled = [BYTES[byte] for byte in f"a{character}ü".encode()]
        assert tokenizer.decode([tokenizer.backend.token_to_id(byte) for byte in spelled]) == "a ü"


def test_text_that_is_no_unicode_is_named():
    tokenizer = train_tokenizer(SideConfig(kind="words", min_frequency=1), ["a b"])
    with pytest.raises(UnicodeEncodeError, match="surrogates"):
        tokenizer.encode_batch(["a", "b\udcff"])


CODE = ["def area(width):", "    if width:", "  return width * width", "", " 	x = 1  "] * 9


@pytest.fixture(scope="module")
def keeping_spaces():
    return {kind: train_tokenizer(config(kind), TEXTS + CODE, keep_spaces=True) for kind in EXACT}


@pytest.mark.parametrize("kind", EXACT)
@given(text=st.text(characters.filter(lambda c: unicodedata.normalize("NFC", c) == c) | st.just(" "), max_size=9))
@example(text="    return x  ")
@example(text=" x")
@example(text=" ")
@example(text="   日本 <pad> ▁ ")
@example(text="▁ x")
@example(text="\t x")
def test_white_space_that_is_kept_comes_back_as_it_was(keeping_spaces, kind, text):
    text = unicodedata.normalize("NFC", text)
    tokenizer = keeping_spaces[kind]
    assert tokenizer.decode(tokenizer.encode(text), on_one_line=False) == text


@pytest.mark.parametrize("kind", SUBWORDS)
def test_no_token_holds_the_end_of_a_training_line(kind, keeping_spaces):
    assert not any("\n" in piece for piece in keeping_spaces[kind].pieces(range(330)))


@pytest.mark.parametrize("kind", SUBWORDS)
def test_a_line_without_leading_spaces_has_the_tokens_of_one_in_the_middle(kind, keeping_spaces):
    tokenizer = keeping_spaces[kind]
    assert tokenizer.encode("x  return width")[-len(tokenizer.encode("return width")) :] == tokenizer.encode(
        "return width"
    )


def test_tokens_spelled_in_bytes_are_of_the_words_that_they_spell_after_leading_spaces_too(keeping_spaces):
    for kind in SUBWORDS:
        tokenizer = keeping_spaces[kind]
        ids, words = tokenizer.encode("  a 日本"), tokenizer.words_of("  a 日本")
        assert len(ids) == len(words)
        assert [own[-1] for own in words[-6:]] == [1] * 3 + [
            2
        ] * 3  # each character of a script without spaces is a word


def test_whitespace_takes_the_words_of_tokenised_text_as_they_are() -> None:
    lines = ["the <unk> did n't sell N shares of u.s. rabbit-fur", "the N '80s"]
    tokenizer = train_tokenizer(SideConfig(kind="whitespace", min_frequency=1), lines)
    for line in lines:
        assert len(tokenizer.encode(line)) == len(line.split())
        assert tokenizer.decode(tokenizer.encode(line)) == line
    assert tokenizer.encode("the <unk> zzz")[1:] == [tokenizer.unknown, tokenizer.unknown]
    assert len(tokenizer) == 4 + len({word for line in lines for word in line.split()}) - 1


def test_a_file_whose_normalizer_makes_texts_ever_longer_is_refused(tmp_path):
    tokenizer = train_tokenizer(SideConfig(kind="characters", min_frequency=1), ["a dog"])
    tree = json.loads(tokenizer.backend.to_str())
    doubling = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    for count, is_refused in ((3, False), (64, True)):
        tree["normalizer"] = {"type": "Sequence", "normalizers": [doubling] * count}
        (tmp_path / "tokenizer.json").write_text(json.dumps(tree), encoding="utf-8")
        if is_refused:
            with pytest.raises(CheckpointError, match="its normalizer makes texts ever longer"):
                Tokenizer.load(tmp_path / "tokenizer.json")
        else:
            Tokenizer.load(tmp_path / "tokenizer.json")
