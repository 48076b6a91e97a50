"""What a bundle knows of its quality: a regression of edit rates and limits of alarms, both from held-out pairs."""

import math
import shutil
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from transduce.base.errors import CheckpointError
from transduce.base.tensor_files import save_tensors
from transduce.base.verification import COPY_AGAIN
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.quality.alarms import Alarms
from transduce.inference.quality.confidence import UNSEEN, Features, Training, confidence_features, features_of
from transduce.inference.quality.known_texts import KnownTexts
from transduce.inference.quality.quality_estimate import QualityEstimate
from transduce.inference.quality.regression import FEWEST, EditRegression
from transduce.search.loop import Hypothesis

FILE = "quality.safetensors"
VERSION = 2
"""Version of the features; a file of another one is ignored."""
MOST_UNSEEN = 0.3
"""Share of unseen words up to which there is an estimate in any case; beyond it, if more was learned from."""
ARRAYS = [field.name for field in fields(EditRegression) if field.name not in ("intercept", "prior")]
TEXTS = [field.name for field in fields(Training)]


@dataclass(frozen=True)
class QualityModel:
    """Estimates edit rates of a model's translations, and finds those that went wrong."""

    regression: EditRegression
    training: Training
    alarms: Alarms

    @property
    def learned_from(self) -> int:
        """Number of the translations that were learned from."""
        return len(self.regression.errors)

    @staticmethod
    def learn(
        bundle: ModelBundle,
        pairs: Sequence[tuple[str, str]],
        outputs: Sequence[tuple[str, float]],
        training: Training,
        correct: Sequence[tuple[str, str]],
    ) -> "QualityModel | None":
        """Learns estimates from held-out pairs, and the model's output for each with its edit rate, and the limits of
        alarms from correct pairs; None from too few."""
        both = [(source, output) for (source, _), (output, _) in zip(pairs, outputs, strict=True)]
        features = confidence_features(bundle, both, training)
        read = [(row, rate) for row, (_, rate) in zip(features, outputs, strict=True) if row is not None]
        if len(read) < FEWEST:
            return None
        rows, rates = zip(*read, strict=True)
        alarms = Alarms.of(correct, training.translations)
        return QualityModel(EditRegression.fit(np.array(rows), np.array(rates)), training, alarms)

    def estimate(self, source: str, target: str, output: Hypothesis) -> QualityEstimate | None:
        """Returns the estimate of a translation, given its text and the output that it was decoded from.

        None for a blank one, and from an engine that gives no probabilities.
        """
        total = output.log_probability
        if not (source.strip() and target.strip() and math.isfinite(total)):
            return None
        return estimate_by(self.regression, features_of(source, target, total, len(output.tokens) + 1, self.training))

    def save(self, folder: Path) -> None:
        """Saves all with the model in a folder."""
        tensors = {name: torch.from_numpy(getattr(self.regression, name)) for name in ARRAYS}
        tensors["intercept"] = torch.tensor(self.regression.intercept, dtype=torch.float64)
        tensors["alarms"] = torch.tensor(astuple(self.alarms), dtype=torch.float64)
        for name in TEXTS:
            texts = getattr(self.training, name)
            tensors[f"{name}.hashes"] = torch.from_numpy(texts.hashes.view(np.int32))
            tensors[f"{name}.counts"] = torch.from_numpy(texts.counts)
        tensors["version"] = torch.tensor(VERSION)
        save_tensors(tensors, folder / FILE)

    @staticmethod
    def load(folder: Path) -> "QualityModel | None":
        """Returns what is kept with the model, None if there is none or it is of another version; raises
        CheckpointError for a damaged file."""
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            kept = {name: tensor.numpy() for name, tensor in load_file(path).items()}
            if kept["version"].item() != VERSION:
                return None
            arrays: dict[str, Any] = {name: kept[name] for name in ARRAYS}
            regression = EditRegression(**arrays, intercept=kept["intercept"].item())
            texts = (KnownTexts(kept[f"{name}.hashes"].view(np.uint32), kept[f"{name}.counts"]) for name in TEXTS)
            return QualityModel(regression, Training(*texts), Alarms(*kept["alarms"].tolist()))
        except (SafetensorError, OSError, KeyError, TypeError, ValueError):
            raise CheckpointError(f"{path} is damaged; {COPY_AGAIN}, or delete it") from None


def keep_quality(model: Path | None, folder: Path) -> None:
    """Copies what is kept with a model to the folder of the same model in another form."""
    if model is not None and (model / FILE).is_file():
        shutil.copyfile(model / FILE, folder / FILE)


def estimate_by(regression: EditRegression, features: Features) -> QualityEstimate:
    """Returns the estimate for features; without an expected share if the text has more unseen words than any that the
    regression, or its prior, was learned from."""
    learned = [each.highest[UNSEEN] for each in (regression, regression.prior) if each is not None]
    if features[UNSEEN] > max(MOST_UNSEEN, *learned):
        return QualityEstimate(None, reason=f"{features[UNSEEN]:.0%} unseen words")
    return regression.estimate(features)
