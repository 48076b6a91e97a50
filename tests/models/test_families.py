"""The promises that every family owes, for every kind of attention."""

import random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from toy_models import (
    CONFIGS,
    LENGTHS,
    SOURCE_VOCABULARY,
    TARGET_VOCABULARY,
    TIME,
    at_once,
    in_chunks,
    make_model,
    sentences,
    start,
)

from transduce.data.batch import SpecialIds, make_batch
from transduce.models.families import ModelConfig, build_model
from transduce.models.recurrent.recurrent_attention import (
    BahdanauAttentionConfig,
    HardAttentionConfig,
    LocalAttentionConfig,
    LuongAttentionConfig,
    NoAttentionConfig,
)
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig
from transduce.nn.recording import record_attention
from transduce.objectives.next_token import NextToken
from transduce.search.beam import Beam
from transduce.search.loop import SearchProblem
from transduce.search.rules import SuppressTokens
from transduce.search.search_settings import limits_for

EVERY_CONFIG = pytest.mark.parametrize("name", CONFIGS)
TRANSFORMING = {
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dim": 32,
    "heads": 4,
    "feed_forward_dim": 64,
    "dropout": 0.0,
    "tie": "none",
}
RECURRING = {"dim": 24, "encoder_dim": 24, "decoder_dim": 48, "dropout": 0.0, "tie": "none"}


@EVERY_CONFIG
@pytest.mark.parametrize("rows", [1, 2])
@torch.no_grad()
def test_in_steps_and_in_chunks_equal_at_once(name: str, rows: int) -> None:
    model, (source, is_real, _) = make_model(CONFIGS[name]), sentences()
    target = torch.randint(0, TARGET_VOCABULARY, (len(LENGTHS) * rows, TIME))
    together = in_chunks(model, start(model, source, is_real).expand(rows), target, [TIME])
    for sizes in ([1] * TIME, [2, 4, 1], [1, 6], [5, 2]):
        assert_close(
            in_chunks(model, start(model, source, is_real).expand(rows), target, sizes), together, rtol=1e-4, atol=1e-5
        )


