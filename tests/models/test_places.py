"""Every family's places: what is recorded and put back changes nothing, and what is changed there has its effect."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from toy_models import CONFIGS, LENGTHS, TIME, at_once, in_chunks, logits_of, make_model, sentences, start, transformer

import transduce
from transduce.analysis.interventions import Recording, intervene, places
from transduce.base.errors import InputError
from transduce.data.batch import SpecialIds, make_batch
from transduce.models.bert import BertConfig
from transduce.models.causal import CausalTransformerConfig
from transduce.models.families import build_model
from transduce.models.heads import ClassHeadConfig, TagHeadConfig
from transduce.models.recurrent.language import RecurrentLanguageConfig
from transduce.models.transformer_encoder import TransformerEncoderConfig
from transduce.models.transformer_xl import TransformerXLConfig
from transduce.models.xlnet import XLNetConfig
from transduce.nn.recording import record_attention
from transduce.objectives.next_token import NextToken
from transduce.search.beam import Beam
from transduce.search.loop import SearchProblem
from transduce.search.search_settings import limits_for
from transduce.training.layers_in_training import recompute_layers

SMALL: dict[str, Any] = {"layers": 2, "dim": 12, "heads": 3, "feed_forward_dim": 17}
LANGUAGE = {
    "causal": CausalTransformerConfig(**SMALL),
    "transformer-xl": TransformerXLConfig(**SMALL, memory=3),
    "xlnet": XLNetConfig(**SMALL, memory=3),
    "lstm": RecurrentLanguageConfig(layers=2, dim=12),
}
READERS = {
    "bert": BertConfig(layers=2, dim=12, heads=3),
    "xlnet": XLNetConfig(**SMALL),
    "encoder": TransformerEncoderConfig(**SMALL),
}


def moved(model: Any) -> Any:
    """The model with weights that are all of its own."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model.eval()


def search(model: Any, source: Tensor, is_real: Tensor, size: int) -> Tensor:
    """The tokens and scores of a beam search, as numbers."""
    with torch.inference_mode():
        limits = limits_for(Beam(size=size), torch.tensor(LENGTHS), 5)
        state = model.start(model.encode(source, is_real))
        found = Beam(size=size).find(
            SearchProblem(model.decoder, state, limits, 1, 2, [], [[3]] * len(source), [], None)
        )
    return torch.tensor([[*h.tokens, h.log_probability] + [-1.0] * (9 - len(h.tokens)) for hs in found for h in hs])


def record(model: Any, run: Callable[[], Tensor], *names: str) -> tuple[Recording, Tensor]:
    with intervene(model) as edit:
        recording = edit.record(*names)
        return recording, run()


def patched(model: Any, run: Callable[[], Tensor], recording: Recording) -> Tensor:
    with intervene(model) as edit:
        for name in recording:
            edit.patch(name, recording)
        return run()


def check_that_nothing_changes(model: Any, forced: Callable[[], Tensor], in_steps: Callable[[], Tensor]) -> None:
    plain, names = forced(), [name for name, place in places(model).items() if place.holds != "last"]
    recording, recorded = record(model, forced, *names)
    assert set(recording) == set(names), "every place is computed"
    assert torch.equal(recorded, plain) and torch.equal(patched(model, forced, recording), plain)
    if len(names) < len(places(model)):  # with states, for which tokens are read one by one
        recording, by_tokens = record(model, forced)
        assert_close(by_tokens, plain, rtol=1e-4, atol=1e-5)
        assert torch.equal(patched(model, forced, recording), by_tokens)
    plain, (recording, recorded) = in_steps(), record(model, in_steps)
    assert torch.equal(recorded, plain) and torch.equal(patched(model, in_steps, recording), plain)


def check_that_each_place_matters(model: Any, run: Callable[[], Tensor]) -> None:
    plain, (recording, _) = run(), record(model, run)
    for name, (visit, *_) in recording.visits.items():
        with intervene(model) as edit:
            edit.add(name, torch.linspace(0.5, 1, visit.value.shape[-1]))
            assert not torch.allclose(run(), plain, atol=1e-4), name


