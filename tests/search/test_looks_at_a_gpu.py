"""A beam search on a GPU: the host looks at what has ended every few steps, and finds what it would have found."""

from typing import Any

import pytest
import torch

from fake_cuda import Work, fake_cuda
from transduce.base.devices import to_device
from transduce.models.transformer import TransformerConfig, build_transformer
from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.loop import LOOK_EVERY, Hypothesis, SearchProblem, Step, TakeStep, take_step
from transduce.search.search_settings import limits_for

BOS, EOS = 1, 2
SEARCHES = [
    Beam(size=1, max_extra=14),
    Beam(size=3, n_best=3, max_extra=9),
    DiverseBeam(size=4, groups=2, max_extra=4),
]


def outputs(
    search: Beam | DiverseBeam,
    device: torch.device,
    work: Work | None = None,
    step: TakeStep = take_step,
    seed: int = 4,
) -> tuple[list[list[Hypothesis]], int]:
    """The outputs of sources of several lengths, and the steps that the longest of them took."""
    torch.manual_seed(seed)
    config = TransformerConfig(encoder_layers=1, decoder_layers=2, dim=8, heads=2, feed_forward_dim=7, dropout=0.0)
    model = build_transformer(config, 11, 13).eval()
    model.decoder.output.weight.data.normal_(0, 1.5)  # so that ends come early for some, late for others
    is_real = torch.arange(5) < torch.tensor([[5], [1], [4], [2]])
    source = torch.randint(3, 11, (4, 5))
    limits = limits_for(search, is_real.sum(1), None)
    model.to(device)
    if work is not None:
        work.clear()
    with torch.inference_mode():
        ids, real = to_device([source, is_real], device)
        state = model.start(model.encode(ids, real))
        found = search.find(SearchProblem(model.decoder, state, limits.to(device), BOS, EOS, take_step=step))
    return found, limits.all_must_end


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES)
def test_a_gpu_is_waited_for_once_in_eight_steps_and_outputs_are_those_of_each_step(search: Beam | DiverseBeam) -> None:
    expected, longest = outputs(search, torch.device("cpu"))
    with fake_cuda() as work:
        found, _ = outputs(search, torch.device("cuda", 0), work)
    assert 0 < sum(work.waits.values()) <= -(-longest // LOOK_EVERY), work.waits
    assert [[h.tokens for h in of] for of in found] == [[h.tokens for h in of] for of in expected]
    assert [[h.truncated for h in of] for of in found] == [[h.truncated for h in of] for of in expected]
    assert len({len(of[0].tokens) for of in expected}) > 1
    for ours, theirs in zip(found, expected, strict=True):
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-4)


def test_an_observer_sees_the_same_steps_on_a_gpu() -> None:
    taken: list[int] = []

    def step(*args: Any) -> Step[Any]:
        taken.append(1)
        return take_step(*args)

    def steps_on(device: torch.device) -> int:
        taken.clear()
        outputs(SEARCHES[1], device, step=step, seed=13)  # all sentences end after three steps
        return len(taken)

    on_cpu = steps_on(torch.device("cpu"))
    with fake_cuda():
        assert steps_on(torch.device("cuda", 0)) == on_cpu
