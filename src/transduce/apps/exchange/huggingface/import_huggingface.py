"""Imports a model of Hugging Face transformers as a bundle, which is kept only if both compute the same."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import torch

from transduce.apps.exchange.huggingface.certificate import SAMPLES, Certificate, certify
from transduce.apps.exchange.huggingface.family import Family
from transduce.apps.exchange.huggingface.folder import PICKLED, is_pickled, read_fields, read_tensors
from transduce.apps.exchange.huggingface.hub import fetch_model, is_on_hub
from transduce.apps.exchange.huggingface.huggingface_families import family_of_folder
from transduce.apps.exchange.huggingface.tensor_names import from_theirs, without_copies
from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import check_absent
from transduce.base.ranges import PositiveInt
from transduce.bundle.model_bundle import ModelBundle, load_weights, unshared
from transduce.models.families import build_model
from transduce.models.heads import NEXT_SENTENCE, SpanHeadConfig, WordHeadConfig


def import_huggingface(
    folder: Path,
    output: Path,
    no_answer: bool | None = None,
    *,
    revision: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Certificate:
    """Reads the folder, compares it with transformers if that is installed, and writes the bundle.

    Args:
        folder: a folder that `save_pretrained` wrote, or a downloaded one; or OWNER/NAME of a model on the hub, see
            `fetch_model`.
        output: the bundle's folder; must not exist.
        no_answer: True if a model that answers questions may find no answer, as those trained on SQuAD 2; None for the
            value in config.json, which often lacks it, else False.
        revision: a branch, a tag or a commit on the hub.
        tell: receives lines for people.

    Raises InputError for an unsupported model, with the setting in question, if the bundle's folder exists, or if the
    hub does not give the model;
    CheckpointError for a folder that is damaged, or that the two libraries read differently.
    """
    check_absent(output)
    origin: dict[str, Any] = {"folder": folder.resolve().name}
    if is_on_hub(folder):
        folder, origin = fetch_model(folder.as_posix(), revision, tell)
    elif revision is not None:
        raise InputError(f"{folder} is a folder, which has no revisions; leave the revision out")
    bundle, family = read_bundle(folder, {} if no_answer is None else {"no_answer": no_answer})
    if is_pickled(folder):
        tell(f"its weights are pickled ({PICKLED}): only tensors were read, and nothing in it was run")
    if no_answer is not None and not isinstance(bundle.config.head, SpanHeadConfig):
        raise InputError(f"{folder}: no_answer is for models that answer questions; leave it out")
    certificate = certify(folder, family, bundle)
    origin |= {"architecture": family.architecture(bundle.config)}
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
    with torch.device("meta"):  # no memory is asked for before all shapes are known to fit
        shapes = unshared(build_model(config.model, size, size, config.head))
    parameters = sum(tensor.numel() for tensor in shapes.values())
    tensors = read_tensors(folder, partial(family.rename, config), parameters)
    tensors = without_copies(tensors, family.copies(config), folder)
    weights = from_theirs(tensors, family.same(config), shapes, folder)
    model = build_model(config.model, size, size, config.head)
    load_weights(model, weights)
    return ModelBundle(config, model.eval(), tokenizers), family
