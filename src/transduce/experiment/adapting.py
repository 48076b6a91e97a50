"""Training low-rank adapters: the initial model of the run, and how the result is saved."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import torch
from safetensors.torch import load_file
from torch import nn

from transduce.base.errors import ConfigError, InputError
from transduce.base.files import check_absent
from transduce.base.unzipping import is_zipped
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import ModelBundle, find_bundle, unshared_weights
from transduce.bundle.probe import read_probe
from transduce.inference.quality.quality_model import keep_quality
from transduce.models.adapters import AdaptersConfig, add_adapters, without_adapters
from transduce.models.larger_vocabulary import rows_before
from transduce.tasks.origin import NEW_WORDS
from transduce.tasks.task import Prepared, Validator
from transduce.training.distributed import ALONE, Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation


def with_adapters(prepared: Prepared, config: AdaptersConfig) -> Prepared:
    """Adds adapters to the model, which alone are trained, with the vectors of added words.

    Raises ConfigError for layers that the model does not have.
    """
    bundle = prepared.bundle
    add_adapters(bundle.model, config)
    known = replace(bundle, config=msgspec.structs.replace(bundle.config, adapters=config))
    new = bundle.history.get(NEW_WORDS)
    sizes = (len(bundle.tokenizers.source), len(bundle.tokenizers.target))
    fixed = {} if new is None else rows_before(bundle.config.model, sizes, new)
    fixed = {name: rows for name, rows in fixed.items() if name in dict(bundle.model.named_parameters())}
    for name in fixed:
        bundle.model.get_parameter(name).requires_grad_(True)
    return replace(prepared, bundle=known, validator=_MergedValidator(prepared.validator), fixed_rows=fixed)


@dataclass(frozen=True)
class _MergedValidator:
    """Validates a model as it will be used, with its adapters merged; see Validator."""

    validator: Validator

    def __call__(self, model: nn.Module, processes: Processes = ALONE) -> Validation:
        """See Validator."""
        return self.validator(without_adapters(model), processes)

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """See Validator."""
        return self.validator.trials(without_adapters(model))


@dataclass(frozen=True)
class Apart:
    """Saves adapters apart from the model that they adapt."""

    config: AdaptersConfig
    base: Path
    """The bundle that training starts from."""
    learned: frozenset[str]
    """Names of the parameters that are trained."""

    @staticmethod
    def of(config: AdaptersConfig, start: Path, model: nn.Module) -> "Apart":
        """Prepares for a model with adapters, before training.

        Raises ConfigError if its other weights are not all those of the model that training starts from.
        """
        with torch.random.fork_rng([]):  # the run draws the same however its model is saved
            base = ModelBundle.load(start)
        learned = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        kept = {name: tensor.shape for name, tensor in unshared_weights(model).items() if name not in learned}
        of_base = {name: tensor.shape for name, tensor in unshared_weights(base.model).items() if name not in learned}
        if kept != of_base:
            raise ConfigError(
                f'training.adapters.save = "apart": the other weights are not those of {start} alone, since the '
                'model or its vocabulary was changed; set it to "merged"'
            )
        return Apart(config, start if is_zipped(start) else find_bundle(start), frozenset(learned))

    def save(self, best: ModelBundle, folder: Path, probe_texts: Sequence[tuple[str, str]]) -> None:
        """Writes the trained weights of the best bundle's checkpoint as a bundle that needs the base."""
        assert best.folder is not None, "it was loaded from a checkpoint"
        weights = load_file(best.folder / "weights.safetensors")
        learned = {name: weights[name] for name in sorted(self.learned)}
        best.save_adapters(folder, probe_texts, self.config, learned, self.base)


def merge(model: Path, out: Path, base: Path | None = None) -> ModelBundle:
    """Merges a bundle of adapters with the model that they adapt into an ordinary bundle.

    Args:
        model: the folder with the adapters, or that of the run that trained them.
        out: the new bundle's folder.
        base: the folder of the model that they adapt, if it was moved.

    Raises InputError if `out` exists or the model is whole, CheckpointError for another base than was adapted.
    """
    check_absent(out, "choose another folder (out)")
    folder = find_bundle(model)
    bundle = ModelBundle.load(folder, base=base)
    if read_config(folder).base is None:
        raise InputError(f"{model} is a whole model, with nothing to merge; only adapters kept apart are merged")
    probe = read_probe(folder)
    targets = [bundle.tokenizers.target.decode(ids) for ids in probe.target]
    bundle.save(out, list(zip(probe.text, targets, strict=True)))
    keep_quality(folder, out)
    return bundle
