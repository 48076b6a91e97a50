"""Exports a bundle to Hugging Face transformers; the folder is kept only if it reads back as the same model."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer as Backend

from transduce.apps.exchange.huggingface.card import check_license, hub_card
from transduce.apps.exchange.huggingface.certificate import SAMPLES, Certificate, certify
from transduce.apps.exchange.huggingface.family import Family
from transduce.apps.exchange.huggingface.folder import write_config, write_tensors
from transduce.apps.exchange.huggingface.huggingface_families import family_of_bundle
from transduce.apps.exchange.huggingface.import_huggingface import read_bundle
from transduce.apps.exchange.huggingface.tensor_names import to_theirs
from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import check_absent, new_folder
from transduce.base.verification import CARD
from transduce.bundle.model_bundle import ModelBundle, unshared_weights
from transduce.bundle.model_card import LICENSE
from transduce.text.tokenizer import Tokenizer

SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_eos_token_id")
"""The settings that generation_config.json repeats."""


def export_huggingface(model: Path, folder: Path, license: str | None = None) -> Certificate:
    """Writes the folder, reads it again, and compares both, and with transformers if that is installed.

    Args:
        model: the folder of a model or a run.
        folder: the folder to write; must not exist.
        license: the card's licence, as the hub spells it (default: that of its run).

    Raises InputError for a model with settings that Hugging Face's does not support (all reasons are listed), or if the
    folder exists; CheckpointError if the model is damaged, or if the folder reads back as another model.
    """
    check_absent(folder)
    check_license(license)
    bundle = ModelBundle.load(model)
    license = license or bundle.history.get(LICENSE)
    bundle = bundle.with_history(**({LICENSE: license} if license else {}))
    family = family_of_bundle(model, bundle.config)
    if not family.has_own_tokenizers:
        _check_tokenizer(model, bundle.tokenizers.target)
    config: dict[str, Any] = {
        "architectures": [family.architecture(bundle.config)],
        "model_type": family.model_type,
        "dtype": "float32",
    }
    config |= family.write(bundle)
    generation: dict[str, Any] = {name: config[name] for name in SPECIAL if name in config}
    with new_folder(folder) as new:
        write_config(new, config, generation | family.write_search(bundle))
        write_tensors(new, to_theirs(unshared_weights(bundle.model), family.same(bundle.config)))
        family.write_tokenizers(new, bundle)
        card = hub_card(bundle, family.architecture(bundle.config), license)
        (new / CARD).write_text(card, encoding="utf-8")
        again, _ = read_bundle(new)
        _check_same(bundle, again, folder, family)
        return certify(new, family, again)


def _check_tokenizer(model: Path, tokenizer: Tokenizer) -> None:
    """Raises InputError for a tokenizer whose file alone tokenizes differently."""
    alone = Backend.from_str(tokenizer.backend.to_str())
    if gaps := tokenizer.pieces(range(len(tokenizer))).count(""):
        raise InputError(
            f"{model} cannot be exported to Hugging Face: its tokenizer leaves {gaps:,} of its {len(tokenizer):,} ids "
            "without a token"
        )
    for text in SAMPLES:
        for line in [text] if tokenizer.newline_is_text else text.splitlines():
            if alone.encode(line, add_special_tokens=False).ids != tokenizer.encode(line):
                raise InputError(
                    f"{model} cannot be exported to Hugging Face: its tokenizer spells unknown words in bytes, which "
                    "wordpiece does not do there; bpe, unigram, characters, bytes and words can be exported"
                )


def _check_same(bundle: ModelBundle, again: ModelBundle, folder: Path, family: Family) -> None:
    """Raises CheckpointError unless weights, token ids and logits are equal bit for bit."""
    weights, read_again = unshared_weights(bundle.model), unshared_weights(again.model)
    if changed := [name for name, tensor in weights.items() if not torch.equal(tensor, read_again[name])]:
        raise CheckpointError(f"{folder} is not written: {changed[0]} was another one when it was read again")
    for text in SAMPLES:
        source, ids = (side.encode(text) for side in (bundle.tokenizers.source, bundle.tokenizers.target))
        if (again.tokenizers.source.encode(text), again.tokenizers.target.encode(text)) != (source, ids):
            raise CheckpointError(f"{folder} is not written: the tokens of {text!r} were others when it was read again")
        row = ids[: bundle.config.longest_source]
        if row and not torch.equal(family.outputs(bundle, row), family.outputs(again, row)):
            raise CheckpointError(f"{folder} is not written: the logits of {text!r} were others when it was read again")
