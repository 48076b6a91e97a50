"""A tokenizer trained here, written as a model of SentencePiece, divides text as before; others are refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Backend

from transduce.base.errors import InputError
from transduce.text.sentencepiece import read_model
from transduce.text.sentencepiece_writing import _texts, what_cannot_be_written, write_sentencepiece
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

LINES = [
    f"{opening} kleine Hund läuft {number} Mal über das grüne Feld, nicht wahr? Running dogs' runners_run – 本 (ja)/b"
    for number, opening in enumerate(["Der", "Ein", "DER"] * 30)
]
ODD = [
    "", " ", "  x \t y\u2028z ", "</s> a<bos>b <unk> c <0x41> <pad>", "Cafe\u0301 ½ Ａ \u00a0x\u3000y ﬁn",
    "🙂👍🏽 北京 日本 本 日", "▁a ▁ b▁", "bell\x07 next\x85line", "A\u030angström \u212b", "İstanbul ẞ ΣΑΣ ǅ",
    "e\u0323\u0302 e\u0302\u0323 \u1ec7 한국어 \u1112\u1161\u11ab", "$5+3=8 <x> ~`^|", "--- ... !!!???", "nichtHund",
    "ﾃﾞｰﾀ Ａ\u0308rger ﬁ\u0301",
]  # fmt: skip


def _train(kind: Any, **options: Any) -> Tokenizer:
    return train_tokenizer(SideConfig(kind=kind, **options), LINES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bpe", {}),
        ("bpe", {"lowercase": True}),
        ("bpe", {"normalize": "none"}),
        ("bpe", {"normalize": "letters"}),
        ("unigram", {}),
        ("unigram", {"normalize": "NFKC"}),
    ],
    ids=str,
)
def test_ids_and_texts_are_those_of_the_tokenizer(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    ours = _train(kind, **options)
    content = write_sentencepiece(ours)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=content)
    assert theirs.encode(LINES + ODD) == ours.encode_batch(LINES + ODD)
    assert theirs.decode(theirs.encode(LINES)) == [ours.decode(ours.encode(line)) for line in LINES]
    assert [theirs.id_to_piece(i) for i in range(len(theirs))] == ours.pieces(range(len(ours)))
    assert (theirs.unk_id(), theirs.bos_id(), theirs.eos_id(), theirs.pad_id()) == (
        *(ours.unknown, ours.bos, ours.eos, ours.pad),
    )
    (tmp_path / "again.model").write_bytes(content)
    again = read_model(tmp_path / "again.model")
    assert again.encode_batch(LINES) == ours.encode_batch(LINES)
    assert write_sentencepiece(again) == content


@pytest.mark.slow
@pytest.mark.parametrize("normalize", ["NFC", "NFKC"])
def test_every_character_and_composable_sequence_is_normalised_as_before(normalize: Any) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    ours = _train("bpe", lowercase=True, normalize=normalize)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=write_sentencepiece(ours))
    texts = [f".{text}." for text in _texts()]
    assert len(texts) > 140_000
    normal = [ours.backend.normalizer.normalize_str(text) for text in texts]
    assert theirs.normalize(texts) == [f"▁{text.replace(' ', '▁')}" for text in normal]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("wordpiece", "WordPiece is an algorithm that SentencePiece does not have"),
        ("words", "WordLevel is an algorithm that SentencePiece does not have"),
        ("characters", "does not mark the beginning of words"),
        ("bytes", "does not mark the beginning of words"),
    ],
)
def test_what_cannot_be_written_is_named(kind: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        write_sentencepiece(_train(kind))


def test_a_tokenizer_that_spells_no_bytes_merges_in_two_ways_or_got_new_words_is_refused() -> None:
    tokenizer = _train("bpe")
    tree = json.loads(tokenizer.backend.to_str())
    assert what_cannot_be_written(tokenizer) == []
    merges, vocabulary = tree["model"]["merges"], tree["model"]["vocab"]
    more = {"nn": len(vocabulary), "nnn": len(vocabulary) + 1}
    twice = {"vocab": vocabulary | more, "merges": [*merges, ["n", "n"], ["nn", "n"], ["n", "nn"]]}
    for changes, problem in (
        ({"byte_fallback": False}, "it does not spell unknown characters in bytes"),
        (twice, "two of its merges make the same piece"),
        ({"ignore_merges": True}, "it has words to which no merges lead (training.new_words)"),
    ):
        changed = json.dumps(tree | {"model": tree["model"] | changes})
        assert what_cannot_be_written(Tokenizer(Backend.from_str(changed))) == [problem]
