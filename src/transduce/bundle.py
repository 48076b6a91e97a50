"""The model folder: all that inference needs, written, read and verified; nothing in it can run code."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import safetensors
import torch
from safetensors.torch import load_file
from torch import nn

from transduce.config import Settings, convert, read_toml, to_toml
from transduce.data.batch import SpecialIds
from transduce.errors import CheckpointError, ConfigError
from transduce.files import new_folder, save_tensors
from transduce.models.families import ModelConfig, build_model
from transduce.models.heads import HeadConfig
from transduce.probe import check_probe, make_probe, read_probe
from transduce.ranges import PositiveInt
from transduce.task_table import TASKS
from transduce.text.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from transduce.verification import check_unchanged, checksums, read_json

FORMAT = 2  # in 1, settings had other names
EXPORT = "export.json"  # stands in the folder of a model that another engine runs, and in no bundle


class BundleConfig(Settings, frozen=True):
    """What a bundle is: enough to build its model again, nothing of how it was trained."""

    format: int
    """Version of the folder's layout."""
    source: str
    """Language that is read."""
    target: str
    """Language that is written."""
    model: ModelConfig
    """Family and sizes."""
    tokenizer: TokenizerConfig
    """How the tokenizers were made."""
    longest_source: PositiveInt
    """Most tokens read at once in training: a source sentence (longer text is translated in pieces), or a window of
    running text."""
    task: str = "translation"
    """What the model was trained for: see task_table.py."""
    begin: Literal["bos", "eos"] = "bos"
    """The token after which an output begins; in running text, where lines follow one another, the end of a line."""
    head: HeadConfig | None = None
    """What stands on an encoder of texts."""


@dataclass(frozen=True)
class ModelBundle:
    """A model with its tokenizers and settings."""

    config: BundleConfig
    model: nn.Module
    tokenizers: Tokenizers
    history: dict[str, Any] = field(default_factory=dict)
    """What is told of the model: its data, how long it trained, what it scored."""

    folder: Path | None = None
    """Where it was loaded from."""

    @property
    def special(self) -> SpecialIds:
        """The ids that batches need."""
        return special_ids(self.tokenizers, self.config.begin)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def save(self, folder: Path, probe_texts: Sequence[tuple[str, str]]) -> None:
        """Write the bundle; a few sentence pairs, one at least, become its probe. Raises FloatingPointError for a model
        that gives scores that are not finite."""
        with new_folder(folder) as new:
            self.describe(new)
            save_tensors(unshared_weights(self.model), new / "weights.safetensors")
            kind = TASKS[self.config.task].probe
            probe = make_probe(kind, self.model, self.tokenizers, self.special, probe_texts, checksums(new))
            (new / "probe.json").write_bytes(msgspec.json.encode(probe))

    def describe(self, folder: Path) -> None:
        """Write all but the weights and the probe."""
        (folder / "config.toml").write_text(to_toml(self.config), encoding="utf-8")
        self.tokenizers.source.save(folder / _tokenizer_file(self.config.tokenizer, "source"))
        self.tokenizers.target.save(folder / _tokenizer_file(self.config.tokenizer, "target"))
        (folder / "history.json").write_bytes(msgspec.json.format(msgspec.json.encode(self.history)))
        (folder / "README.md").write_text(model_card(self), encoding="utf-8")

    def with_history(self, **facts: Any) -> "ModelBundle":
        """The same bundle that tells more of itself."""
        return replace(self, history=self.history | facts)

    @staticmethod
    def load(path: Path, device: str | torch.device = "cpu") -> "ModelBundle":
        """Read and verify a bundle, or the best one of a run's folder; the model is in evaluation mode, float32."""
        folder = find_bundle(path)
        if (folder / EXPORT).exists():
            raise CheckpointError(
                f"{folder} is an exported model, which only supports translation; use the original model"
            )
        config = read_config(folder)  # first, because what is newer may be so in other files too
        probe = read_probe(folder)
        check_unchanged(folder, probe.sha256)
        tokenizers = read_tokenizers(folder, config.tokenizer)
        model = build_model(config.model, len(tokenizers.source), len(tokenizers.target), config.head)
        try:
            load_weights(model, load_file(folder / "weights.safetensors"))
        except (safetensors.SafetensorError, RuntimeError, OSError) as error:
            raise CheckpointError(
                f"{folder}/weights.safetensors does not fit its config.toml: {' '.join(str(error).split())}"
            ) from None
        history = read_history(folder)
        special = special_ids(tokenizers, config.begin)
        check_probe(TASKS[config.task].probe, probe, model.eval(), tokenizers, special, folder)
        return ModelBundle(config, model.to(device), tokenizers, history, folder)


