"""How much training a corpus can use, and how much of it a machine can do in the time."""

from transduce.corpora.facts import CorpusFacts
from transduce.experiment.machine import Machine
from transduce.models.transformer import TransformerConfig

KNOWN_TOKENS = 410_000  # target tokens of the set that the recipe was tuned on
TOKENS_OF_A_WORD = 1.2  # subwords, punctuation counted
MINUTES, MAX_MINUTES, MINUTES_FOR = 25.0, 90.0, 200_000  # minutes for this many pairs; more for more
SHARE_OF_TRAINING = 0.85  # of the minutes given for all
MIN_PASSES = 3  # fewer leave a model unfinished, so that training may take longer than it should for them


def target_tokens(kept: CorpusFacts) -> float:
    """Returns the target tokens of a pass over the data, sentence ends included."""
    return TOKENS_OF_A_WORD * kept.target.words + kept.pairs


def enough_passes(tokens: float) -> float:
    """Returns the passes over so many target tokens after which a model learns little more."""
    return min(24 * (KNOWN_TOKENS / tokens) ** (0.75 if tokens < KNOWN_TOKENS else 0.15), 130.0)


def affordable_tokens(
    kept: CorpusFacts, machine: Machine, model: TransformerConfig, vocabulary: int, given: float | None
) -> float:
    """Returns the target tokens that training can process in the minutes given for all; else in its usual time, or for
    the fewest passes, in at most `MAX_MINUTES`."""
    rate = tokens_a_minute(kept, machine, model, vocabulary)
    if given is not None:
        return SHARE_OF_TRAINING * given * rate
    minutes = min(MINUTES * max(kept.pairs / MINUTES_FOR, 1) ** 0.5, MAX_MINUTES)  # that training may take
    return max(minutes * rate, min(MIN_PASSES * target_tokens(kept), MAX_MINUTES * rate))


def tokens_a_minute(kept: CorpusFacts, machine: Machine, model: TransformerConfig, vocabulary: int) -> float:
    """Returns the target tokens that training processes per minute."""
    source_tokens = (TOKENS_OF_A_WORD * kept.source.words + kept.pairs) / target_tokens(kept)
    return 60 / machine.seconds(model, vocabulary, 1, source_tokens)
