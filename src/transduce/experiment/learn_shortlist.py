"""Learning a model's vocabulary shortlist from aligned text: the training data of its run, or a user's own."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from transduce.base.config import Settings
from transduce.base.errors import InputError
from transduce.base.files import check_absent
from transduce.base.ranges import Iterations, NonNegativeInt, PositiveInt
from transduce.base.task_table import check_tool
from transduce.base.unzipping import is_zipped
from transduce.bundle.model_bundle import ModelBundle, find_bundle
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.catalogue.download import announce
from transduce.corpora.corpus import ParallelCorpus
from transduce.corpora.lexical_translation import LexicalTable
from transduce.corpora.splits import open_splits
from transduce.data.batch import pad
from transduce.data.store import TokenStore, open_store, open_stores
from transduce.experiment.recipe import recipe_known_of
from transduce.inference.shortlist.pair_sample import PairSample
from transduce.inference.shortlist.shortlist import FILE, Shortlist
from transduce.text.tokenizer import Tokenizers

MEASURED = 2000  # sentence pairs
AT_ONCE = 100  # of these
MOST_PAIRS = 100_000  # to learn from, sampled evenly


class ShortlistSettings(Settings, frozen=True):
    """Length of the lists, and the size of the text they are learned from."""

    per_token: PositiveInt = 50
    """Target tokens listed for each source token."""
    frequent: NonNegativeInt = 100
    """Most frequent target tokens, allowed in every sentence."""
    iterations: Iterations = 5
    """Iterations of expectation maximisation (IBM Model 1)."""


@dataclass(frozen=True)
class ShortlistCoverage:
    """Coverage and length of lists on sentence pairs."""

    pairs: int
    covered: float
    """Share of target tokens that are in their sentence's list, 0 to 1."""
    list_size: float
    """Mean number of target tokens in a sentence's list."""

    def describe(self, text: str, vocabulary: int) -> str:
        """Describes lists of this vocabulary's tokens for the pairs of a text of this name."""
        return (
            f"{text}, {self.pairs:,} pairs: a sentence's list has {self.list_size:,.0f} of {vocabulary:,} tokens, "
            f"and holds {100 * self.covered:.2f} % of those of its translation"
        )


@dataclass(frozen=True)
class LearnedShortlist:
    """A shortlist that was learned and written."""

    shortlist: Path
    pairs: int
    """The number of pairs it was learned from."""
    of_pairs: int
    """The number of pairs available."""
    vocabulary: int
    """The number of the model's target tokens."""
    training: ShortlistCoverage
    """Measures on pairs that it was learned from."""
    validation: ShortlistCoverage | None
    """Measures on the run's validation data; None for text of the user's own."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce shortlist --json`."""
        facts = asdict(self) | {"shortlist": str(self.shortlist)}
        return {name: fact for name, fact in facts.items() if fact is not None}

    def describe(self) -> str:
        """Returns a line for each fact, for people."""
        lines = [
            f"learned from {self.pairs:,} of {self.of_pairs:,} sentence pairs",
            self.training.describe("text it was learned from", self.vocabulary),
        ]
        if self.validation is not None:
            lines.append(self.validation.describe("validation data", self.vocabulary))
        return "\n".join([*lines, f"the shortlist is {self.shortlist}"])


