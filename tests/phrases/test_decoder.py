"""The decoder beside all outputs that there are, of short sentences."""

import random
from collections.abc import Iterator

import pytest

from transduce.phrases import stack_decoder
from transduce.phrases.ngrams import BEGIN, END, NGrams
from transduce.phrases.stack_decoder import DISTANCE, MODEL, decode
from transduce.phrases.table import Option

CHANCE = random.Random(4)
MODEL_OF_TEXTS = NGrams([[CHANCE.randrange(6) for _ in range(5)] for _ in range(30)], 3)
WEIGHTS = (1.0, 0.5, 0.3, 0.2, 0.4, -0.3, 1.0, 0.9, -0.4)


def random_table(chance: random.Random) -> dict[tuple[int, ...], list[Option]]:
    table: dict[tuple[int, ...], list[Option]] = {}
    for source in [(0,), (1,), (2,), (0, 1), (1, 2), (2, 0)]:
        targets = {tuple(chance.randrange(6) for _ in range(chance.randrange(1, 3))) for _ in range(2)}
        values = [(*(chance.uniform(-3, 0) for _ in range(4)), float(len(target)), 1.0, 0.0) for target in targets]
        table[source] = [Option(*pair) for pair in zip(sorted(targets), values, strict=True)]
    return table


def options_of(source: list[int], table: dict[tuple[int, ...], list[Option]]) -> dict[tuple[int, int], list[Option]]:
    spans = [(begin, end) for begin in range(len(source)) for end in range(begin + 1, len(source) + 1)]
    return {span: found for span in spans if (found := table.get(tuple(source[slice(*span)])))}


def all_outputs(
    source: list[int], table: dict[tuple[int, ...], list[Option]]
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yields the score and the words of every output."""

    def extend(
        covered: frozenset[int], end: int, words: tuple[int, ...], score: float
    ) -> Iterator[tuple[float, tuple[int, ...]]]:
        if len(covered) == len(source):
            context: tuple[int, ...] = (BEGIN,)
            for word in (*words, END):
                score += WEIGHTS[MODEL] * MODEL_OF_TEXTS.score(context, word)
                context = MODEL_OF_TEXTS.after(context, word)
            yield score, words
        for begin in range(len(source)):
            for stop in range(begin + 1, len(source) + 1):
                if covered.isdisjoint(range(begin, stop)):
                    for option in table.get(tuple(source[begin:stop]), ()):
                        gain = sum(w * f for w, f in zip(WEIGHTS, option.features, strict=False))
                        moved = WEIGHTS[DISTANCE] * abs(begin - end)
                        yield from extend(
                            covered | {*range(begin, stop)}, stop, words + option.target, score + gain + moved
                        )

    yield from extend(frozenset(), 0, (), 0.0)


@pytest.fixture
def unpruned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_decoder, "STACK", 10_000)
    monkeypatch.setattr(stack_decoder, "WORSE", 1e9)
    monkeypatch.setattr(stack_decoder, "OPTIONS", 100)


@pytest.mark.usefixtures("unpruned")
@pytest.mark.parametrize("seed", range(8))
def test_the_best_outputs_are_found(seed: int) -> None:
    chance = random.Random(seed)
    table, source = random_table(chance), [chance.randrange(3) for _ in range(4)]
    best: dict[tuple[int, ...], float] = {}
    for score, words in all_outputs(source, table):
        best[words] = max(score, best.get(words, -1e9))
    ranked = sorted(best.values(), reverse=True)[:10]
    options = options_of(source, table)
    found = decode(len(source), options, MODEL_OF_TEXTS, WEIGHTS, n_best=10)
    assert [output.score for output in found] == pytest.approx(ranked)
    assert len({output.target for output in found}) == len(found)
    (one,) = decode(len(source), options, MODEL_OF_TEXTS, WEIGHTS)
    assert one.score == pytest.approx(ranked[0])


@pytest.mark.parametrize("seed", range(4))
def test_a_score_is_the_weighted_sum_of_features(seed: int) -> None:
    chance = random.Random(seed)
    source = [chance.randrange(3) for _ in range(7)]
    for output in decode(7, options_of(source, random_table(chance)), MODEL_OF_TEXTS, WEIGHTS, n_best=20):
        weighted = sum(weight * feature for weight, feature in zip(WEIGHTS, output.features, strict=True))
        assert output.score == pytest.approx(weighted)
        places = sorted(place for begin, end, _ in output.spans for place in range(begin, end))
        assert places == list(range(7))  # each word once
        assert sum(length for *_, length in output.spans) == len(output.target)


@pytest.mark.usefixtures("unpruned")
@pytest.mark.parametrize("seed", range(6))
def test_outputs_begin_with_a_prefix_as_the_best_of_all_that_do(seed: int) -> None:
    chance = random.Random(seed)
    table, source = random_table(chance), [chance.randrange(3) for _ in range(3)]
    outputs = list(all_outputs(source, table))
    begun = chance.choice(outputs)[1][:2]
    best = max(score for score, words in outputs if words[: len(begun)] == begun)
    found = decode(3, options_of(source, table), MODEL_OF_TEXTS, WEIGHTS, 5, begun)
    assert all(output.target[: len(begun)] == begun for output in found)
    assert found[0].score >= best - 1e-9  # a word of it that is written for another one may be better


@pytest.mark.parametrize("prefix", [(9,), (9, 8, 7, 6, 5, 4), (3, 9)])
def test_a_prefix_that_no_phrase_has_is_written(prefix: tuple[int, ...]) -> None:
    source = [0, 1, 2, 1]
    (output,) = decode(4, options_of(source, random_table(random.Random(1))), MODEL_OF_TEXTS, WEIGHTS, prefix=prefix)
    assert output.target[: len(prefix)] == prefix
    covered = sorted(place for begin, end, _ in output.spans for place in range(begin, end))
    assert covered == [0, 1, 2, 3]
