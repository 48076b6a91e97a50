"""A sample of a text is spread evenly over all of it."""

import pytest

from transduce.text import tokenizer_training
from transduce.text.spread import Spread
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizers


@pytest.mark.parametrize(("count", "step"), [(0, 1), (6, 1), (7, 1), (8, 2), (14, 2), (15, 4), (29, 8), (1000, 256)])
def test_the_least_step_that_keeps_few_enough_is_taken(count, step):
    sample = Spread[int](7)
    sample.extend(range(count // 3))
    sample.extend(range(count // 3, count))
    assert sample.items == list(range(0, count, step))
    assert sample.count == count


def test_a_vocabulary_is_learned_from_a_sample_which_is_reported():
    lines: list[str] = []
    texts = [f"{'even' if number % 2 == 0 else 'odd'} word" for number in range(20)]
    config = TokenizerConfig(kind="words", min_frequency=1, sample=10)
    vocabulary = train_tokenizers(config, texts, (), tell=lines.append).source.backend.get_vocab()
    assert "even" in vocabulary
    assert "odd" not in vocabulary
    assert lines == ["vocabulary: learned from 10 texts, evenly spread over 20 (tokenizer.sample)"]
    assert train_tokenizers(config, texts[:10], (), tell=lines.append).source.backend.get_vocab().keys() >= {"odd"}
    assert len(lines) == 1


def test_a_tokenizer_that_learns_nothing_reads_nothing():
    def unread():
        raise AssertionError
        yield ""

    assert "bytes" in tokenizer_training.LEARN_NOTHING
    train_tokenizers(TokenizerConfig(kind="bytes"), unread(), ())
