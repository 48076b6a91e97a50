"""Sizes, settings and the clock that all parts of the benchmark of a GPU share."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from transduce.experiment import TranslationConfig, load_recipe
from transduce.models.transformer import TransformerConfig

Figures = dict[str, float]
"""Numbers by the names of their columns."""
Measurement = tuple[str, Callable[[], Figures]]
"""The name of each measurement, and the function that makes it."""

ROUNDS, WARM_UP = 3, 2
LONGEST = 149  # tokens of a sentence, without its end


@dataclass(frozen=True)
class Scale:
    """The sizes of all that is measured."""

    shapes: Mapping[str, Sequence[str]] = field(
        default_factory=lambda: {"base": [], "big": ["model.dim=1024", "model.heads=16", "model.feed_forward_dim=4096"]}
    )
    """Changes to the model of wmt14-en-de-base."""
    vocabulary: int = 37_000
    pairs: int = 10_000
    """Sentence pairs that are trained on."""
    target_tokens: int = 25_000
    """Target tokens of a batch, with padding."""
    square: int = 8192
    """Rows and columns of the matrices whose product is taken for the peak."""
    lengths: Sequence[int] = (10, 15, 20, 30, 50)
    """Tokens of the sentences of each batch to translate."""
    sentences: int = 100
    """Sentences of such a batch."""
    recipe: str = "multi30k"
    """The recipe that is trained for a minute."""
    changes: Sequence[str] = ()
    """Changes to this recipe."""
    seconds: float = 60
    """The seconds of this minute."""


SIZES = "dim=32 heads=2 key_dim=16 value_dim=16 feed_forward_dim=64 encoder_layers=1 decoder_layers=1"
SMALL = [f"model.{size}" for size in SIZES.split()]
TINY = Scale(
    shapes={"base": SMALL, "big": SMALL},
    vocabulary=97,
    pairs=40,
    target_tokens=300,
    square=128,
    lengths=(2, 3),
    sentences=5,
    recipe="reverse",
    changes=["data.sequences={train=400, validation=9, test=9}", "model.dim=32", "model.feed_forward_dim=64"],
    seconds=1,
)
"""Sizes to try the benchmark itself, whose figures mean nothing."""

Part = Callable[[Scale, torch.device], Iterator[Measurement]]
"""Yields what it measures, one after the other."""


def configure(changes: Sequence[str]) -> tuple[TranslationConfig, TransformerConfig]:
    """The settings of wmt14-en-de-base with changes, and those of its model."""
    config = load_recipe("wmt14-en-de-base", changes).config
    assert isinstance(config, TranslationConfig) and isinstance(config.model, TransformerConfig)
    return config, config.model


def median_seconds(work: Callable[[], object], device: torch.device) -> float:
    """The median of some rounds, after rounds in which memory is taken and shapes are compiled."""
    seconds = []
    for _ in range(WARM_UP + ROUNDS):
        wait_for(device)
        started = time.perf_counter()
        work()
        wait_for(device)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[WARM_UP:])


def wait_for(device: torch.device) -> None:
    """A GPU works on while Python goes ahead."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
