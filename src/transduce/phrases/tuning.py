"""Weights of a decoder's features under which its outputs are most like references (Och 2003).

Likeness is the geometric mean of BLEU and an F-score of characters, as in chrF: where pairs are few, or words have many
forms, hardly any four words are right, so that BLEU alone says little.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from transduce.phrases.stack_decoder import MODEL, WEIGHTS, Output

ROUNDS = 4  # of translating, each with the weights of the one before
N_BEST = 50
STARTS, STEPS = 4, 150  # of the search for weights, by chance
ORDER = 4  # of n-grams: words, and characters
RECALL = 4  # weight of recall beside precision, of characters: beta 2 squared

Counts = Int[np.ndarray, "*outputs counts"]


def tuned(
    translate: Callable[[int, Sequence[float], int], Sequence[tuple[Sequence[str], Output]]],
    references: Sequence[Sequence[str]],
    until: float = math.inf,
    seed: int = 1,
) -> list[float]:
    """Returns weights for the features of a decoder.

    Args:
        translate: returns the n best outputs for the sentence of a number, under some weights, and the words of each.
        references: the words of a right translation of each sentence.
        until: the time, by `time.monotonic`, after which no round but the first two begins.
        seed: draws the steps of the search.
    """
    chance = np.random.default_rng(seed)
    weights = np.array(WEIGHTS)
    seen: list[dict[tuple[int, ...], tuple[tuple[float, ...], Sequence[int]]]] = [{} for _ in references]
    best = weights, -1.0
    for made in range(ROUNDS):
        if made > 1 and time.monotonic() > until:
            break
        first = []
        for number, (known, reference) in enumerate(zip(seen, references, strict=True)):
            outputs = translate(number, weights.tolist(), N_BEST)
            for words, output in outputs:
                if output.target not in known:
                    known[output.target] = output.features, _counts(words, reference)
            first.append(known[outputs[0][1].target][1])
        if (reached := float(_likeness(np.sum(first, 0)))) > best[1]:
            best = weights, reached
        features = [np.array([each for each, _ in known.values()]) for known in seen]  # [outputs, features] each
        counts = [np.array([each for _, each in known.values()]) for known in seen]
        weights = _search(features, counts, weights, chance)
    return best[0].tolist()


def _search(
    features: Sequence[Float[np.ndarray, "outputs features"]],
    counts: Sequence[Counts],
    weights: Float[np.ndarray, " features"],
    chance: np.random.Generator,
) -> Float[np.ndarray, " features"]:
    """Returns the weights under which the outputs that score best have the highest BLEU, of those that are tried."""

    def value(tried: Float[np.ndarray, " features"]) -> float:
        chosen = [each[(rows @ tried).argmax()] for rows, each in zip(features, counts, strict=True)]
        return float(_likeness(np.sum(chosen, 0)))

    found = []
    for start in range(STARTS):
        own = weights * chance.uniform(0.6, 1.4, len(weights)) if start else weights
        reached = value(own)
        for step in range(STEPS):
            tried = own.copy()
            place = chance.integers(len(own))
            tried[place] += chance.normal() * (0.5 - 0.4 * step / STEPS) * max(abs(own[place]), 0.2)
            if (new := value(tried)) > reached:
                own, reached = tried, new
        found.append((reached, own))
    _, best = max(found, key=lambda each: each[0])
    return best / max(abs(best[MODEL]), 1e-3)


def _counts(output: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Returns the lengths of an output and its reference in words, then how many n-grams match, and how many both have:
    of words for each order, and last of characters."""
    counts = [len(output), len(reference)]
    texts = [(order, output, reference) for order in range(1, ORDER + 1)]
    for order, own, other in [*texts, (ORDER, "".join(output), "".join(reference))]:
        first, second = (
            Counter(tuple(each[at : at + order]) for at in range(len(each) - order + 1)) for each in (own, other)
        )
        counts += [(first & second).total(), first.total(), second.total()]
    return counts


def _likeness(counts: Counts) -> Float[np.ndarray, "*outputs"]:
    """Returns, for summed counts, the geometric mean of BLEU (Papineni et al. 2002), with one more match of each order
    above the first, and of F2 of characters (Popović 2015)."""
    matches, of_output, of_reference = (counts[..., 2 + kind :: 3] for kind in range(3))
    more = np.array([0, 1, 1, 1])
    precisions = (matches[..., :ORDER] + more) / np.maximum(of_output[..., :ORDER] + more, 1)
    brevity = np.minimum(0.0, 1 - counts[..., 1] / np.maximum(counts[..., 0], 1))
    bleu = np.exp(np.log(np.maximum(precisions, 1e-9)).mean(-1) + brevity)
    found = np.maximum(matches[..., ORDER], 1e-9)
    characters = (1 + RECALL) * found / np.maximum(of_output[..., ORDER] + RECALL * of_reference[..., ORDER], 1)
    return np.sqrt(bleu * characters)
