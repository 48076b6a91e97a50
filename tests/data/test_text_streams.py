"""Streams of running text: each batch goes on where the last one ended, in every row and part."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.streams import StreamData
from transduce.data.text_store import TextStore
from transduce.data.windows import WindowsConfig


def data_of(length: int, window: int, target_tokens: int) -> StreamData:
    store = TextStore(np.arange(length, dtype=np.uint16), words=length, characters=length)
    return StreamData(store, WindowsConfig(window=window, target_tokens=target_tokens))


@given(st.integers(2, 90), st.integers(1, 40), st.integers(1, 100), st.integers(1, 4))
def test_each_segment_follows_its_streams_last_and_all_is_read_once(
    length: int, window: int, target_tokens: int, parts: int
) -> None:
    data = data_of(length, window, target_tokens)
    last: dict[int, int] = {}
    read: list[int] = []
    for step, pairs in enumerate(data.plan(0)):
        for part in data.split(pairs, parts):
            batch = data.batch(part)
            assert batch.stream is not None
            assert batch.stream.begins == (step == 0) == (batch.stream.first not in last)
            assert (batch.target_out == batch.target_in + 1).all()
            if step:
                assert int(batch.target_in[0, 0]) == last[batch.stream.first] + 1
            last[batch.stream.first] = int(batch.target_in[0, -1])
            read += batch.target_in.flatten().tolist()
    assert len(set(read)) == len(read) == data.streams * data.length
    assert length - 1 - len(read) < data.streams


@given(st.integers(2, 90), st.integers(1, 40), st.integers(1, 100), st.integers(1, 4))
def test_no_part_is_larger_than_the_largest(length: int, window: int, target_tokens: int, parts: int) -> None:
    data = data_of(length, window, target_tokens)
    sizes = [data.batch(part).target_in.shape for pairs in data.plan(0) for part in data.split(pairs, parts)]
    largest = [data.batch(part).target_in.shape for part in data.largest(parts).parts]
    assert max(rows for rows, _ in largest) == max(rows for rows, _ in sizes)
    assert max(time for _, time in largest) == max(time for _, time in sizes)
