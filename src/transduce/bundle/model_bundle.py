"""The model folder: all that inference needs, written, read and verified; nothing in it can run code."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import safetensors
import torch
from safetensors.torch import load_file
from torch import nn

from transduce.base.config import to_toml
from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import new_folder, sha256
from transduce.base.reprs import shown_by
from transduce.base.task_table import TASKS
from transduce.base.tensor_files import save_tensors
from transduce.base.unzipping import is_zipped, unzipped
from transduce.base.verification import CARD, check_unchanged, checksums, read_json
from transduce.bundle.bundle_config import BaseConfig, BundleConfig, read_config
from transduce.bundle.model_card import model_card
from transduce.bundle.probe import check_probe, make_probe, read_probe
from transduce.corpora.directions import MANY, Direction
from transduce.data.batch import Batch, SpecialIds, make_batch
from transduce.data.parts import batches_by_length
from transduce.models.adapters import AdaptersConfig
from transduce.models.families import PhrasesConfig, build_model
from transduce.models.heads import EncoderModel, WordHead
from transduce.models.interface import EncoderDecoder
from transduce.nn.low_rank import merge_weights
from transduce.text.long_texts import longest_in_context
from transduce.text.tokenizer import SENTENCEPIECE, Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import TokenizerConfig

EXPORT = "export.json"  # in the folder of a model that another engine runs, and in no bundle


@dataclass(frozen=True)
class Marks:
    """Language tokens that select a model's direction; none for a model of one direction."""

    source: tuple[int, ...] = ()
    """Tokens before each source."""
    begin: int | None = None
    """The decoder's first token; None for the token that begins all outputs."""


def bundle_facts(bundle: Any) -> dict[str, object]:
    """Returns the facts that the repr of a bundle or of an exported model shows."""
    config, model = bundle.config, getattr(bundle, "model", None)
    facts: dict[str, object] = {"task": config.task}
    if config.task == "translation":
        facts["languages"] = f"{config.source} to {config.target}"
    if isinstance(model, nn.Module):
        parameters = sum(parameter.numel() for parameter in model.parameters())
        facts["model"] = f"{config.model.__struct_config__.tag}, {parameters:,} parameters"
        facts["device"] = bundle.device
    return facts | {"folder": bundle.folder}


