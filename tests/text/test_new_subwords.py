"""A tokenizer learns subwords of another language: old pieces keep their numbers, kept words their division."""

from pathlib import Path

import pytest

from transduce.base.errors import InputError
from transduce.text.new_subwords import extend, learn_subwords
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

OLD = [f"the {noun} sees a {other}, and it runs!" for noun in ("dog", "cat", "cow") for other in ("moon", "sun")] * 3
NEW = [
    f"{noun} voit {other} et court près d'elle ?" for noun in ("le chien", "la vache") for other in ("la lune", "日本")
]
KINDS = {"bpe": {}, "unigram": {}, "sentencepiece": {"normalize": "NFKC", "max_size": 40}}


def tokenizer_of(kind: str) -> Tokenizer:
    return train_tokenizer(SideConfig(kind=kind, min_frequency=1, **KINDS.get(kind, {})), OLD)


@pytest.mark.parametrize("languages", [{}, {"en": "<2en>"}], ids=["one direction", "several"])
@pytest.mark.parametrize("kind", KINDS)
def test_new_text_takes_fewer_tokens_and_old_text_the_same(
    kind: str, languages: dict[str, str], tmp_path: Path
) -> None:
    old = tokenizer_of(kind)
    old = old.with_marks(languages) if languages else old
    learned = learn_subwords(old, NEW * 2, 30, keep=OLD)
    known = {**languages, "fr": "<2fr>"}
    extended = extend(Tokenizers(old, old), (learned, learned), known)
    new = extended.tokenizers.source
    assert extended.tokenizers.target is new
    assert new.pieces(range(len(old))) == old.pieces(range(len(old)))
    assert len(new) == len(old) + len(extended.source) + 1
    assert list(new.marks) == list(known) and new.marks["fr"] == len(new) - 1
    assert new.encode_batch(OLD) == old.encode_batch(OLD)
    assert sum(map(len, new.encode_batch(NEW))) < 0.7 * sum(map(len, old.encode_batch(NEW)))
    assert [new.decode(ids) for ids in new.encode_batch(NEW)] == NEW
    assert all(former and max(former) < len(old) for former in extended.source)
    assert not set(new.marks.values()) & set(new.encode("the <2fr> dog <2en>"))
    new.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json", marks=known)
    assert again.encode_batch([*OLD, *NEW]) == new.encode_batch([*OLD, *NEW])


def test_pieces_are_made_of_the_tokens_that_their_text_was_divided_into() -> None:
    old = tokenizer_of("bpe")
    learned = learn_subwords(old, ["qui qui qui"], 5)
    assert list(learned.former)[-1] == "▁qui"
    assert learned.former["▁qui"] == old.encode("qui")
    assert learn_subwords(old, ["qui qui qui"], 0).former == {}
    assert learn_subwords(old, ["the dog"], 5).former == {}


@pytest.mark.parametrize("kind", ["wordpiece", "words", "characters"])
def test_tokenizers_of_other_kinds_are_refused(kind: str) -> None:
    with pytest.raises(InputError, match="divides text by neither bpe nor unigram"):
        learn_subwords(tokenizer_of(kind), NEW, 5)
