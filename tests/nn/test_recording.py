import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from transduce.nn.attention import MultiHeadAttention, fast_attention
from transduce.nn.initialization import Initialization
from transduce.nn.recording import record_attention


class TwoAttentions(nn.Module):
    """One attention after the other, of different shapes."""

    def __init__(self) -> None:
        super().__init__()
        initialization = Initialization("xavier", 1)
        self.first = MultiHeadAttention(7, 2, 3, 5, 0.0, initialization)
        self.second = MultiHeadAttention(7, 3, 2, 4, 0.0, initialization)

    def forward(self, hidden: Tensor, may_attend: Tensor | None) -> Tensor:
        for attention in (self.first, self.second):
            hidden = attention(attention.queries(hidden), attention.project(hidden), may_attend)
        return hidden


def kernels(model: TwoAttentions) -> list[object]:
    return [model.first.kernel, model.second.kernel]


def test_a_recorded_pass_gives_what_a_plain_one_gives() -> None:
    torch.manual_seed(1)
    model, hidden = TwoAttentions(), torch.randn(2, 5, 7)
    may_attend = torch.ones(5, 5, dtype=torch.bool).tril()[None, None]
    plain = model(hidden, may_attend)
    with record_attention(model) as tape:
        recorded = model(hidden, may_attend)
    assert_close(recorded, plain)
    assert {name: [weights.shape for weights in calls] for name, calls in tape.items()} == {
        "first": [(2, 2, 5, 5)],
        "second": [(2, 3, 5, 5)],
    }
    for (weights,) in tape.values():
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert (weights.triu(1) == 0).all()


def test_the_tape_has_one_entry_a_call_and_holds_no_graph() -> None:
    model = TwoAttentions()
    with record_attention(model) as tape:
        model(torch.randn(2, 5, 7), None)
        model(torch.randn(3, 4, 7), None)
    assert [weights.shape[-1] for weights in tape["second"]] == [5, 4]
    assert not any(weights.requires_grad for calls in tape.values() for weights in calls)


def test_kernels_come_back_also_after_an_error() -> None:
    model = TwoAttentions()
    with record_attention(model):
        assert fast_attention not in kernels(model)
    assert kernels(model) == [fast_attention, fast_attention]
    with pytest.raises(RuntimeError, match="on purpose"), record_attention(model):
        raise RuntimeError("on purpose")
    assert kernels(model) == [fast_attention, fast_attention]


def test_weights_are_written_on_the_tape_before_dropout() -> None:
    torch.manual_seed(2)
    attention = MultiHeadAttention(7, 2, 3, 5, 0.5, Initialization("xavier", 1)).train()
    hidden = torch.randn(2, 5, 7)
    with record_attention(attention) as tape:
        attention(attention.queries(hidden), attention.project(hidden), None)
    assert_close(tape[""][0].sum(-1), torch.ones(2, 2, 5))
