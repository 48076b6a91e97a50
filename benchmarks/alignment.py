"""Alignment error rates where the truth is known: `python benchmarks/alignment.py RUN`, a run of the recipe quickstart.

On the run's test pairs, by every head of cross-attention, by the one that `transduce align` chooses on validation data,
by hiding source tokens (occlusion), and by IBM Model 1 learned from the run's training data. The truth is what the
grammar's lexicon tells: see peers/gold_links.py.
"""

import argparse
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from peers.gold_links import word_links
from transduce.analysis.alignment import (
    SAMPLE,
    AlignmentHead,
    Links,
    alignment_error_rate,
    choose_head,
    link_words,
    without_punctuation,
)
from transduce.analysis.attribution import occlusion
from transduce.analysis.recorded_attention import record_pass
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.corpus import SentencePair
from transduce.corpora.lexical_translation import LexicalTable
from transduce.corpora.splits import open_splits
from transduce.data.batch import make_batch
from transduce.data.store import open_store
from transduce.experiment.recipe import recipe_of
from transduce.inference.aligner import Aligner
from transduce.inference.shortlist.pair_sample import PairSample

Align = Callable[[SentencePair], Links]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    bundle, recipe = ModelBundle.load(options.run), recipe_of(options.run)
    assert recipe is not None
    splits = open_splits(recipe.config.data, recipe.folder)
    pairs = list(islice(splits.test or splits.validation, options.pairs))
    truth = [word_links(pair) for pair in pairs]
    if bundle.config.source != "en":
        turned = [SentencePair(pair.target, pair.source) for pair in pairs]
        truth = [tuple({(j, i) for i, j in links} for links in word_links(pair)) for pair in turned]  # type: ignore[misc]

    def error(found: Sequence[Links]) -> float:
        return alignment_error_rate(found, [sure for sure, _ in truth], [possible for _, possible in truth])

    sample = list(islice(splits.validation, SAMPLE))
    sources = bundle.tokenizers.source.encode_batch([pair.source for pair in sample])
    targets = bundle.tokenizers.target.encode_batch([pair.target for pair in sample])
    chosen = choose_head(bundle, zip(sources, targets, strict=True))
    maps = record_pass(bundle.model, make_batch(sources[:1], targets[:1], bundle.special)).cross()  # type: ignore[arg-type]
    print(f"{len(pairs)} pairs, {sum(len(sure) for sure, _ in truth)} sure links")
    texts = [(pair.source, pair.target) for pair in pairs]
    for layer, one in enumerate(maps):
        for head in range(one.weights.shape[1]):
            rates = [error(Aligner(bundle, AlignmentHead(layer, head, shift, 0.0)).align(texts)) for shift in (0, 1)]
            print(f"layer {layer + 1} head {head + 1}: {rates[0]:.3f} where it writes, {rates[1]:.3f} where it reads")
    rate = error(Aligner(bundle, chosen).align(texts))
    where = "reads" if chosen.shift else "writes"
    print(f"chosen, layer {chosen.layer + 1} head {chosen.head + 1}, where it {where}: {rate:.3f}")
    print(f"occlusion: {error([by_occlusion(bundle, pair) for pair in pairs]):.3f}")
    stores = [open_store(each.corpus, bundle.tokenizers, None, cache_folder()) for each in splits.train]
    learned = PairSample.spread(stores, 1_000_000)
    table = learned.learn(len(bundle.tokenizers.source), len(bundle.tokenizers.target), iterations=10)
    print(f"IBM Model 1: {error([by_lexicon(bundle, table, pair) for pair in pairs]):.3f}")


def by_occlusion(bundle: ModelBundle, pair: SentencePair) -> Links:
    """Each target token with the source token whose absence costs it most."""
    source, target = bundle.tokenizers.source.encode(pair.source), bundle.tokenizers.target.encode(pair.target)
    drops = occlusion(bundle.model, make_batch([source], [target], bundle.special))  # type: ignore[arg-type]
    return _links(bundle, pair, drops[:-1, :-1].argmax(1).tolist())


def by_lexicon(bundle: ModelBundle, table: LexicalTable, pair: SentencePair) -> Links:
    """Each target token with the source token that translates to it most probably, or with the null word."""
    source, target = bundle.tokenizers.source.encode(pair.source), bundle.tokenizers.target.encode(pair.target)
    keys = np.array([*source, table.source_vocabulary])[None] * table.target_vocabulary + np.array(target)[:, None]
    places = np.searchsorted(table.keys, keys).clip(max=len(table.keys) - 1)
    found = np.where(table.keys[places] == keys, table.probabilities[places], 0.0).argmax(1)
    return _links(bundle, pair, [None if place == len(source) else int(place) for place in found])


def _links(bundle: ModelBundle, pair: SentencePair, places: Sequence[int | None]) -> Links:
    sides = ((bundle.tokenizers.source, pair.source), (bundle.tokenizers.target, pair.target))
    words = [without_punctuation(side.words_of(text), side.pieces(side.encode(text))) for side, text in sides]
    return link_words(places, *words)


if __name__ == "__main__":
    main()
