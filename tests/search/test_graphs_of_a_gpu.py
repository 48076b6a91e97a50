"""Steps of a beam on a counterfeit GPU: one graph takes a step, few graphs do for batches of all sizes, and what a GPU
is asked for each step is counted."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from fake_cuda import Work, fake_cuda
from transduce.base.devices import to_device
from transduce.inference.engines.graphs import GraphedSteps
from transduce.models.causal import CausalTransformerConfig
from transduce.models.families import build_model
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig
from transduce.models.transformer_xl import TransformerXLConfig
from transduce.search.beam import Beam
from transduce.search.loop import LOOK_EVERY, Hypothesis, SearchProblem
from transduce.search.rules import NoRepeatNgram, Rule, SuppressTokens
from transduce.search.sampling import Sampling
from transduce.search.search_settings import limits_for

pytestmark = pytest.mark.usefixtures("unchecked_axes")  # other files of this folder check those of the same functions

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
BOS, EOS = 1, 2
SIZES: dict[str, Any] = {"dim": 8, "heads": 2, "feed_forward_dim": 7, "dropout": 0.0}
TRANSFORMER = TransformerConfig(encoder_layers=1, decoder_layers=2, **SIZES)
FAMILIES = {
    "transformer": TRANSFORMER,
    "learned": TransformerConfig(encoder_layers=1, decoder_layers=2, positions="learned", max_positions=57, **SIZES),
    "rotary": TransformerConfig(encoder_layers=1, decoder_layers=1, positions="rotary", first_token=4, **SIZES),
    "zeros": TransformerConfig(encoder_layers=1, decoder_layers=1, decoder_start="zeros", **SIZES),
    "ssru": TransformerConfig(encoder_layers=1, decoder_layers=2, decoder_recurrence="ssru", **SIZES),
    "recurrent": RecurrentConfig(dim=8, encoder_dim=4, decoder_dim=8),
}
LANGUAGE = {
    "causal": CausalTransformerConfig(layers=2, **SIZES),
    "xl": TransformerXLConfig(layers=2, memory=9, **SIZES),
}
MOST_BESIDE, FIRST = 4, 150
"""Launches a step beside the graph, to load sentences and to look at them; those of the first step and of the start."""
LENGTHS = ((5, 1, 4, 2, 3), (3, 5, 2), (6, 6, 1, 2, 4, 3))


def search(
    config: Any,
    settings: Beam | Sampling,
    device: torch.device,
    lengths: tuple[int, ...] = LENGTHS[0],
    graphs: GraphedSteps | None = None,
    rules: tuple[Rule, ...] = (SuppressTokens([0]),),
    work: Work | None = None,
) -> tuple[list[list[Hypothesis]], int]:
    """The outputs of sources of these lengths, and the most steps that they may take."""
    torch.manual_seed(4)
    model = build_model(config, 13, 13).eval()
    model.decoder.output.weight.data.normal_(0, 1.5)  # so that ends come early for some, late for others
    is_real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    source = torch.randint(3, 11, is_real.shape)
    limits = limits_for(settings, is_real.sum(1), model.target_limit)
    model.to(device)
    with torch.inference_mode():
        ids, real = to_device([source, is_real], device)
        if config in LANGUAGE.values():
            ids, real = ids[:, :0], real[:, :0]
        state = model.start(model.encode(ids, real))
        if work is not None:
            work.clear()
        sources = [[number] for number in range(len(lengths))]
        problem = SearchProblem(model.decoder, state, limits.to(device), BOS, EOS, rules, sources)
        if graphs is not None:
            problem = replace(problem, take_step=graphs, runs_ahead=True)
        return settings.find(problem), limits.all_must_end


def assert_same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    assert [[h.tokens for h in of] for of in ours] == [[h.tokens for h in of] for of in theirs]
    assert [[h.truncated for h in of] for of in ours] == [[h.truncated for h in of] for of in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "size"), [*((family, 3) for family in FAMILIES), ("transformer", 1)])
def test_graphs_give_the_outputs_of_a_cpu_by_one_launch_a_step(family: str, size: int) -> None:
    beam = Beam(size=size, n_best=size, max_extra=40)
    expected, _ = search(FAMILIES[family], beam, CPU)
    with fake_cuda() as work:
        graphs = GraphedSteps()
        outputs, longest = search(FAMILIES[family], beam, GPU, graphs=graphs)
        assert_same(outputs, expected)
        outputs, _ = search(FAMILIES[family], beam, GPU, graphs=graphs, work=work)  # with the same graphs
    assert_same(outputs, expected)
    assert len(graphs.made) <= 4
    assert {sizes.tokens for sizes in graphs.made} == {32, 64} or family == "recurrent"  # which ends early
    steps = work.launches["graph"]
    assert 0 < steps <= longest
    assert sum(work.launches.values()) <= (1 + MOST_BESIDE) * steps + FIRST
    assert sum(work.waits.values()) <= -(-longest // LOOK_EVERY)


@pytest.mark.slow
def test_batches_of_all_sizes_share_few_graphs() -> None:
    beam = Beam(size=2, max_extra=9)
    with fake_cuda():
        graphs = GraphedSteps()  # of the first model, of whose weights are all
        for number, lengths in enumerate([*LENGTHS, *LENGTHS]):
            expected, _ = search(TRANSFORMER, beam, CPU, lengths)
            outputs, _ = search(TRANSFORMER, beam, GPU, lengths, graphs)
            assert_same(outputs, expected)
            if number == len(LENGTHS) - 1:
                made = graphs.made
        assert graphs.made and set(graphs.made) == set(made)
        assert {sizes.sentences for sizes in made} <= {1, 2, 4, 8}
        assert {sizes.tokens for sizes in made} == {32}


def test_what_no_graph_can_do_is_done_step_by_step() -> None:
    beam, rules = Beam(size=2, max_extra=5), (SuppressTokens([0]), NoRepeatNgram(2))
    expected, _ = search(TRANSFORMER, beam, CPU, rules=rules)
    with fake_cuda() as work:
        graphs = GraphedSteps()
        outputs, _ = search(TRANSFORMER, beam, GPU, graphs=graphs, rules=rules, work=work)
    assert_same(outputs, expected)
    assert not graphs.made and not work.launches["graph"]


def test_a_gpu_that_makes_no_graph_goes_on_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    beam = Beam(size=2, max_extra=5)
    expected, _ = search(TRANSFORMER, beam, CPU)
    with fake_cuda():
        monkeypatch.setattr(torch.cuda, "graph", fail)
        graphs = GraphedSteps()
        with pytest.warns(UserWarning, match="making one failed: operation not permitted when stream is capturing$"):
            outputs, _ = search(TRANSFORMER, beam, GPU, graphs=graphs)
        assert_same(outputs, expected)
        assert_same(search(TRANSFORMER, beam, GPU, graphs=graphs)[0], expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "settings"),
    [
        *((family, Beam(size=3, max_extra=30)) for family in [*FAMILIES, *LANGUAGE]),
        *((family, Sampling(n_best=3, max_extra=30, seed=3)) for family in ("transformer", "recurrent", "causal")),
    ],
)
def test_a_gpu_is_waited_for_once_in_eight_steps_by_every_family(family: str, settings: Beam | Sampling) -> None:
    config = (FAMILIES | LANGUAGE)[family]
    expected, _ = search(config, settings, CPU)
    with fake_cuda() as work:
        outputs, longest = search(config, settings, GPU, work=work)
    assert_same(outputs, expected)
    assert 0 < sum(work.waits.values()) <= -(-longest // LOOK_EVERY), work.waits


@pytest.mark.slow
def test_keys_and_masks_of_a_gpu_are_written_in_place() -> None:
    long = Beam(size=3, min_ratio=14.0, max_ratio=14.0, max_extra=0)  # all lengths are limits
    with fake_cuda() as work:
        _, longest = search(TRANSFORMER, long, GPU, work=work)
    assert longest == 70
    assert (
        work.launches["cat"] == longest
    )  # of token ids; keys and values were 2 a layer at each growth, masks 1 a step
