"""A SentencePiece model that a recipe names divides and numbers text as the sentencepiece package does."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from transduce.base.errors import ConfigError
from transduce.text.sentencepiece import read_model
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import SideConfig, SpecialTokens
from transduce.text.tokenizer_training import train_tokenizer

LINES = [f"Der kleine Hund läuft {number} Mal über das grüne Feld, nicht wahr? 日本 本" for number in range(60)]
ODD = [
    "",
    " ",
    "</s> a<s>b <unk> c <0x41>",
    "é ½ Ａ \u00a0x\u3000y",
    "🙂👍🏽 北京 日本 本 日",
    "x  y ",
    "Q",
    "<pad>",
    " Hund",
    "   Hund",
]
BYTES = {"byte_fallback": True, "normalization_rule_name": "identity"}


def _train(path: Path, **options: Any) -> Any:
    """The processor of a model that is trained at this path."""
    sentencepiece = pytest.importorskip("sentencepiece")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_prefix=str(path.with_suffix("")),
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
        **({"vocab_size": 380} | options),
    )
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


@pytest.mark.parametrize(
    "options",
    [
        {},
        BYTES,
        {"remove_extra_whitespaces": False},
        {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_token_ids_and_texts_are_those_of_sentencepiece(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    size = {"vocab_size": 100} if "byte_fallback" not in options and kind == "bpe" else {}
    theirs = _train(tmp_path / "x.model", model_type=kind, **options, **size)
    tokenizer = train_tokenizer(SideConfig(kind="file", file="x.model"), [], tmp_path)
    tokenizer.save(tmp_path / "saved.json")
    for ours in (tokenizer, Tokenizer.load(tmp_path / "saved.json")):
        assert ours.encode_batch(LINES + ODD) == theirs.encode(LINES + ODD)
        assert [ours.decode(ours.encode(line)) for line in LINES] == theirs.decode(theirs.encode(LINES))
        assert ours.decode(ours.encode(" Hund")) == theirs.decode(theirs.encode(" Hund"))
        assert ours.pieces(range(theirs.get_piece_size())) == [theirs.id_to_piece(i) for i in range(len(theirs))]
        assert (ours.unknown, ours.bos, ours.eos, ours.pad) == (0, 1, 2, len(theirs))
    assert (tmp_path / "saved.spm").read_bytes() == (tmp_path / "x.model").read_bytes()


def test_pieces_may_serve_as_special_tokens_which_texts_then_mean(tmp_path: Path) -> None:
    _train(tmp_path / "x.model", pad_id=3, unk_piece="?unk?", vocab_size=100)
    with pytest.raises(ConfigError, match=r"its unknown piece is '.unk.'; say so in tokenizer\.special"):
        train_tokenizer(SideConfig(kind="file", file="x.model"), [], tmp_path)
    special = SpecialTokens(pad="<pad>", unknown="?unk?", bos="<pad>", eos="</s>")
    tokenizer = train_tokenizer(SideConfig(kind="file", file="x.model", special=special), [], tmp_path)
    assert (tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unknown) == (3, 3, 2, 0)
    assert tokenizer.encode("</s>") == [2]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"model_type": "word"}, "is a word model"),
        ({"user_defined_symbols": ["<x>"]}, "'<x>' is a piece that is user-defined"),
        ({"treat_whitespace_as_suffix": True}, "treat_whitespace_as_suffix"),
    ],
    ids=["words", "user-defined", "suffix"],
)
def test_what_cannot_be_used_is_named(options: dict[str, Any], told: str, tmp_path: Path) -> None:
    _train(tmp_path / "x.model", **{"vocab_size": 100, **options})
    with pytest.raises(ConfigError, match=rf"tokenizer\.file: .*{told}"):
        train_tokenizer(SideConfig(kind="file", file="x.model"), [], tmp_path)


def test_a_piece_that_is_no_special_token_is_none(tmp_path: Path) -> None:
    theirs = _train(tmp_path / "x.model", control_symbols=["<mark>"], vocab_size=100)
    assert read_model(tmp_path / "x.model").encode_batch(["a <mark> b"]) == theirs.encode(["a <mark> b"])


@pytest.mark.parametrize("rules", ["nmt_nfkc", "nfkc_cf"])
def test_letters_apart_from_their_marks_are_normalised_as_in_sentencepiece(rules: str, tmp_path: Path) -> None:
    options = {"normalization_rule_name": rules, "add_dummy_prefix": False, "vocab_size": 100}
    theirs = _train(tmp_path / "x.model", **options)
    ours = read_model(tmp_path / "x.model").backend.normalizer
    apart = [text for code in range(0x10000) if len(text := unicodedata.normalize("NFD", chr(code))) > 1]
    half_width = [chr(code) + mark for code in range(0xFF66, 0xFF9E) for mark in "\uff9e\uff9f"]
    texts = [f"a{text}b" for text in apart + half_width if text != "\u0308\u0301"]
    assert len(texts) > 12_000
    assert [ours.normalize_str(text) for text in texts] == [theirs.normalize(text).replace("▁", " ") for text in texts]
