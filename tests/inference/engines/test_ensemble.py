"""Ensembles: the mean of probabilities, through the same searches."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

import transduce
from transduce.base.errors import InputError
from transduce.inference.engines.ensemble import Ensemble
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.search.beam import Beam
from transduce.search.sampling import Sampling
from transduce.text.tokenizer import Tokenizers

TEXTS = ["The dog sleeps.", "The old man buys a red car."]
SEARCHES = [Beam(size=3, n_best=2, max_extra=9, max_ratio=1), Sampling(max_extra=9, max_ratio=1)]


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    return transduce.load(tiny_run)


@pytest.fixture(scope="module")
def other(translator: Translator) -> Translator:
    """A model of the same vocabularies with other weights and sizes."""
    torch.manual_seed(5)
    bundle = translator.bundle
    config = replace_dim(bundle.config.model)
    sizes = len(bundle.tokenizers.source), len(bundle.tokenizers.target)
    return Translator(replace(bundle, model=build_model(config, *sizes).eval()))


def replace_dim(config: object) -> object:
    import msgspec

    return msgspec.structs.replace(config, dim=15)


@pytest.mark.parametrize("search", SEARCHES, ids=["beam", "sampling"])
def test_a_model_with_itself_is_the_model(translator: Translator, tiny_run: Path, search: Beam | Sampling) -> None:
    twice = transduce.load(tiny_run, tiny_run)
    for one, both in zip(translator.translate(TEXTS, search), twice.translate(TEXTS, search), strict=True):
        assert [c.text for c in one.n_best] == [c.text for c in both.n_best]
        assert [c.score for c in one.n_best] == pytest.approx([c.score for c in both.n_best], abs=1e-4)


@torch.inference_mode()
def test_probabilities_are_the_mean_at_once_and_in_steps(translator: Translator, other: Translator) -> None:
    models = [translator.engine.model, other.engine.model]
    ensemble = Ensemble(models)
    source, target = torch.tensor([[5, 7, 6], [4, 8, 3]]), torch.tensor([[2, 5, 6, 7], [2, 7, 4, 9]])
    is_real = torch.tensor([[True] * 3, [True, True, False]])
    logits, _ = ensemble.decoder(target, ensemble.start(ensemble.encode(source, is_real)))
    each = [model.decoder(target, model.start(model.encode(source, is_real)))[0].softmax(-1) for model in models]
    assert_close(logits.exp(), (each[0] + each[1]) / 2)
    state = ensemble.start(ensemble.encode(source, is_real)).expand(2).reorder(torch.tensor([1, 0, 2, 3]))
    state = state.select(torch.tensor([1]))
    for step in range(4):
        in_steps, state = ensemble.decoder(target[[1, 1], step : step + 1], state)
        assert_close(in_steps[:, 0], logits[[1, 1], step], rtol=1e-4, atol=1e-4)


def test_models_of_other_tokenizers_are_refused(translator: Translator) -> None:
    bundle = translator.bundle
    for side, tokenizers in (
        ("source", Tokenizers(bundle.tokenizers.target, bundle.tokenizers.target)),
        ("target", Tokenizers(bundle.tokenizers.source, bundle.tokenizers.source)),
    ):
        with pytest.raises(InputError, match=f"model 2 of the ensemble has another {side} tokenizer"):
            Translator(bundle, replace(bundle, tokenizers=tokenizers))