def learn_shortlist(
    model: Path,
    corpus: ParallelCorpus | None = None,
    out: Path | None = None,
    settings: ShortlistSettings | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> LearnedShortlist:
    """Learns which target tokens each source token is translated to, and writes the list where translators read it.

    Args:
        model: the folder of a model or a run.
        corpus: sentence pairs to learn from (default: the training data of the model's run).
        out: the file to write (default: `shortlist.safetensors` in the model's folder).
        settings: the length of lists, and the size of the text.
        tell: receives lines on the progress before learning.

    Raises InputError if `out` exists or its folder does not, or there is neither a corpus nor a run of the model,
    CheckpointError for a damaged or exported model, DataError for text that cannot be learned from.
    """
    settings = settings or ShortlistSettings()
    bundle = ModelBundle.load(model)
    check_tool(model, bundle.config.task, "translator")
    if out is None and is_zipped(model):
        raise InputError(f"{model} is a ZIP file, into which nothing is written; name the file to write (out)")
    out = out or find_bundle(model) / FILE
    check_absent(out, "choose another file (out)")
    if not out.parent.is_dir():
        raise InputError(f"{out}: its folder does not exist")
    tokenizers, validation = bundle.tokenizers, None
    if corpus is not None:
        stores = [open_store(corpus, tokenizers, None, cache_folder())]
    else:
        stores, validation = _stores_of_run(model, tokenizers, tell)
    pairs = PairSample.spread(stores, MOST_PAIRS)
    of_pairs = sum(map(len, stores))
    tell(f"learning from {len(pairs):,} of {of_pairs:,} sentence pairs")
    table = pairs.learn(len(tokenizers.source), len(tokenizers.target), settings.iterations)
    shortlist = _shortlist(table, pairs, tokenizers, settings)
    result = LearnedShortlist(
        out,
        len(pairs),
        of_pairs,
        len(tokenizers.target),
        _measure(shortlist, stores, tokenizers),
        None if validation is None else _measure(shortlist, [validation], tokenizers),
    )
    shortlist.save(out, tokenizers)
    return result


def _stores_of_run(
    model: Path, tokenizers: Tokenizers, tell: Callable[[str], None]
) -> tuple[list[TokenStore], TokenStore]:
    recipe = recipe_known_of(model, "training data", "give source and target, or pairs")
    data = recipe.config.data
    splits = open_splits(data, recipe.folder, announce(tell))
    parts = [part for each in splits.train for part in each.corpus.parts]
    stores = [store for store in open_stores(parts, tokenizers, data.max_tokens, cache_folder()) if len(store)]
    return stores, open_store(splits.validation, tokenizers, None, cache_folder())


def _shortlist(
    table: LexicalTable, pairs: PairSample, tokenizers: Tokenizers, settings: ShortlistSettings
) -> Shortlist:
    """Returns the likeliest targets of each source token, and the token spelled like it: names, numbers, letters."""
    source, target = tokenizers.source, tokenizers.target
    ids = {piece: token for token, piece in enumerate(target.pieces(range(len(target))))}
    same = np.array([ids.get(piece, target.eos) for piece in source.pieces(range(len(source)))])
    lists = np.column_stack([same, table.likeliest(settings.per_token, fill=target.eos)])
    frequent = np.argsort(-pairs.target_counts(len(target)), kind="stable")[: settings.frequent]
    always = np.union1d(frequent, [target.pad, target.bos, target.eos, target.unknown])
    return Shortlist(torch.from_numpy(lists), torch.from_numpy(always), len(target))


def _measure(shortlist: Shortlist, stores: Sequence[TokenStore], tokenizers: Tokenizers) -> ShortlistCoverage:
    pairs = PairSample.spread(stores, MEASURED)
    listed, tokens, size = 0, 0, 0
    for store, chosen in zip(pairs.stores, pairs.chosen, strict=True):
        for block in np.split(chosen, range(AT_ONCE, len(chosen), AT_ONCE)):
            ends = tokenizers.source.eos, tokenizers.target.eos
            source, source_is_real = pad([store.source[i] for i in block], tokenizers.source.pad, ends[0])
            target, is_real = pad([store.target[i] for i in block], tokenizers.target.pad, ends[1])
            allowed = shortlist.allowed(source, source_is_real)
            listed += int((allowed.gather(1, target) & is_real).sum())
            tokens += int(is_real.sum())
            size += int(allowed.sum())
    return ShortlistCoverage(len(pairs), listed / tokens, size / len(pairs))
