"""A vocabulary that the SentencePiece library learns, whose file divides text there as it does here."""

from pathlib import Path
from typing import Any

import pytest

from transduce.base.errors import ConfigError, DataError, InputError
from transduce.text import sentencepiece_training
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

LINES = [f"Der kleine Hund läuft {number} Mal über das grüne Feld, nicht wahr?" for number in range(200)]
ODD = [
    "",
    " ",
    "</s> a<unk>b <pad> <bos>",
    "é ½ Ａ \u00a0x\u3000y",
    "a\u200bb \ufeffc so\u00adft",
    "🙂👍🏽 北京",
    "  x  y ",
    "HUND hund",
]


def settings(**changes: Any) -> SideConfig:
    return SideConfig(**{"kind": "sentencepiece", "normalize": "NFKC", "max_size": 80, **changes})


@pytest.mark.parametrize("changes", [{}, {"lowercase": True}, {"normalize": "none"}], ids=str)
def test_the_file_divides_text_there_as_it_does_here(changes: dict[str, Any], tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    tokenizer = train_tokenizer(settings(**changes), LINES)
    tokenizer.save(tmp_path / "saved.json")
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "saved.spm"))
    for ours in (tokenizer, Tokenizer.load(tmp_path / "saved.json")):
        assert ours.encode_batch(LINES + ODD) == theirs.encode(LINES + ODD)
        assert [ours.decode(ids) for ids in theirs.encode(LINES)] == theirs.decode(theirs.encode(LINES))
        assert (ours.eos, ours.unknown, ours.pad, ours.bos) == (0, 1, len(theirs), len(theirs) + 1)
        assert ours.pieces(range(len(theirs))) == [theirs.id_to_piece(number) for number in range(len(theirs))]
        assert len(ours) == len(theirs) + 2


def test_the_same_text_gives_the_same_vocabulary() -> None:
    pytest.importorskip("sentencepiece")
    first, second = (train_tokenizer(settings(), LINES) for _ in range(2))
    assert first.sentencepiece == second.sentencepiece


def test_a_size_is_that_of_the_file_and_no_other() -> None:
    pytest.importorskip("sentencepiece")
    assert len(train_tokenizer(settings(max_size=None, size=50), LINES)) == 52
    with pytest.raises(DataError, match=r"tokenizer\.size = 5,000, but the training text yields only \d+ pieces"):
        train_tokenizer(settings(max_size=None, size=5000), LINES)
    with pytest.raises(
        ConfigError, match=r"tokenizer\.max_size = 9: SentencePiece makes no vocabulary of it \([^-]*\d\)$"
    ):
        train_tokenizer(settings(max_size=9), LINES)


def test_a_text_without_words_is_an_error() -> None:
    pytest.importorskip("sentencepiece")
    with pytest.raises(DataError, match="the training text is empty"):
        train_tokenizer(settings(), ["", "  "])


@pytest.mark.parametrize("normalize", ["NFC", "letters"])
def test_other_normalisations_are_refused(normalize: str) -> None:
    with pytest.raises(ValueError, match=f'requires normalize = "NFKC" or "none", not "{normalize}"'):
        settings(normalize=normalize)
    with pytest.raises(ValueError, match='lowercase requires normalize = "NFKC"'):
        settings(normalize="none", lowercase=True)


def test_a_missing_library_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def require() -> None:
        raise InputError("this needs SentencePiece")

    monkeypatch.setattr(sentencepiece_training, "require_sentencepiece", require)
    with pytest.raises(InputError, match="this needs SentencePiece"):
        train_tokenizer(settings(), LINES)