@shown_by(bundle_facts)
@dataclass(frozen=True, repr=False)
class ModelBundle:
    """A model with its tokenizers and settings."""

    config: BundleConfig
    model: nn.Module
    tokenizers: Tokenizers
    history: dict[str, Any] = field(default_factory=dict)
    """The model's history: its data, its training, its scores."""

    folder: Path | None = None
    """The folder that it was loaded from."""

    @property
    def writer(self) -> EncoderDecoder[Any]:
        """The model if it translates or continues texts; InputError for one that only reads texts."""
        if not isinstance(self.model, EncoderDecoder):
            raise InputError(f"a {type(self.model).__name__} only reads texts; use a model that writes them")
        return self.model

    @property
    def reader(self) -> EncoderModel:
        """The model if it is an encoder of texts with a head; InputError for one that writes texts."""
        if not isinstance(self.model, EncoderModel):
            raise InputError(f"a {type(self.model).__name__} is no encoder of texts; use a model that is one")
        return self.model

    @property
    def special(self) -> SpecialIds:
        """The ids that batches need, in the chosen direction."""
        source, target, config = self.tokenizers.source, self.tokenizers.target, self.config
        begin: int = getattr(target, config.begin)
        if config.languages is not None and config.languages.place == "decoder" and config.target != MANY:
            begin = target.marks[config.target]
        return SpecialIds(source.pad, source.eos, target.pad, begin, target.eos)

    @property
    def marks(self) -> Marks:
        """The language tokens of the chosen direction; InputError if one must be chosen first."""
        return marks_of(self.tokenizers, self.config)

    def directed(self, direction: Direction) -> "ModelBundle":
        """Returns a copy with a direction chosen; see `BundleConfig.find_direction`."""
        return replace(self, config=self.config.directed(direction))

    def read(self, texts: Sequence[str], before: Sequence[Sequence[str]] | None = None) -> list[list[int]]:
        """Returns the ids of sources, after the language token if there is one, and the texts `before` each in a model
        that reads context; InputError as for `marks`."""
        marks, tokenizer, context = self.marks.source, self.tokenizers.source, self.config.context
        encoded = tokenizer.encode_batch(texts)
        if before is not None and context is not None:
            of_each = (tokenizer.encode_batch(earlier[-context.texts :]) for earlier in before)
            limit = getattr(self.model, "source_limit", None)
            longest = longest_in_context(context.texts, self.config.longest_source, limit)
            encoded = [tokenizer.in_context(ids, each, longest) for ids, each in zip(encoded, of_each, strict=True)]
        return [[*marks, *ids] for ids in encoded]

    def batches(
        self, sources: Sequence[list[int]], targets: Sequence[list[int]], tokens: int
    ) -> Iterator[tuple[list[int], Batch]]:
        """Yields pairs of token ids, without end tokens, in batches of similar length, after the places of their pairs;
        the longer side of a batch has at most this many padded tokens, unless it is a single pair."""
        lengths = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
        for places in batches_by_length(lengths, tokens):
            batch = make_batch([sources[i] for i in places], [targets[i] for i in places], self.special)
            yield places, batch.to(self.device)

    @property
    def device(self) -> torch.device:
        """The device of the model's parameters."""
        return next(self.model.parameters()).device

    def save(self, folder: Path, probe_texts: Sequence[tuple[str, str]]) -> None:
        """Writes the bundle; sentence pairs, at least one, become its probe. Raises FloatingPointError if the model's
        scores are not finite."""
        self._write(folder, probe_texts, unshared_weights(self.model))

    def save_adapters(
        self,
        folder: Path,
        probe_texts: Sequence[tuple[str, str]],
        config: AdaptersConfig,
        learned: dict[str, torch.Tensor],
        base: Path,
    ) -> None:
        """Writes a bundle of trained weights alone, adapters and perhaps a head, which needs the one in `base`."""
        path = os.path.relpath(base.resolve(), folder.resolve())
        changes = {"adapters": config, "base": BaseConfig(path=path, sha256=identity(find_bundle(base)))}
        replace(self, config=msgspec.structs.replace(self.config, **changes))._write(folder, probe_texts, learned)

    def _write(self, folder: Path, probe_texts: Sequence[tuple[str, str]], weights: dict[str, torch.Tensor]) -> None:
        with new_folder(folder) as new:
            self.describe(new)
            save_tokenizers(self.tokenizers, self.config.tokenizer, new)
            save_tensors(weights, new / "weights.safetensors")
            kind, probed = TASKS[self.config.task].probe, self.for_probe
            before = probed.marks.source
            probe = make_probe(kind, self.model, self.tokenizers, probed.special, probe_texts, checksums(new), before)
            (new / "probe.json").write_bytes(msgspec.json.encode(probe))

    @property
    def for_probe(self) -> "ModelBundle":
        """A copy with the direction chosen in which it is probed."""
        languages = self.config.languages
        return self if languages is None else self.directed(languages.first)

    def describe(self, folder: Path) -> None:
        """Writes the settings, the history and the card."""
        config = self.config if self.config.languages is None else self.config.directed(Direction(MANY, MANY))
        (folder / "config.toml").write_text(to_toml(config), encoding="utf-8")
        (folder / "history.json").write_bytes(msgspec.json.format(msgspec.json.encode(self.history)))
        (folder / CARD).write_text(card_of(self), encoding="utf-8")

    def with_history(self, **facts: Any) -> "ModelBundle":
        """Returns a copy with these facts added to its history."""
        return replace(self, history=self.history | facts)

    @staticmethod
    def load(path: Path, device: str | torch.device = "cpu", base: Path | None = None) -> "ModelBundle":
        """Reads and verifies a bundle, or the best one of a run's folder; the model is in evaluation mode, float32.

        Adapters are merged into it; `base` is the folder of the model that they need, if it was moved.
        """
        folder = find_bundle(path)
        if (folder / EXPORT).exists():
            raise CheckpointError(why_not_trainable(folder))
        config = read_config(folder)  # first: a newer format may change the other files too
        probe = read_probe(folder)
        check_unchanged(folder, probe.sha256)
        if others := [file for file in folder.glob(f"*{SENTENCEPIECE}") if file.name not in probe.sha256]:
            raise CheckpointError(f"{others[0]} is not of this model; remove it")
        tokenizers = read_tokenizers(folder, config)
        model = build_model(config.model, len(tokenizers.source), len(tokenizers.target), config.head)
        try:
            load_weights(model, read_weights(folder, config, base))
        except (safetensors.SafetensorError, RuntimeError, OSError, KeyError) as error:
            raise CheckpointError(
                f"{folder}/weights.safetensors does not fit its config.toml: {' '.join(str(error).split())}"
            ) from None
        history = read_history(folder)
        if isinstance(model, EncoderModel) and isinstance(model.head, WordHead) and _is_old_import(history):
            model.head.swap_follows()
        bundle = ModelBundle(config, model.eval(), tokenizers, history, folder)
        probed = bundle.for_probe
        check_probe(TASKS[config.task].probe, probe, model, tokenizers, probed.special, folder, probed.marks.source)
        config = msgspec.structs.replace(config, adapters=None, base=None)
        return replace(bundle, config=config, model=model.to(device))


