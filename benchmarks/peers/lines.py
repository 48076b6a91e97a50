"""The data of a recipe as lines of tokens and vocabularies, which every toolkit reads alike."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_splits
from transduce.experiment.recipe import Recipe
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_training import train_tokenizers


def write_lines(recipe: Recipe[Any], folder: Path) -> None:
    """Write train and valid, tokens between spaces and `<unk>` for unknown ones, and vocab, a token a line, of each
    language (train.de, vocab.en, ...), unless they are there."""
    if (folder / "vocab.en").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    splits = open_splits(recipe.config.data, recipe.folder)
    pairs = [pair for entry in splits.train for pair in entry.corpus]
    tokenizers = train_tokenizers(
        recipe.config.tokenizer, (pair.source for pair in pairs), (pair.target for pair in pairs)
    )
    for side, language in (("source", recipe.config.data.source), ("target", recipe.config.data.target)):
        tokenizer: Tokenizer = getattr(tokenizers, side)
        for split, its_pairs in (("train", pairs), ("valid", list(splits.validation))):
            write_tokens(folder / f"{split}.{language}", tokenizer, _side(its_pairs, side))
        vocabulary = tokenizer.pieces(range(len(tokenizer)))
        (folder / f"vocab.{language}").write_text("".join(f"{token}\n" for token in vocabulary), encoding="utf-8")


def write_tokens(path: Path, tokenizer: Tokenizer, texts: list[str]) -> None:
    """Write each text's tokens, spaces between them."""
    lines = (" ".join(tokenizer.pieces(ids)) for ids in tokenizer.encode_batch(texts))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _side(pairs: Iterable[SentencePair], side: str) -> list[str]:
    return [getattr(pair, side) for pair in pairs]