def find_bundle(path: Path) -> Path:
    """The bundle that a path stands for: itself, a run's finished model, or its best checkpoint so far."""
    if not path.is_dir():
        raise CheckpointError(f"{path}: no such model; expected the folder of a model or of a run")
    if (path / "config.toml").exists() or (path / "weights.safetensors").exists():
        return path
    model = path / "model"
    if model.is_dir():
        return model
    if model.exists() or model.is_symlink():
        raise CheckpointError(f"{model} is not a folder; remove it to use the run's best checkpoint")
    return best_bundle(path)


def best_bundle(run: Path) -> Path:
    """The bundle of the checkpoint that a run's best.json names."""
    path = run / "best.json"
    if not path.exists():
        if (run / "config.json").exists() and not (run / EXPORT).exists():
            raise CheckpointError(
                f"{run} is not a model of Transduce, but of another library; first: transduce import {run} -o FOLDER"
            )
        raise CheckpointError(f"{run} is not a model: it has neither config.toml nor a run's model or best.json")
    advice = "remove it; it is written again when the run is resumed"
    best = read_json(path, dict[str, Any], advice)
    name = best.get("checkpoint")
    if not isinstance(name, str) or not name.isdigit():
        raise CheckpointError(f"{path} is damaged (it names no checkpoint); {advice}")
    return run / "checkpoints" / name / "bundle"


def special_ids(tokenizers: Tokenizers, begin: Literal["bos", "eos"] = "bos") -> SpecialIds:
    """The ids that batches need."""
    source, target = tokenizers.source, tokenizers.target
    return SpecialIds(source.pad, source.eos, target.pad, getattr(target, begin), target.eos)


def read_tokenizers(folder: Path, config: TokenizerConfig) -> Tokenizers:
    """The tokenizers of a bundle's folder."""

    def read(side: Literal["source", "target"]) -> Tokenizer:
        return Tokenizer.load(folder / _tokenizer_file(config, side), (getattr(config, side) or config).special)

    source = read("source")
    return Tokenizers(source, source if config.is_shared else read("target"))


def read_history(folder: Path) -> dict[str, Any]:
    """What a bundle's folder tells of the model's making."""
    return read_json(folder / "history.json", dict[str, Any])


def load_weights(model: nn.Module, weights: dict[str, torch.Tensor]) -> None:
    """Fill a model from the tensors that `unshared_weights` wrote; RuntimeError where they do not fit."""
    missing, unexpected = model.load_state_dict(weights, strict=False)
    tied = model.state_dict().keys() - unshared_weights(model).keys()
    if unexpected or set(missing) - tied:
        raise RuntimeError(f"missing {sorted(set(missing) - tied)}, unexpected {unexpected}")


def unshared_weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """Each tensor once: a tied matrix goes by the first of its names."""
    seen: set[int] = set()
    weights = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen or not tensor.numel():
            seen.add(tensor.data_ptr())
            weights[name] = tensor.detach().cpu().contiguous()
    return weights


def _tokenizer_file(config: TokenizerConfig, side: str) -> str:
    return "tokenizer.json" if config.is_shared else f"{side}.json"


def read_config(folder: Path) -> BundleConfig:
    """What a bundle's folder says it is."""
    path = folder / "config.toml"
    try:
        tree = read_toml(path)
        found = tree.get("format")
        if isinstance(found, int) and found > FORMAT:
            raise CheckpointError(
                f"{folder} has format {found}, but this Transduce reads up to {FORMAT}; install a newer Transduce"
            )
        if isinstance(found, int) and not isinstance(found, bool) and found < FORMAT:
            raise CheckpointError(
                f"{folder} has format {found}, from before settings were renamed; train the model again, or "
                "use the Transduce that made it"
            )
        config = convert(tree, BundleConfig, str(path))
    except ConfigError as error:
        raise CheckpointError(str(error)) from None
    if config.task not in TASKS:
        raise CheckpointError(f"{path}: its task is '{config.task}', but there are {', '.join(TASKS)}")
    return config


def model_card(bundle: ModelBundle, use: str | None = None) -> str:
    """What is told of a model to people, in Markdown; with code, indented, that uses it (default: a command)."""
    config, history = bundle.config, bundle.history
    entry, family, tokenizer = TASKS[config.task], config.model.__struct_config__.tag, config.tokenizer
    use = use or f"    {entry.example.replace('MODEL', '.')}"
    parameters = sum(parameter.numel() for parameter in bundle.model.parameters())
    source, target = (len(side) for side in (bundle.tokenizers.source, bundle.tokenizers.target))
    told = "\n".join(f"- {name.replace('_', ' ')}: {_told(value)}" for name, value in history.items())
    return f"""# {" to ".join(dict.fromkeys((config.source, config.target)))}

{entry.title.capitalize()} made with [Transduce](https://pypi.org/project/transduce/): {family},
{parameters:,} parameters, {source:,} source and {target:,} target tokens
({tokenizer.kind}{", shared" if tokenizer.is_shared else ""}).

{use}

The model works best on text similar to its training data. Have important translations checked by a person.

## How it was made

{told or "Nothing is recorded."}
"""


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_told(item)}" for key, item in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)