def find_bundle(path: Path) -> Path:
    """Returns the bundle at a path: itself, a run's finished model, or its best checkpoint so far; a ZIP file counts as
    the folder in it."""
    if is_zipped(path):
        path = unzipped(path)
    if not path.is_dir():
        raise CheckpointError(
            f"{path}: no such model; expected the folder of a model or of a run, or a ZIP file of one"
        )
    if (path / "config.toml").exists() or (path / "weights.safetensors").exists():
        return path
    model = path / "model"
    if model.is_dir():
        return model
    if model.exists() or model.is_symlink():
        raise CheckpointError(f"{model} is not a folder; remove it to use the run's best checkpoint")
    return best_bundle(path)


def why_not_trainable(folder: Path) -> str:
    """Returns why the model in a folder that has an `export.json` only translates, and which model does more."""
    if not isinstance(read_config(folder).model, PhrasesConfig):
        return f"{folder} is an exported model, which only supports translation; use the original model"
    neural = folder.parent / "neural"
    other = f"use {neural}" if neural.is_dir() else "train a neural model of the same texts (model.kind=transformer)"
    return f"{folder} is a phrase-based model, which only supports translation; {other}"


def model_content(path: Path) -> str:
    """Returns a hash of a model's description, which holds the checksum of each of its files; see `find_bundle`."""
    folder = find_bundle(path)
    description = folder / (EXPORT if (folder / EXPORT).exists() else "probe.json")
    if not description.is_file():
        raise CheckpointError(f"{description} is missing; copy the model again")
    return sha256(description)


def is_model(path: str | Path) -> bool:
    """Returns True if a path is a folder or a ZIP file, which may hold a model."""
    return Path(path).is_dir() or is_zipped(path)


def best_bundle(run: Path) -> Path:
    """Returns the bundle of the checkpoint that a run's best.json names."""
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


def marks_of(tokenizers: Tokenizers, config: BundleConfig) -> Marks:
    """Returns the language tokens of the chosen direction; InputError if one must be chosen first."""
    if config.languages is None:
        return Marks()
    direction = config.find_direction()
    if config.languages.place == "source":
        return Marks((tokenizers.source.marks[direction.target],))
    return Marks((tokenizers.source.marks[direction.source],), tokenizers.target.marks[direction.target])


def read_tokenizers(folder: Path, bundle: BundleConfig) -> Tokenizers:
    """Reads the tokenizers of a bundle's folder."""
    config = bundle.tokenizer

    def read(side: Literal["source", "target"]) -> Tokenizer:
        special = (getattr(config, side) or config).special
        return Tokenizer.load(folder / _tokenizer_file(config, side), special, bundle.marks)

    source = read("source")
    return Tokenizers(source, source if config.is_shared else read("target"))


