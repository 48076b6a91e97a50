"""A model of Firefox Translations in PyTorch: with weights in float32 to train on, or in 8 bits as engines compute."""

import platform
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from transduce.apps.exchange.firefox.marian_shortlist import read_lexicon
from transduce.apps.exchange.firefox.student_files import OUTPUT, Matrix, StudentFile, StudentPaths
from transduce.base.errors import CheckpointError
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle, load_weights
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.models.families import build_model
from transduce.models.interface import EncoderDecoder
from transduce.nn.quantization import SideBySide, StaticInt8Linear
from transduce.text.sentencepiece import parse_sentencepiece
from transduce.text.tokenizer import Tokenizer, Tokenizers

EPSILON = 1e-6
"""The number that engines add to the variance in a layer norm."""
IMPOSSIBLE = -1e6
"""The output bias of tokens that are never to be written; a model that is to be trained gets UNLIKELY."""
UNLIKELY = -10.0


def pieces_of(tokenizer: Tokenizer) -> int:
    """Returns the number of tokens that engines know; ours adds padding and the beginning of texts after them."""
    assert tokenizer.sentencepiece is not None, "callers refuse other tokenizers"
    return _count(tokenizer.sentencepiece)


@lru_cache(maxsize=4)
def _count(model: bytes) -> int:
    return len(parse_sentencepiece(model).pieces)


def float_model(student: StudentFile, tokenizers: Tokenizers) -> EncoderDecoder[Any]:
    """Returns the model of a file in float32, with rows for the tokens that our tokenizers have and engines have not.

    Raises CheckpointError for tokenizers of more pieces than the file has rows.
    """
    for table, tokenizer in ((student.source_table, tokenizers.source), (student.target_table, tokenizers.target)):
        if pieces_of(tokenizer) > len(table.values):
            raise CheckpointError(
                f"{student.path} has {len(table.values):,} rows of embeddings, but its vocabulary has "
                f"{pieces_of(tokenizer):,} pieces; copy or download both again"
            )
    source, target = tokenizers.source, tokenizers.target
    weights = {
        "encoder.embedding.table.weight": _rows(student.source_table.floats(), source, 0.0),
        f"{OUTPUT}.bias": _rows(student.output_bias, target, UNLIKELY).masked_fill_(
            _rows(student.output_bias, target, IMPOSSIBLE) <= IMPOSSIBLE, UNLIKELY
        ),
    }
    if not student.is_shared:
        weights["decoder.embedding.table.weight"] = _rows(student.target_table.floats(), target, 0.0)
    for name, parts in student.layers.items():
        weights[f"{name}.weight"] = torch.cat([torch.from_numpy(part.weight.floats()) for part in parts])
        if biases := [torch.from_numpy(part.bias) for part in parts if part.bias is not None]:
            weights[f"{name}.bias"] = torch.cat(biases)
    for name, (scale, bias) in student.norms.items():
        weights |= {f"{name}.weight": torch.from_numpy(scale), f"{name}.bias": torch.from_numpy(bias)}
    model = build_model(student.config, len(source), len(target))
    load_weights(model, weights)
    assert isinstance(model, EncoderDecoder)
    return model.eval()


def saturates() -> bool:
    """Returns True if engines may add products in 16 bits on processors of this kind."""
    return platform.machine().lower() in ("x86_64", "amd64")


def engine_model(student: StudentFile, tokenizers: Tokenizers, is_reduced: bool) -> EncoderDecoder[Any]:
    """Returns the model of a file that computes as engines do on this machine: inputs and weights of matrices in bytes,
    and all between in float32. With a shortlist (`is_reduced`) the output layer's sums are exact everywhere."""
    model = float_model(student, tokenizers)
    for name, parts in student.layers.items():
        layers = [_layer(part) for part in parts]
        model.set_submodule(name, layers[0] if len(layers) == 1 else SideBySide(layers))
    table, target = student.target_table, tokenizers.target
    model.set_submodule(
        OUTPUT,
        StaticInt8Linear(
            _rows(table.values, target, 0),
            table.multiplier,
            student.output_multiplier,
            _rows(student.output_bias, target, IMPOSSIBLE),
            saturates() and not is_reduced,
        ),
    )
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = EPSILON
    return model.eval()


def open_student(
    paths: StudentPaths, config: BundleConfig, tokenizers: Tokenizers
) -> tuple[ModelBundle, Shortlist | None]:
    """Returns the model of a folder in 8-bit arithmetic, with its shortlist if it has one.

    Raises CheckpointError for a file that is damaged or does not fit the others, InputError for another kind of
    model.
    """
    student = StudentFile(paths.model)
    model = engine_model(student, tokenizers, is_reduced=paths.shortlist.exists())
    sizes = (len(student.source_table.values), len(student.target_table.values))
    shortlist = read_lexicon(paths.shortlist, tokenizers, sizes) if paths.shortlist.exists() else None
    return ModelBundle(config, model, tokenizers, folder=paths.model.parent), shortlist


def _layer(part: Matrix) -> StaticInt8Linear:
    bias = None if part.bias is None else torch.from_numpy(part.bias)
    weight = torch.from_numpy(part.weight.values.copy())
    return StaticInt8Linear(weight, part.weight.multiplier, part.input_multiplier, bias, saturates())


def _rows(values: NDArray[Any], tokenizer: Tokenizer, added: float) -> Tensor:
    """Returns the rows of a tokenizer's pieces, and a row of a number for each of its tokens that engines have not."""
    known = torch.from_numpy(np.array(values[: pieces_of(tokenizer)]))
    missing = len(tokenizer) - len(known)
    return torch.cat([known, known.new_full((missing, *known.shape[1:]), added)])