@EVERY_CONFIG
@torch.no_grad()
def test_source_padding_changes_nothing(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()
    expected = at_once(model, source, is_real, target)
    other = torch.where(is_real, source, (source + 1) % SOURCE_VOCABULARY)
    assert_close(at_once(model, other, is_real, target), expected, rtol=1e-4, atol=1e-5)
    longer = torch.cat([source, torch.full((len(LENGTHS), 4), 3)], 1)
    longer_is_real = torch.cat([is_real, torch.zeros(len(LENGTHS), 4, dtype=torch.bool)], 1)
    assert_close(at_once(model, longer, longer_is_real, target), expected, rtol=1e-4, atol=1e-5)


@EVERY_CONFIG
@torch.no_grad()
def test_batched_equals_one_by_one(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()
    together = at_once(model, source, is_real, target)
    for row, length in enumerate(LENGTHS):
        one = slice(row, row + 1)
        alone = at_once(model, source[one, :length], is_real[one, :length], target[one])
        assert_close(together[one], alone, rtol=1e-4, atol=1e-5)


@EVERY_CONFIG
@torch.no_grad()
def test_the_future_changes_nothing_and_the_past_does(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()
    expected = at_once(model, source, is_real, target)
    reads_first = getattr(CONFIGS[name], "decoder_start", "token") == "token"
    for time in range(0 if reads_first else 1, TIME):
        changed = target.clone()
        changed[:, time] = (changed[:, time] + 1) % TARGET_VOCABULARY
        logits = at_once(model, source, is_real, changed)
        assert_close(logits[:, :time], expected[:, :time], rtol=1e-4, atol=1e-5)
        assert ((logits[:, time:] - expected[:, time:]).abs().amax(-1) > 1e-4).all()


@pytest.mark.slow
@EVERY_CONFIG
@torch.no_grad()
def test_every_real_source_token_matters_to_its_own_sentence_alone(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()
    expected = at_once(model, source, is_real, target)
    for row, length in enumerate(LENGTHS):
        for time in range(length):
            changed = source.clone()
            changed[row, time] = (changed[row, time] + 1) % SOURCE_VOCABULARY
            difference = (at_once(model, changed, is_real, target) - expected).abs().amax((1, 2))
            assert (difference > 1e-4).tolist() == [other == row for other in range(len(LENGTHS))]


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "transformer, no positions"])
@torch.no_grad()
def test_the_order_of_tokens_matters(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()
    swapped = source[:, [1, 0, *range(2, max(LENGTHS))]]
    assert (swapped != source).any(1).all()
    difference = at_once(model, swapped, is_real, target) - at_once(model, source, is_real, target)
    assert (difference.abs().amax((1, 2)) > 1e-4).all()


@pytest.mark.slow
@EVERY_CONFIG
@settings(max_examples=5, deadline=None)
@given(data=st.data())
@torch.no_grad()
def test_rows_go_on_as_if_alone_however_expanded_reordered_and_selected(name: str, data: st.DataObject) -> None:
    """Four decoder calls with the state's three operations between them, against one call a row with its history."""
    model, (source, is_real, _) = make_model(CONFIGS[name]), sentences(data.draw(st.integers(0, 99)))
    rows = data.draw(st.integers(1, 3))
    histories: list[tuple[int, list[int]]] = [(sentence, []) for sentence in range(len(LENGTHS))]
    state = start(model, source, is_real)
    logits = torch.empty(0)

    def read(count: int) -> None:
        nonlocal state, logits
        tokens = torch.randint(0, TARGET_VOCABULARY, (len(histories), count))
        for (_, history), new in zip(histories, tokens.tolist(), strict=True):
            history += new
        logits, state = model.decoder(tokens, state)

    read(2)
    state = state.expand(rows)
    histories = [(sentence, list(history)) for sentence, history in histories for _ in range(rows)]
    read(1)
    order = [
        sentence * rows + data.draw(st.integers(0, rows - 1)) for sentence in range(len(LENGTHS)) for _ in range(rows)
    ]
    state = state.reorder(torch.tensor(order))
    histories = [(histories[row][0], list(histories[row][1])) for row in order]
    read(1)
    chosen = data.draw(st.permutations(range(len(LENGTHS))))[: data.draw(st.integers(1, len(LENGTHS)))]
    state = state.select(torch.tensor(chosen))
    histories = [histories[sentence * rows + row] for sentence in chosen for row in range(rows)]
    read(3)
    for row, (sentence, history) in enumerate(histories):
        one = slice(sentence, sentence + 1)
        alone = at_once(model, source[one], is_real[one], torch.tensor([history]))
        assert_close(logits[row], alone[0, -3:], rtol=1e-4, atol=1e-5)


@EVERY_CONFIG
@torch.no_grad()
def test_recorded_equals_plain_and_no_weight_is_on_padding(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()
    plain = at_once(model, source, is_real, target)
    with record_attention(model) as tape:
        recorded = at_once(model, source, is_real, target)
    assert_close(recorded, plain, rtol=1e-4, atol=1e-5)
    assert_close(at_once(model, source, is_real, target), plain, rtol=0, atol=0)
    assert bool(tape) == ("thought" not in name)
    for calls in tape.values():
        weights = torch.cat(calls, 2)
        if weights.shape[2:] == (TIME, max(LENGTHS)):
            assert (weights.masked_fill(is_real[:, None, None], 0) == 0).all()
            assert (weights.sum(-1) > 0).all()


LEARNERS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(**TRANSFORMING),
    "transformer, rotary": TransformerConfig(**TRANSFORMING, positions="rotary", activation="geglu", norm="post"),
    "thought": RecurrentConfig(**RECURRING, attention=NoAttentionConfig(thought="every_step")),
    "bahdanau": RecurrentConfig(**RECURRING, attention=BahdanauAttentionConfig(score_dim=32)),
    "luong, fed": RecurrentConfig(
        **RECURRING, attention=LuongAttentionConfig(score="dot", input_feeding=True), cell="lstm"
    ),
    "local": RecurrentConfig(**RECURRING, attention=LocalAttentionConfig(window=3)),
    "hard": RecurrentConfig(**RECURRING, attention=HardAttentionConfig(gradient="straight_through")),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in ("local", "hard") else pytest.param(name, marks=pytest.mark.slow) for name in LEARNERS]
)
@pytest.mark.usefixtures("unchecked_axes")
def test_it_learns_to_reverse_a_string(name: str) -> None:
    torch.manual_seed(4)
    generator = random.Random(5)
    begin, end, letters = 1, 2, range(3, 9)
    special = SpecialIds(0, end, 0, begin, end)
    strings = [tuple(generator.choices(letters, k=generator.randint(3, 6))) for _ in range(30_000)]
    unseen = set(strings[:150])
    seen = [string for string in strings if string not in unseen]
    model: Any = build_model(LEARNERS[name], 9, 9)
    updates, rate = (500, 4e-3) if name.startswith("transformer") else (300, 1.5e-2)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=updates)
    for update in range(updates):
        sources = seen[update * 40 : (update + 1) * 40]
        loss = NextToken()(model, make_batch(sources, [string[::-1] for string in sources], special), None)
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()
        optimizer.step()
        schedule.step()
    model.eval()
    sources = sorted(unseen)
    batch = make_batch(sources, sources, special)
    beam = Beam(size=1)
    limits = limits_for(beam, batch.source_is_real.sum(1), model.target_limit)
    state = start(model, batch.source, batch.source_is_real)
    found = beam.find(SearchProblem(model.decoder, state, limits, begin, end, [SuppressTokens([0, begin])]))
    right = sum(best.tokens == list(string[::-1]) for string, (best, *_) in zip(sources, found, strict=True))
    assert right >= 0.95 * len(sources)
