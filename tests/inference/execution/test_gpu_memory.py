"""Batches of a search by a GPU's free memory: the formula, and what happens when it was wrong."""

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from fake_cuda import fake_cuda
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.batched_search import TOKENS_AT_ONCE
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.execution.gpu_memory import ACTIVATIONS, LOGITS, STATES, SearchMemory
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.search.sampling import Sampling
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizers

CPU, GPU, VOCABULARY = torch.device("cpu"), torch.device("cuda", 0), 17
SIZES: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 3, "dim": 10, "heads": 2, "feed_forward_dim": 7}


@pytest.mark.parametrize(
    ("config", "source_token", "target_token", "hypothesis"),
    [
        (TransformerConfig(**SIZES), 3 * 2 * 10 * 4 + 1, 3 * 2 * 10 * 4, 0),
        (TransformerConfig(**SIZES, kv_heads=1), 3 * 2 * 5 * 4 + 1, 3 * 2 * 5 * 4, 0),
        (TransformerConfig(**SIZES, decoder_recurrence="ssru"), 3 * 2 * 10 * 4 + 1, 0, 3 * 10 * 4),
        (RecurrentConfig(dim=6, encoder_dim=4, decoder_dim=7), (256 + 8) * 4 + 1, 0, 7 * 4),
    ],
)
def test_the_formula_counts_the_states_of_each_family(
    config: Any, source_token: int, target_token: int, hypothesis: int
) -> None:
    memory = SearchMemory.of(build_model(config, 11, VOCABULARY).eval(), CPU)
    assert (memory.source_token, memory.target_token) == (source_token, target_token)
    assert memory.hypothesis == hypothesis
    assert memory.logits == 4 * VOCABULARY
    state = 20 * source_token + 4 * (70 * target_token + hypothesis)
    needed = STATES * state + LOGITS * 4 * 4 * VOCABULARY + ACTIVATIONS * 20 * memory.width
    assert memory.needed(3, 20, 70, rows=4) == 3 * needed


def untrained(device: torch.device) -> ModelBundle:
    config = TokenizerConfig(kind="bytes")
    tokenizers = train_tokenizers(config, [], [])
    torch.manual_seed(5)
    sizes = TransformerConfig(**SIZES)
    model = build_model(sizes, len(tokenizers.source), len(tokenizers.target)).eval().to(device)
    bundle = BundleConfig(format=1, source="en", target="de", model=sizes, tokenizer=config, longest_source=40)
    return ModelBundle(bundle, model, tokenizers)


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of sentences searched at once."""
    sizes: list[int] = []
    usual = PyTorchEngine.search

    def search(engine: PyTorchEngine, pieces: Sequence[Any], *others: Any) -> Any:
        sizes.append(len(pieces))
        if len(pieces) > MOST["sentences"]:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return usual(engine, pieces, *others)

    monkeypatch.setattr(PyTorchEngine, "search", search)
    return sizes


MOST = {"sentences": 1000}
"""The most sentences that there is memory for."""
LINES = ["The dog sleeps.", "A cat.", "The old man buys a red car."] * 7
SHORT = Beam(max_ratio=0.0, max_extra=4)


def test_a_gpu_takes_what_fits_into_free_memory_and_a_cpu_as_many_tokens_as_ever(
    searched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [each.text for each in Translator(untrained(CPU)).translate(LINES, SHORT)]
    with fake_cuda():
        translator = Translator(untrained(GPU))
        engine = translator.engine
        assert isinstance(engine, PyTorchEngine)
        searched.clear()
        assert [each.text for each in translator.translate(LINES, SHORT)] == expected
        assert searched == [len(LINES)]  # of 60 GiB
        memory = SearchMemory.of(engine.model, GPU)
        of_five = memory.needed(5, 9, 4, SHORT.rows)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (int(of_five / 0.8) + 1, 2**36))
        batches = engine.batches([9] * 12, SHORT)
        assert batches is not None and [len(batch) for batch in batches] == [5, 5, 2]
        more = engine.batches([9] * 12, Sampling(n_best=1, max_ratio=0.0, max_extra=4))
        assert more is not None and len(more[0]) > 5
    assert PyTorchEngine(untrained(CPU)).batches([9] * 12, SHORT) is None
    assert TOKENS_AT_ONCE == 6144


def test_what_does_not_fit_is_halved_and_told_once(searched: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator(untrained(CPU))
    expected = translator.translate(LINES, SHORT)
    searched.clear()
    monkeypatch.setitem(MOST, "sentences", 6)
    with pytest.warns(UserWarning, match="no memory for 21 sentences at once; halving") as told:
        assert [each.text for each in translator.translate(LINES, SHORT)] == [each.text for each in expected]
    assert len(told) == 1
    assert [size for size in searched if size > 6] == [21, 10]
    searched.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translator.translate(LINES, SHORT)
    assert max(searched) <= 6  # it remembers
    monkeypatch.setitem(MOST, "sentences", 0)
    with pytest.raises(torch.OutOfMemoryError):
        translator.translate(LINES[:1], SHORT)
