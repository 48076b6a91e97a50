"""Imports a model of Hugging Face transformers as a bundle, which is kept only if both compute the same."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import torch

from transduce.bundle import ModelBundle, load_weights, unshared
from transduce.errors import CheckpointError, InputError
from transduce.exchange.huggingface.certificate import SAMPLES, Certificate, certify
from transduce.exchange.huggingface.families import family_of_folder
from transduce.exchange.huggingface.family import Family
from transduce.exchange.huggingface.folder import read_fields, read_tensors
from transduce.exchange.huggingface.weights import from_theirs, without_copies
from transduce.files import check_absent
from transduce.models.families import build_model
from transduce.models.heads import NEXT_SENTENCE, SpanHeadConfig, WordHeadConfig
from transduce.ranges import PositiveInt


def import_huggingface(folder: Path, output: Path, no_answer: bool | None = None) -> Certificate:
    """Reads the folder, compares it with transformers if that is installed, and writes the bundle.

    Args:
        folder: a folder that `save_pretrained` wrote, or a downloaded one.
        output: the bundle's folder; must not exist.
        no_answer: True if a model that answers questions may find no answer, as those trained on SQuAD 2; None for the
            value in config.json, which often lacks it, else False.

    Raises InputError for an unsupported model, with the setting in question, or if the bundle's folder exists;
    CheckpointError for a folder that is damaged, or that the two libraries read differently.
    """
    check_absent(output)
    bundle, family = read_bundle(folder, {} if no_answer is None else {"no_answer": no_answer})
    if no_answer is not None and not isinstance(bundle.config.head, SpanHeadConfig):
        raise InputError(f"{folder}: no_answer is for models that answer questions; leave it out")
    certificate = certify(folder, family, bundle)
    origin: dict[str, Any] = {"folder": folder.resolve().name, "architecture": family.architecture(bundle.config)}
    if isinstance(bundle.config.head, WordHeadConfig) and bundle.config.head.next_sentence:
        origin["next_sentence"] = NEXT_SENTENCE
    if search := family.read_search(folder):
        origin["search"] = search
    bundle = bundle.with_history(imported=origin | msgspec.to_builtins(certificate))
    try:
        bundle.save(output, [(text, text) for text in SAMPLES])
    except FloatingPointError:
        raise CheckpointError(f"{folder}: the scores that its model gives texts are not finite") from None
    return certificate


def read_bundle(folder: Path, known: Mapping[str, Any] | None = None) -> tuple[ModelBundle, Family]:
    """Reads the model of a folder and its family; `known` values replace those of config.json.

    Raises as `import_huggingface` does."""
    fields = read_fields(folder)
    fields = replace(fields, values={**fields.values, **(known or {})})
    family = family_of_folder(fields)
    tokenizers, how = family.read_tokenizers(folder, fields)
    config, size = family.read(fields, how), len(tokenizers.target)
    rows = fields.number("vocab_size", PositiveInt, size)
    if rows != size:
        raise InputError(
            f"{folder}: its tokenizer has {size:,} tokens, but vocab_size is {rows:,}; they must be equal: "
            "model.resize_token_embeddings(len(tokenizer)), then save both again"
        )
    tensors = without_copies(read_tensors(folder, partial(family.rename, config)), family.copies(config), folder)
    with torch.device("meta"):  # no memory is asked for before all shapes are known to fit
        shapes = unshared(build_model(config.model, size, size, config.head))
    weights = from_theirs(tensors, family.same(config), shapes, folder)
    model = build_model(config.model, size, size, config.head)
    load_weights(model, weights)
    return ModelBundle(config, model.eval(), tokenizers), family
