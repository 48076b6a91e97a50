"""Streams of running text: each batch goes on where the last one ended, in every row and part."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.streams import Streams
from transduce.data.text_store import TextStore
from transduce.data.windows import WindowsConfig


def data_of(length: int, window: int, target_tokens: int, bidirectional: bool = False) -> Streams:
    store = TextStore(np.arange(length, dtype=np.uint16), words=length, characters=length)
    return Streams(store, WindowsConfig(window, target_tokens, bidirectional))


@given(st.integers(2, 90), st.integers(1, 40), st.integers(1, 100), st.integers(1, 4))
def test_each_segment_follows_its_streams_last_and_all_is_read_once(
    length: int, window: int, target_tokens: int, parts: int
) -> None:
    data = data_of(length, window, target_tokens)
    planned = data.planned().epoch(0)
    last: dict[int, int] = {}
    read: list[int] = []
    for step, pairs in enumerate(planned.batches):
        for part in planned.split(pairs, parts):
            batch = planned.make(part)
            assert batch.stream is not None
            assert batch.stream.begins == (step == 0) == (batch.stream.first not in last)
            assert (batch.target_out == batch.target_in + 1).all()
            if step:
                assert int(batch.target_in[0, 0]) == last[batch.stream.first] + 1
            last[batch.stream.first] = int(batch.target_in[0, -1])
            read += batch.target_in.flatten().tolist()
    assert len(set(read)) == len(read) == data.streams * data.length
    assert length - 1 - len(read) < data.streams


@given(st.integers(2, 90), st.integers(1, 40), st.integers(2, 7), st.integers(1, 4))
def test_half_of_bidirectional_streams_are_the_reversed_text_of_the_others(
    length: int, window: int, windows: int, parts: int
) -> None:
    data = data_of(length, window, windows * window, bidirectional=True)
    planned, half = data.planned().epoch(0), data.streams // 2
    assert data.streams == 2 * half <= windows
    read: list[list[int]] = [[] for _ in range(data.streams)]
    for step, pairs in enumerate(planned.batches):
        for part in planned.split(pairs, parts):
            batch = planned.make(part)
            assert batch.stream is not None and batch.stream.is_backward is not None
            for row, stream in enumerate(range(batch.stream.first, batch.stream.first + len(part))):
                assert bool(batch.stream.is_backward[row]) == (stream >= half)
                known, following = batch.target_in[row].tolist(), batch.target_out[row].tolist()
                if step:
                    assert read[stream].pop() == known[0]
                assert known[1:] == following[:-1]
                read[stream] += [*known, following[-1]]
    for stream in range(half):
        first = stream * data.length
        assert read[stream] == list(range(first, first + data.length + 1))
        assert read[stream + half] == read[stream][::-1]


@given(st.integers(2, 90), st.integers(1, 40), st.integers(1, 100), st.integers(1, 4), st.booleans())
def test_no_part_is_larger_than_the_largest(
    length: int, window: int, target_tokens: int, parts: int, bidirectional: bool
) -> None:
    tokens = max(target_tokens, 2 * window) if bidirectional else target_tokens
    data = data_of(length, window, tokens, bidirectional).planned()
    first = data.epoch(0)
    sizes = [first.make(part).target_in.shape for pairs in first.batches for part in first.split(pairs, parts)]
    largest = [first.make(part).target_in.shape for part in data.largest(parts).parts]
    assert max(rows for rows, _ in largest) == max(rows for rows, _ in sizes)
    assert max(time for _, time in largest) == max(time for _, time in sizes)
