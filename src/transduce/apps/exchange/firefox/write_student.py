"""Writes a student for Firefox Translations, translateLocally and Bergamot, and what tells their users of it."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from docsegments.language_codes import english_name
from transduce.apps.exchange.firefox.arithmetic import IMPOSSIBLE, pieces_of
from transduce.apps.exchange.firefox.fxtranslate_engine import LONGEST
from transduce.apps.exchange.firefox.marian_binary import Item, QuantizedMatrix, write_items
from transduce.apps.exchange.firefox.marian_shortlist import MULTIPLE, write_lexicon
from transduce.apps.exchange.firefox.student_files import (
    KINDS,
    MULTIPLIER,
    OUTPUT,
    OUTPUT_BIAS,
    OUTPUT_MULTIPLIERS,
    SETTINGS,
    SHARED,
    SOURCE,
    TARGET,
    StudentPaths,
    linear_layers,
    norms,
)
from transduce.base.files import sha256
from transduce.base.version import VERSION
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.models.transformer import TransformerConfig
from transduce.text.sentencepiece_writing import fill_up

CONFIGS = ("config.yml", "config.intgemm8bitalpha.yml")
"""Files with settings of the search, under the names that Bergamot's users and translateLocally know."""
SEARCH = {
    "beam-size": 1,
    "normalize": 1.0,
    "word-penalty": 0,
    "max-length-break": LONGEST,
    "max-length-factor": 4.0,
    "mini-batch-words": 1024,
    "workspace": 128,
    "skip-cost": True,
    "cpu-threads": 0,
    "quiet": True,
    "quiet-translation": True,
    "gemm-precision": "int8shiftAlphaAll",
}
"""Settings by which Bergamot translates. Of a source of n tokens, its end token included, it writes n times
`max-length-factor` at most, and fxtranslate 2 n + 4: as n is at least 2, Bergamot cuts nothing off that fxtranslate
does not, in short sources neither."""
KNOWN_SIZES = {
    (256, 1536, 6, 2): "tiny",
    (384, 1536, 6, 4): "base-memory",
    (512, 2048, 6, 2): "base",
}
"""Names of the sizes of released models: width, width of feed-forward networks, layers of encoder and decoder."""


def write_student(
    bundle: ModelBundle, multipliers: Mapping[str, float], shortlist: Shortlist | None, paths: StudentPaths
) -> None:
    """Writes the files of a student for the engines.

    Args:
        bundle: a model that can be exported.
        multipliers: what the inputs of each linear layer are multiplied by, see `collect_multipliers`.
        shortlist: the model's own, if it has one.
        paths: the files to write; those that describe the model go beside them.
    """
    write_items(student_items(bundle, multipliers), paths.model)
    rows = []
    for tokenizer, path in (
        (bundle.tokenizers.source, paths.source_vocabulary),
        (bundle.tokenizers.target, paths.target_vocabulary),
    ):
        rows.append(_filled(pieces_of(tokenizer)))
        assert tokenizer.sentencepiece is not None
        path.write_bytes(fill_up(tokenizer.sentencepiece, rows[-1] - pieces_of(tokenizer)))
    if shortlist is not None:
        write_lexicon(shortlist, bundle.tokenizers, (rows[0], pieces_of(bundle.tokenizers.target)), paths.shortlist)
    folder, config = paths.model.parent, bundle.config
    for name in CONFIGS:
        (folder / name).write_text(_bergamot_config(paths, shortlist is not None), encoding="utf-8")
    model = config.model_as(TransformerConfig)
    kind = KNOWN_SIZES.get((model.dim, model.feed_forward_dim, model.encoder_layers, model.decoder_layers), "custom")
    source, target = english_name(config.source), english_name(config.target)
    facts = {
        "metadata.json": {
            "architecture": kind,
            "byteSize": paths.model.stat().st_size,
            "hash": sha256(paths.model),
            "modelConfig": settings_of(bundle),
            "sourceLanguage": config.source,
            "targetLanguage": config.target,
            "version": "1.0",
        },
        "model_info.json": {
            "modelName": f"{source}-{target} {kind}",
            "shortName": f"{config.source}-{config.target}-{kind}",
            "src": source,
            "trg": target,
            "srcTags": {config.source: source},
            "trgTag": config.target,
            "type": kind,
            "version": 1,
            "API": 1,
        },
    }
    for name, content in facts.items():
        (folder / name).write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")