def save_tokenizers(tokenizers: Tokenizers, config: TokenizerConfig, folder: Path) -> None:
    """Writes tokenizers with these settings, which `read_tokenizers` reads."""
    tokenizers.source.save(folder / _tokenizer_file(config, "source"))
    tokenizers.target.save(folder / _tokenizer_file(config, "target"))


def _is_old_import(history: dict[str, Any]) -> bool:
    """Returns True for an old imported model, not trained since, whose next-sentence logits are swapped: it does not
    record their order."""
    return list(history) == ["imported"] and "next_sentence" not in history["imported"]


def read_history(folder: Path) -> dict[str, Any]:
    """Reads the history of a bundle's model."""
    return read_json(folder / "history.json", dict[str, Any])


def read_weights(folder: Path, config: BundleConfig, base: Path | None = None) -> dict[str, torch.Tensor]:
    """Reads the weights of a bundle's folder, with adapters merged; `base` is the folder of the model that they adapt,
    if moved.

    Raises CheckpointError if the base has changed.
    """
    weights = load_file(folder / "weights.safetensors")
    if config.base is not None:
        weights = _weights_of_base(config.base, folder, base) | weights
    return weights if config.adapters is None else merge_weights(weights, config.adapters.scale)


def identity(folder: Path) -> str:
    """Returns a hash of the files that determine a bundle's outputs."""
    checksums = read_probe(folder).sha256
    relevant = {name: checksum for name, checksum in checksums.items() if name not in (CARD, "history.json")}
    return hashlib.sha256(msgspec.json.encode(sorted(relevant.items()))).hexdigest()


def _weights_of_base(config: BaseConfig, folder: Path, base: Path | None) -> dict[str, torch.Tensor]:
    known = Path(os.path.normpath(folder / config.path))
    text = f"{folder} holds adapters alone, for the model that was in {known}"
    try:
        base_folder = find_bundle(base or known)
        if identity(base_folder) != config.sha256:
            raise CheckpointError(f"{base_folder} is another model (SHA-256 differs)")
        return unshared_weights(ModelBundle.load(base_folder).model)
    except CheckpointError as error:
        raise CheckpointError(f"{text}: {error}; restore it, or merge the adapters with a copy of it (base)") from None


def load_weights(model: nn.Module, weights: dict[str, torch.Tensor]) -> None:
    """Loads into a model the tensors that `unshared_weights` returned; RuntimeError if they do not fit."""
    missing, unexpected = model.load_state_dict(weights, strict=False)
    tied = model.state_dict().keys() - unshared_weights(model).keys()
    if unexpected or set(missing) - tied:
        raise RuntimeError(f"missing {sorted(set(missing) - tied)}, unexpected {unexpected}")


def unshared_weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """Returns each tensor of `unshared`, on the CPU."""
    return {name: tensor.detach().cpu().contiguous() for name, tensor in unshared(model).items()}


def unshared(model: nn.Module) -> dict[str, torch.Tensor]:
    """Returns a model's own tensors, each once: a tied matrix has the first of its names."""
    first: dict[int, str] = {}
    tensors = model.state_dict(keep_vars=True)
    return {name: tensor for name, tensor in tensors.items() if first.setdefault(id(tensor), name) == name}


def _tokenizer_file(config: TokenizerConfig, side: str) -> str:
    return "tokenizer.json" if config.is_shared else f"{side}.json"


def example(config: BundleConfig, model: str, direction: Direction | None = None) -> str:
    """Returns a command that uses the model of a folder, in the given direction or its first."""
    if config.languages is not None:
        direction = direction or config.languages.first
        model += f" --from {direction.source} --to {direction.target}"
    return TASKS[config.task].example.replace("MODEL", model)


def card_of(bundle: ModelBundle, use: str | None = None) -> str:
    """Returns the card of a model; with indented code that uses it (default: a command)."""
    config, tokenizers = bundle.config, bundle.tokenizers
    parameters = sum(parameter.numel() for parameter in bundle.model.parameters())
    sizes = (len(tokenizers.source), len(tokenizers.target))
    return model_card(config, sizes, parameters, bundle.history, use or f"    {example(config, '.')}")