@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_recorded_and_patched_back_changes_nothing(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()

    @torch.no_grad()
    def forced() -> Tensor:
        return at_once(model, source, is_real, target)

    check_that_nothing_changes(model, forced, lambda: search(model, source, is_real, 1))


@pytest.mark.parametrize("name", ["transformer", "transformer, as marian", "bahdanau, concatenated", "luong, fed"])
def test_every_place_matters_also_to_a_beam(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()

    @torch.no_grad()
    def forced() -> Tensor:
        return at_once(model, source, is_real, target)

    check_that_nothing_changes(model, forced, lambda: search(model, source, is_real, 3))
    check_that_each_place_matters(model, forced)


@pytest.mark.parametrize("name", LANGUAGE)
def test_so_do_language_models_with_the_memory_of_the_segment_before(name: str) -> None:
    torch.manual_seed(1)
    model, tokens = moved(build_model(LANGUAGE[name], 13, 13)), torch.randint(13, (3, TIME))

    @torch.no_grad()
    def forced() -> Tensor:
        return logits_of(model, tokens, [4, 3])

    nothing = tokens[:, :0]
    check_that_nothing_changes(model, forced, lambda: search(model, nothing, nothing.bool(), 3))
    check_that_each_place_matters(model, forced)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "head", [TagHeadConfig(labels=("a", "b")), ClassHeadConfig(labels=("a", "b"))], ids=["tags", "class"]
)
@torch.no_grad()
def test_so_do_readers_wherever_their_layers_have_a_token(name: str, head: Any) -> None:
    torch.manual_seed(1)
    model, (tokens, is_real, _) = moved(build_model(READERS[name], 13, 13, head)), sentences()
    segments = (torch.arange(tokens.shape[1]) > 1).long().expand_as(tokens)

    def run() -> Tensor:
        return model(tokens, segments, is_real)

    check_that_nothing_changes(model, run, run)
    if isinstance(head, TagHeadConfig):
        plain = run()
        with intervene(model) as edit:
            edit.zero("encoder.layers.1.after", at=1, rows=[0, 2])
            changed = (run() != plain).any(-1) & is_real
        assert changed.nonzero().tolist() == [[0, 1], [2, 1]]


@torch.no_grad()
def test_a_head_at_its_mean_is_that_of_numpy() -> None:
    model, (source, is_real, target) = make_model(transformer(heads=3)), sentences()
    layer, real = model.encoder.layers[0], is_real.numpy()

    def weights(module: nn.Module) -> tuple[Any, Any]:
        return module.weight.numpy().T, module.bias.numpy()

    recording, _ = record(model, lambda: at_once(model, source, is_real, target))
    name, head = "encoder.layers.0.attention.heads", 1
    with intervene(model) as edit:
        edit.mean(name, recording, heads=head)
        after = edit.record("encoder.layers.0.attention")
        at_once(model, source, is_real, target)
    x = recording["encoder.layers.0.before"].numpy()
    centred = x - x.mean(-1, keepdims=True)
    scale, bias = weights(layer.around_attention.norm)
    normed = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias
    (q, q_bias), (kv, kv_bias), (out, out_bias) = map(
        weights,
        (layer.attention.attention.query, layer.attention.attention.key_value, layer.attention.attention.output),
    )
    query, (keys, values) = normed @ q + q_bias, np.split(normed @ kv + kv_bias, 2, -1)
    heads = [np.split(each, 3, -1) for each in (query, keys, values)]
    contexts = []
    for one_query, one_key, one_value in zip(*heads, strict=True):
        scores = np.where(real[:, None], one_query @ one_key.transpose(0, 2, 1) / 2, -np.inf)  # sqrt(4)
        exp = np.exp(scores - scores.max(-1, keepdims=True))
        contexts.append(exp / exp.sum(-1, keepdims=True) @ one_value)
    contexts[head][:] = contexts[head][real].mean(0)
    expected = np.concatenate(contexts, -1) @ out + out_bias
    assert_close(after["encoder.layers.0.attention"].numpy(), expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_tokens_rows_and_heads_are_chosen_at_once_and_in_steps() -> None:
    model, (source, is_real, target) = make_model(CONFIGS["transformer"]), sentences()
    other = source.roll(1, 0)

    def logits(given: Tensor, steps: list[int]) -> Tensor:
        return in_chunks(model, start(model, given, is_real), target, steps)

    plain, (clean, _) = logits(source, [TIME]), record(model, lambda: logits(other, [TIME]))
    found = []
    for steps in ([TIME], [1] * TIME, [2, 4, 1]):
        with intervene(model) as edit:
            edit.patch("decoder.layers.0.cross_attention.heads", clean, at=[3, 4], heads=[0, 2], rows=1)
            edit.add("decoder.layers.1.after", torch.ones(12), at=4, rows=1)
            found.append(logits(source, steps))
    for logits_in_steps in found:
        assert_close(logits_in_steps, found[0], rtol=1e-4, atol=1e-5)
    are_other = ((found[0] - plain).abs() > 1e-5).any(-1)
    assert not are_other[[0, 2]].any() and are_other[1].tolist() == [False] * 3 + [True] * (TIME - 3)


def test_a_translator_takes_its_plain_path_while_it_is_changed(
    sure_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSDUCE_ENGINE", "auto")
    translator = transduce.load(sure_model)
    texts, search = ["The dog sleeps.", "A cat sees the dog."], transduce.Beam(size=2)
    chosen = translator.bundle.tokenizers.target.encode("Hund")[0]
    logits = torch.zeros(len(translator.bundle.tokenizers.target))
    logits[chosen] = 1e3
    with transduce.intervene(translator) as edit:
        edit.replace("decoder.logits", logits, at=0)
        changed = translator.translate(texts, search=search)
        assert "an intervention" in translator.engine.describe(search)
    assert all(found.text.startswith("Hund") for found in changed)
    assert "an intervention" not in translator.engine.expected()


def test_in_training_gradients_pass_and_layers_that_compute_again_are_changed_alike() -> None:
    gradients = []
    for prepare in (lambda _: None, recompute_layers):
        model = make_model(transformer(dropout=0.0)).train()
        prepare(model)
        batch = make_batch([[3, 4, 5], [6]], [[6, 7], [8, 9, 10]], SpecialIds(0, 2, 0, 1, 2))
        added = torch.zeros(12, requires_grad=True)
        with intervene(model) as edit:
            edit.zero("decoder.layers.1.attention.heads", heads=0)
            edit.add("decoder.layers.0.after", added)
            NextToken()(model, batch, None).total.backward()
        unused = model.decoder.layers[1].attention.attention.output.weight.grad[:, :4]
        assert (unused == 0).all() and added.grad is not None and added.grad.abs().sum() > 0
        gradients.append([added.grad, *(each.grad for each in model.parameters())])
    assert_close(gradients[0], gradients[1])


@torch.no_grad()
def test_attention_is_recorded_inside_and_outside_and_nothing_stays_after_an_error() -> None:
    model, (source, is_real, target) = make_model(CONFIGS["transformer"]), sentences()
    before = {name: dict(vars(module)) for name, module in model.named_modules()}
    maps = []
    for first, second in ((intervene, record_attention), (record_attention, intervene)):
        with first(model) as outer, second(model) as inner:
            edit, tape = (outer, inner) if first is intervene else (inner, outer)
            edit.zero("decoder.layers.0.after")
            at_once(model, source, is_real, target)
        maps.append(tape["decoder.layers.1.cross_attention"][0])
    assert torch.equal(*maps) and (maps[0].diff(dim=2).abs() < 1e-6).all(), "zeros look at the source alike"
    with pytest.raises(RuntimeError, match="on purpose"), intervene(model) as edit:
        edit.zero("decoder.logits")
        raise RuntimeError("on purpose")
    assert before == {name: dict(vars(module)) for name, module in model.named_modules()}


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda edit: edit.zero("decoder.layer.0.after"), "did you mean 'decoder.layers.0.after'"),
        (lambda edit: edit.zero("decoder.layers.0.after", heads=0), "has no heads"),
        (lambda edit: edit.zero("decoder.layers.0.attention.heads", heads=3), "has 3 heads"),
        (lambda edit: edit.zero("decoder.layers.0.after", at=TIME), "was not changed"),
        (lambda edit: edit.zero("decoder.layers.0.after", rows=3), "no such row"),
        (
            lambda edit: edit.replace("decoder.layers.0.after", torch.zeros(5)),
            r"\[5\] does not fit values \[3, 7, 12\]",
        ),
        (lambda edit: edit.patch("decoder.layers.0.after", Recording()), "was not recorded"),
    ],
)
@torch.no_grad()
def test_what_cannot_be_is_one_line(change: Callable[[Any], None], told: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS["transformer"]), sentences()
    with pytest.raises(InputError, match=told), intervene(model) as edit:
        change(edit)
        at_once(model, source, is_real, target)
    with pytest.raises(InputError, match="has no network"):
        places(object())