def student_items(bundle: ModelBundle, multipliers: Mapping[str, float]) -> dict[str, Item]:
    """Returns the tensors of a model's file, by Marian's names.

    Args:
        bundle: a model that can be exported.
        multipliers: what the inputs of each linear layer are multiplied by, see `collect_multipliers`.
    """
    config, weights = bundle.config.model_as(TransformerConfig), bundle.model.state_dict()
    matrices: dict[str, Item] = {}
    numbers: dict[str, Item] = {}
    sides = [(SHARED, "decoder", bundle.tokenizers.target)]
    if not is_shared(bundle):
        sides = [(SOURCE, "encoder", bundle.tokenizers.source), (TARGET, "decoder", bundle.tokenizers.target)]
    for name, side, tokenizer in sides:
        table = weights[f"{side}.embedding.table.weight"][: pieces_of(tokenizer)].numpy()
        filled = np.zeros((_filled(len(table)), config.dim), np.float32)
        filled[: len(table)] = table
        matrices[name] = Item.of_matrix(QuantizedMatrix.of(filled), is_embedding=True)
    for layer in linear_layers(config):
        parts = weights[f"{layer.name}.weight"].chunk(len(layer.parts))
        biases = weights[f"{layer.name}.bias"].chunk(len(layer.parts)) if f"{layer.name}.bias" in weights else None
        for number, (weight, bias) in enumerate(layer.parts):
            matrices[weight] = Item.of_matrix(QuantizedMatrix.of(parts[number].numpy()))
            numbers[weight + MULTIPLIER] = Item.of_floats(np.array([multipliers[layer.name]], np.float32))
            if bias is not None and biases is not None:
                numbers[bias] = Item.of_floats(biases[number].numpy())
    for name, theirs in norms(config):
        numbers[f"{theirs}_ln_scale"] = Item.of_floats(weights[f"{name}.weight"].numpy())
        numbers[f"{theirs}_ln_bias"] = Item.of_floats(weights[f"{name}.bias"].numpy())
    target = bundle.tokenizers.target
    of_output = np.full(_filled(pieces_of(target)), IMPOSSIBLE, np.float32)
    of_output[: pieces_of(target)] = weights[f"{OUTPUT}.bias"][: pieces_of(target)].numpy()
    of_output[target.unknown] = IMPOSSIBLE  # which our searches never write, and not all engines forbid
    numbers[OUTPUT_BIAS] = Item.of_floats(of_output)
    for name in OUTPUT_MULTIPLIERS[:2] if is_shared(bundle) else OUTPUT_MULTIPLIERS[::2]:
        numbers[name] = Item.of_floats(np.array([multipliers[OUTPUT]], np.float32))
    return matrices | numbers | {SETTINGS: Item.of_text(_yaml(settings_of(bundle)))}


def settings_of(bundle: ModelBundle) -> dict[str, Any]:
    """Returns Marian's settings of a model."""
    config = bundle.config.model_as(TransformerConfig)
    tokenizers, shared = bundle.tokenizers, is_shared(bundle)
    return {name: _value(value) for name, value in KINDS.items()} | {
        "dim-emb": config.dim,
        "dim-vocabs": [_filled(pieces_of(tokenizer)) for tokenizer in (tokenizers.source, tokenizers.target)],
        "enc-depth": config.encoder_layers,
        "dec-depth": config.decoder_layers,
        "transformer-heads": config.heads,
        "transformer-dim-ffn": config.feed_forward_dim,
        "tied-embeddings-all": shared,
        "tied-embeddings": not shared,
        "tied-embeddings-src": False,
        "transformer-postprocess-emb": "d",
        "transformer-tied-layers": [],
        "transformer-guided-alignment-layer": "last",
        "version": f"Transduce {VERSION}",
    }


def _value(text: str) -> object:
    return {"true": True, "false": False}.get(text, int(text) if text.isdigit() else text)


def _yaml(settings: Mapping[str, Any]) -> str:
    """Returns settings as YAML; JSON's values are YAML's too."""
    return "".join(f"{name}: {msgspec.json.encode(value).decode()}\n" for name, value in settings.items())


def _filled(rows: int) -> int:
    return -(-rows // MULTIPLE) * MULTIPLE


def _bergamot_config(paths: StudentPaths, has_shortlist: bool) -> str:
    """Returns the settings by which Bergamot and translateLocally run a model."""
    return _yaml(
        {
            "relative-paths": True,
            "models": [paths.model.name],
            "vocabs": [paths.source_vocabulary.name, paths.target_vocabulary.name],
            **({"shortlist": [paths.shortlist.name, False]} if has_shortlist else {}),
            **SEARCH,
            "alignment": "soft",
        }
    )


def search_settings() -> str:
    """Returns the settings by which Bergamot translates, in YAML."""
    return _yaml(SEARCH)


def is_shared(bundle: ModelBundle) -> bool:
    """Returns True if both sides have one vocabulary."""
    return bundle.tokenizers.source is bundle.tokenizers.target
