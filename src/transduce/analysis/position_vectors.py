"""Vectors that encode the positions of a Transformer's tokens."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from transduce.base.errors import InputError
from transduce.nn.positions import LearnedPositions, Rotary, SinusoidalPositions, sinusoids, turns

POSITIONS = 128  # drawn
DIM = 128  # of the sinusoidal ones that are drawn without a model


@dataclass(frozen=True)
class PositionVectors:
    """Vectors of positions, and their similarity by distance."""

    title: str
    vectors: NDArray[np.floating]
    """The vectors, [positions, dim]."""

    @property
    def products(self) -> NDArray[np.floating]:
        """Dot products, [positions, positions], as a share of the mean one of a vector with itself."""
        products = self.vectors @ self.vectors.T
        return products / (float(np.trace(products)) / len(products))

    @property
    def by_distance(self) -> NDArray[np.floating]:
        """The mean product of two positions at each distance, [distances]."""
        products = self.products
        return np.array([np.diagonal(products, distance).mean() for distance in range(len(products))])

    def to_dict(self) -> dict[str, Any]:
        """Returns the vectors and mean products as lists."""
        return {"title": self.title, "vectors": self.vectors.tolist(), "by_distance": self.by_distance.tolist()}


def sinusoidal_positions(dim: int = DIM, positions: int = POSITIONS) -> PositionVectors:
    """Returns the sinusoidal positions of Vaswani et al. (2017)."""
    return PositionVectors(f"sinusoidal positions, {dim} dimensions", sinusoids(positions, dim).numpy())


def positions_of_model(model: nn.Module, name: str) -> PositionVectors:
    """Returns the positions of the first part of a model that has some; InputError for a model without.

    Rotary positions are drawn as the cosines and sines that queries and keys are turned by: their products show how a
    query and an equal key lose similarity by their distance.
    """
    for module in model.modules():
        if isinstance(module, LearnedPositions):
            vectors = module.weight[:POSITIONS].detach().cpu().float().numpy()
            return PositionVectors(f"{name}: learned positions, {vectors.shape[1]} dimensions", vectors)
        if isinstance(module, SinusoidalPositions):
            dim = module.dim
            return PositionVectors(f"{name}: sinusoidal positions, {dim} dimensions", sinusoids(POSITIONS, dim).numpy())
        if isinstance(module, Rotary):
            dim = module.dim
            vectors = turns(POSITIONS, dim).flatten(1).numpy()
            return PositionVectors(f"{name}: rotary positions, {dim} dimensions of a head", vectors)
    raise InputError(f"{name} has no position encodings")
