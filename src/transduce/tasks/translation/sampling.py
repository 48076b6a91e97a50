"""What an epoch sees of each corpus, and which tokens tell the model the direction of its pairs."""

from collections.abc import Sequence

from transduce.bundle import ModelBundle
from transduce.corpora.directions import Direction
from transduce.corpora.splits import Splits, WeightedCorpus
from transduce.data.batching import TrainingData
from transduce.data.subword_dropout import SubwordDropoutData
from transduce.tasks.translation.preparation import Numbers
from transduce.tasks.translation.settings import TranslationConfig
from transduce.text.bpe_dropout import BpeDropout, BpeMerges
from transduce.text.tokenizer import TokenizerConfig, Tokenizers


def training_data(config: TranslationConfig, splits: Splits, numbers: Numbers) -> TrainingData | SubwordDropoutData:
    """The stores of all training corpora, read as one."""
    plain = _directed_data(config, splits, numbers)
    return _with_subword_dropout(plain, config.tokenizer, numbers.bundle.tokenizers)


def _directed_data(config: TranslationConfig, splits: Splits, numbers: Numbers) -> TrainingData:
    bundle, sizes = numbers.bundle, list(map(len, numbers.stores))
    weights = weights_of(splits.train, sizes, config.data.temperature)
    data = (numbers.stores, weights, bundle.special, config.batching, config.seed)
    if bundle.config.languages is None:
        return TrainingData(*data)
    directed = [_directed(bundle, entry.direction) for entry in splits.train]
    begins = [one.special.target_bos for one in directed]
    return TrainingData(*data, before=[one.marks.source for one in directed], begins=begins)


def weights_of(corpora: Sequence[WeightedCorpus], sizes: Sequence[int], temperature: float) -> list[float]:
    """How many times an epoch sees each pair of corpora of these sizes.

    Of n pairs of a direction, weights counted, it sees n^(1/T), times a number that leaves the epoch as long as it is
    without temperature T (Arivazhagan et al. 2019, section 4.1).
    """
    weights = [corpus.weight for corpus in corpora]
    if temperature == 1:
        return weights
    pairs: dict[Direction | None, float] = {}
    for corpus, size in zip(corpora, sizes, strict=True):
        pairs[corpus.direction] = pairs.get(corpus.direction, 0.0) + corpus.weight * size
    wanted = {direction: count ** (1 / temperature) for direction, count in pairs.items()}
    scale = sum(pairs.values()) / sum(wanted.values())
    return [corpus.weight * scale * wanted[corpus.direction] / pairs[corpus.direction] for corpus in corpora]


def in_own_direction(config: TranslationConfig, splits: Splits, bundle: ModelBundle) -> ModelBundle:
    """A model of several directions that a run trains further in a single one, in that."""
    if bundle.config.languages is None or splits.directions:
        return bundle
    return bundle.directed(Direction(config.data.source, config.data.target))


def _directed(bundle: ModelBundle, direction: Direction | None) -> ModelBundle:
    return bundle if direction is None else bundle.directed(direction)


def _with_subword_dropout(
    plain: TrainingData, config: TokenizerConfig, tokenizers: Tokenizers
) -> TrainingData | SubwordDropoutData:
    """The data as they are, or segmented anew in each epoch where the settings of a side ask for it."""
    rates = [side.dropout for side in (config.of_source, config.of_target)]
    source, target = (
        BpeDropout(BpeMerges(tokenizer), rate) if rate else None
        for tokenizer, rate in zip((tokenizers.source, tokenizers.target), rates, strict=True)
    )
    return plain if source is None and target is None else SubwordDropoutData(plain, source, target)
