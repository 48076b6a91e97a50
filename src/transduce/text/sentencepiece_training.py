"""Trains unigram models by the SentencePiece library (Kudo 2018), whose files on-device engines read."""

import io
import tempfile
from collections.abc import Iterable
from pathlib import Path

from transduce.base.errors import ConfigError, DataError
from transduce.text.sentencepiece import parse_sentencepiece, read_model
from transduce.text.sentencepiece_writing import require_sentencepiece
from transduce.text.tokenizer import SENTENCEPIECE, Tokenizer
from transduce.text.tokenizer_settings import SideConfig

COVERAGE = 0.99999
"""The share of the text's characters that pieces spell; rarer ones are unknown."""
LONGEST_LINE = 1_000_000  # bytes; the library leaves longer ones out


def train_sentencepiece(config: SideConfig, texts: Iterable[str], size: int) -> Tokenizer:
    """Trains a model with `</s>` as its piece 0 and `<unk>` as piece 1, as Marian's vocabularies have them.

    The tokenizer has `<pad>` and `<bos>` after the model's pieces.

    Raises InputError where SentencePiece is not installed, DataError for texts that are empty or yield fewer pieces
    than `tokenizer.size`, ConfigError for a size that has no room for the characters.
    """
    library = require_sentencepiece()
    rules = "identity" if config.normalize == "none" else "nmt_nfkc"
    written = io.BytesIO()
    lines = [text for text in texts if not text.isspace() and text]
    if not lines:
        raise DataError("the training text is empty: there is nothing to make a vocabulary of")
    try:
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=written,
            model_type="unigram",
            vocab_size=size,
            hard_vocab_limit=False,  # what is too large is an error of ours
            character_coverage=COVERAGE,
            normalization_rule_name=f"{rules}_cf" if config.lowercase else rules,
            eos_id=0,
            unk_id=1,
            bos_id=-1,
            pad_id=-1,
            max_sentence_length=LONGEST_LINE,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        name = "size" if config.max_size is None else "max_size"
        sentences = " ".join(str(error).split()).rpartition("] ")[2].split(". ")
        reason = ". ".join(each for each in sentences if "--" not in each)  # its own options are none of ours
        raise ConfigError(f"tokenizer.{name} = {size}: SentencePiece makes no vocabulary of it ({reason})") from None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"vocabulary{SENTENCEPIECE}"
        path.write_bytes(written.getvalue())
        tokenizer = read_model(path)
    pieces = len(parse_sentencepiece(written.getvalue()).pieces)
    if config.size is not None and pieces < config.size:
        raise DataError(
            f"tokenizer.size = {config.size:,}, but the training text yields only {pieces:,} pieces; set it to at most "
            f"{pieces}, or max_size instead"
        )
    return tokenizer
