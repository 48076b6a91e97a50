"""A folder in Firefox's form whose model writes each character as a table says: made by hand, without training.

Encoder and recurrence pass on what they are given. At position p the cross-attention finds position p of the source by
the quick waves of both positions; its output matrix turns the token there into the one to write, which the residual sum
has four times as large as the token before. Tokens are in the dimensions where the waves are slow.
"""

import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transduce.apps.exchange.firefox.marian_binary import Item, QuantizedMatrix, write_items
from transduce.apps.exchange.firefox.student_files import (
    MULTIPLIER,
    OUTPUT_BIAS,
    OUTPUT_MULTIPLIERS,
    SETTINGS,
    SHARED,
    StudentPaths,
    linear_layers,
    norms,
    student_config,
)

DIM, INNER = 256, 64
QUICK, SLOW = 24, 76
"""Waves below the first tell positions apart, those from the second on hardly move."""
LARGEST = 24.0  # activation that is a byte without being cut
CHARACTERS = string.ascii_letters + string.digits + "äöüÄÖÜß.,!?'-"
UPPER = dict(zip(string.ascii_lowercase + "äöü", string.ascii_uppercase + "ÄÖÜ", strict=True))
HEBREW = dict(zip(string.ascii_lowercase, "אבגדהוזחטיכלמנסעפצקרשתךםןף", strict=True))
PIECES = 104


def write_handmade(sentencepiece: Any, folder: Path, table: Mapping[str, str] = UPPER, pair: str = "deen") -> None:
    """Write model and vocabulary; what the table does not have is written as it is."""
    folder.mkdir(parents=True)
    paths = StudentPaths.of(folder, pair, is_shared=True)
    characters = list(dict.fromkeys([*CHARACTERS, *table.values()]))
    filling = [chr(ord("А") + number) for number in range(PIECES - 3 - len(characters))]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(characters + filling),
        model_prefix=str(folder / "trained"),
        max_sentencepiece_length=1,
        vocab_size=PIECES,
        character_coverage=1.0,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        minloglevel=2,
        num_threads=1,
    )
    (folder / "trained.model").rename(paths.source_vocabulary)
    (folder / "trained.vocab").unlink()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(paths.source_vocabulary))
    written = [table.get(processor.id_to_piece(piece), processor.id_to_piece(piece)) for piece in range(PIECES)]
    write_items(_items([processor.piece_to_id(piece) for piece in written]), paths.model)


def _items(written: list[int]) -> dict[str, Item]:
    """The tensors of a model that writes, for each token, the one in this list."""
    half = DIM // 2
    quick = np.concatenate([np.arange(QUICK), half + np.arange(QUICK)])
    slow = np.concatenate([np.arange(SLOW, half), half + np.arange(SLOW, half)])
    held = slow[: len(written)]  # the dimension of each token
    embeddings = np.zeros((len(written), DIM), np.float32)
    embeddings[np.arange(len(written)), held] = 0.25
    near, read, write = (np.zeros((DIM, DIM), np.float32) for _ in range(3))
    near[quick, quick] = 8  # queries and keys
    read[held, held] = 1  # values
    write[held[written], held] = 4  # outputs
    centred = np.zeros(DIM, np.float32)
    centred[quick] = 8 * 0.65  # about what the norm takes from the waves, whose mean it makes 0
    special = {"context_Wq": near, "context_Wk": near, "context_Wv": read, "context_Wo": write}

    items: dict[str, Item] = {SHARED: _matrix(embeddings, is_embedding=True)}
    scale = Item.of_floats(np.array([127 / LARGEST], np.float32))
    items |= dict.fromkeys(OUTPUT_MULTIPLIERS[:2], scale)
    bias = np.zeros(len(written), np.float32)
    bias[1] = -1e9  # <unk>
    items[OUTPUT_BIAS] = Item.of_floats(bias)
    config = student_config(DIM, 1, INNER, 1, 1, is_shared=True)
    for layer in linear_layers(config):
        for name, biases in layer.parts:
            rows = INNER if layer.name.endswith("inner") else DIM
            columns = INNER if layer.name.endswith("feed_forward.output") else DIM
            items[name] = _matrix(special.get(name.partition("_l1_")[2], np.zeros((rows, columns), np.float32)))
            items[name + MULTIPLIER] = scale
            if biases:
                is_near = biases.endswith(("context_bq", "context_bk"))
                items[biases] = Item.of_floats(centred if is_near else np.zeros(rows, np.float32))
    for _, theirs in norms(config):
        items[f"{theirs}_ln_scale"] = Item.of_floats(np.ones(DIM, np.float32))
        items[f"{theirs}_ln_bias"] = Item.of_floats(np.zeros(DIM, np.float32))
    settings = {
        "type": "transformer",
        "version": "v1.9.56",
        "dim-emb": DIM,
        "dim-vocabs": [len(written), len(written)],
        "enc-depth": 1,
        "dec-depth": 1,
        "transformer-heads": 1,
        "transformer-dim-ffn": INNER,
        "transformer-ffn-depth": 2,
        "transformer-ffn-activation": "relu",
        "transformer-decoder-autoreg": "rnn",
        "dec-cell": "ssru",
        "transformer-preprocess": '""',
        "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d",
        "tied-embeddings-all": "true",
        "tied-embeddings": "false",
    }
    return items | {SETTINGS: Item.of_text("".join(f"{name}: {value}\n" for name, value in settings.items()))}


def _matrix(weights: NDArray[np.float32], is_embedding: bool = False) -> Item:
    return Item.of_matrix(QuantizedMatrix.of(weights), is_embedding)
