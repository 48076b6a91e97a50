import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from transduce.nn.attention import KeysValues
from transduce.nn.cache import Cache

ROWS, HEADS, KEY_DIM, VALUE_DIM = 3, 2, 5, 7


def random(rows: int, time: int) -> KeysValues:
    return KeysValues(torch.randn(rows, HEADS, time, KEY_DIM), torch.randn(rows, HEADS, time, VALUE_DIM))


@pytest.mark.parametrize("with_gradients", [False, True])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_it_keeps_what_joining_and_selecting_keep(with_gradients: bool, data: st.DataObject) -> None:
    with torch.set_grad_enabled(with_gradients):
        joined = random(ROWS, 0)
        cache = Cache(joined, 0)
        for _ in range(6):
            new = random(len(joined.keys), data.draw(st.integers(1, 9)))
            joined, cache = joined.append(new), cache.append(new)
            if data.draw(st.booleans()):
                rows = torch.tensor(data.draw(st.lists(st.integers(0, len(joined.keys) - 1), min_size=1, max_size=5)))
                joined, cache = joined.select(rows), cache.select(rows)
            assert cache.length == joined.keys.shape[2]
            assert_close(cache.known.keys, joined.keys, rtol=0, atol=0)
            assert_close(cache.known.values, joined.values, rtol=0, atol=0)


@torch.no_grad()
def test_most_steps_copy_nothing() -> None:
    cache = Cache(random(ROWS, 0), 0)
    places = set()
    for _ in range(100):
        cache = cache.append(random(ROWS, 1))
        places.add(cache.buffer.keys.data_ptr())
    assert len(places) < 8


def test_gradients_flow_to_every_position() -> None:
    parts = [random(ROWS, 1) for _ in range(4)]
    cache = Cache(random(ROWS, 0), 0)
    for part in parts:
        cache = cache.append(KeysValues(part.keys.requires_grad_(), part.values))
    cache.known.keys.sum().backward()
    for part in parts:
        assert part.keys.grad is not None
        assert_close(part.keys.grad, torch.ones_like(part.keys))
