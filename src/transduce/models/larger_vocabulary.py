"""A trained model with more tokens, each of which begins as the mean of others."""

from collections.abc import Sequence

import torch
from torch import nn

from transduce.base.errors import ConfigError
from transduce.models.families import ModelConfig, build_model

Former = Sequence[Sequence[int]]
"""For each new token, the tokens whose mean it begins as."""


def with_new_tokens(
    config: ModelConfig, model: nn.Module, vocabularies: tuple[int, int], source: Former, target: Former
) -> nn.Module:
    """Returns a model of these settings with new tokens after its own, whose embeddings and rows of the output layer
    begin as means of others'; `vocabularies` counts the source and target tokens before.

    Raises ConfigError for a model whose embeddings are in clusters.
    """
    with torch.random.fork_rng([]):
        larger = build_model(config, vocabularies[0] + len(source), vocabularies[1] + len(target))
    expected, weights = larger.state_dict(), {}
    for name, tensor in model.state_dict().items():
        if tensor.shape != expected[name].shape:
            is_source = name.startswith("encoder.")
            if len(tensor) != vocabularies[0 if is_source else 1]:
                raise ConfigError(
                    "training.new_words: the model's embeddings are in clusters (model.cutoffs); leave it out"
                )
            former = source if is_source else target
            tensor = torch.cat([tensor, *(tensor[list(indices)].mean(0, keepdim=True) for indices in former)])
        weights[name] = tensor
    larger.load_state_dict(weights)
    return larger


def rows_before(config: ModelConfig, vocabularies: tuple[int, int], new: tuple[int, int]) -> dict[str, int]:
    """Returns the rows of embeddings and output layers before these source and target tokens were added, by name."""
    with torch.device("meta"):
        sizes = (vocabularies[0] - new[0], vocabularies[1] - new[1])
        before, now = (build_model(config, *each).state_dict() for each in (sizes, vocabularies))
    return {name: len(before[name]) for name, tensor in now.items() if tensor.shape != before[name].shape}
