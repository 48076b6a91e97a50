"""Word alignment of sentence pairs: IBM Model 1 with a preference for the diagonal, both ways, joined."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

Link = tuple[int, int]
"""A source word and a target word that translate each other, by their places."""

ITERATIONS = 6
TENSION = 4.0  # how much less likely a link is per unit off the diagonal (Dyer et al. 2013, which learns it)
SPARSITY = 0.01  # parameter of a Dirichlet prior: without one, a rare word is linked to all that others leave over
NULL = 0.08  # prior of a target word without a source word, beside one for a word on the diagonal
AROUND = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]


def align(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[Link]]:
    """Returns the links of each pair of sentences, which are given as numbers of words and hold one or more each.

    Links that both directions find grow by neighbours that one of them finds (grow-diag-final-and, Koehn et al. 2005).
    """
    forward, backward = _posteriors(sources, targets), _posteriors(targets, sources)
    return [_joined(to_target, to_source) for to_target, to_source in zip(forward, backward, strict=True)]


def _posteriors(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[Float[np.ndarray, "targets sources_and_null"]]:
    """Returns, for each target word of each pair, the weights of the source words that it may translate, at last of
    none."""
    null = 1 + max(map(max, sources))
    size = 1 + max(map(max, targets))
    keys, priors, words, count = [], [], [], 0
    for source, target in zip(sources, targets, strict=True):
        n, m = len(source), len(target)
        keys.append((np.array([*source, null]) * size + np.array(target)[:, None]).ravel())  # [targets * (sources + 1)]
        off = np.abs(
            (np.arange(n) + 0.5) / n - (np.arange(m) + 0.5)[:, None] / m
        )  # from the diagonal, [targets, sources]
        priors.append(np.concatenate([np.exp(-TENSION * off), np.full((m, 1), NULL)], 1).ravel())
        words.append(np.repeat(np.arange(count, count + m), n + 1))
        count += m
    prior, word = np.concatenate(priors), np.concatenate(words)
    found, entry = np.unique(np.concatenate(keys), return_inverse=True)  # the pairs of words that occur together
    kinds = np.bincount(found // size)  # target words beside each source word
    probability = np.ones(len(found))
    for _ in range(ITERATIONS):
        weights = probability[entry] * prior
        weights /= np.bincount(word, weights, count)[word]  # expectation: which source word made each target word
        expected = np.bincount(entry, weights, len(found))
        totals = np.bincount(found // size, expected, len(kinds)) + SPARSITY * kinds
        # maximisation: p(target | source), by variational Bayes (Mermer and Saraclar 2011)
        probability = np.exp(_digamma(expected + SPARSITY) - _digamma(np.maximum(totals, SPARSITY))[found // size])
    sizes = [(len(source) + 1) * len(target) for source, target in zip(sources, targets, strict=True)]
    parts = np.split(weights, np.cumsum(sizes)[:-1])
    return [part.reshape(len(target), -1) for part, target in zip(parts, targets, strict=True)]


def _digamma(values: Float[np.ndarray, " values"]) -> Float[np.ndarray, " values"]:
    """Returns the derivative of the logarithm of the gamma function: by its recurrence, and its series from 6 on."""
    large = values + 6
    less = sum(1 / (values + step) for step in range(6))
    return np.log(large) - 1 / (2 * large) - 1 / (12 * large**2) + 1 / (120 * large**4) - less


def _joined(
    to_target: Float[np.ndarray, "targets sources_and_null"], to_source: Float[np.ndarray, "sources targets_and_null"]
) -> list[Link]:
    targets, sources = len(to_target), len(to_source)
    one = {(int(i), j) for j, i in enumerate(to_target.argmax(1)) if i < sources}
    other = {(i, int(j)) for i, j in enumerate(to_source.argmax(1)) if j < targets}
    links, candidates = one & other, sorted(one ^ other)
    linked_sources, linked_targets = {i for i, _ in links}, {j for _, j in links}

    def add(i: int, j: int) -> None:
        links.add((i, j))
        linked_sources.add(i)
        linked_targets.add(j)

    grows = True
    while grows:
        grows = False
        for i, j in candidates:
            is_new = (i, j) not in links and (i not in linked_sources or j not in linked_targets)
            if is_new and any((i + a, j + b) in links for a, b in AROUND):
                add(i, j)
                grows = True
    for i, j in candidates:
        if i not in linked_sources and j not in linked_targets:
            add(i, j)
    return sorted(links)
