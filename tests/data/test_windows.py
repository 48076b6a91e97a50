"""Windows of running text: every token is seen, and an epoch is a function of seed and epoch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.base.errors import DataError
from transduce.corpora.corpus import TextCorpus
from transduce.data.text_store import TextStore, open_text_store
from transduce.data.windows import Windows, WindowsConfig, windows_in_order
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

LINES = ["to be or not", "", "to be", "that is  the question"]


def store_of(length: int) -> TextStore:
    return TextStore(np.arange(length, dtype=np.uint16), words=length, characters=length)


@given(st.integers(2, 90), st.integers(1, 40), st.integers(1, 100), st.integers(0, 5))
def test_windows_of_an_epoch_do_not_overlap_and_leave_out_less_than_two(
    length: int, window: int, target_tokens: int, epoch: int
) -> None:
    windows = Windows(store_of(length), WindowsConfig(window=window, target_tokens=target_tokens), seed=3)
    planned = windows.planned().epoch(epoch)
    plan = planned.batches
    read = np.concatenate([planned.make(starts).target_in.flatten().numpy() for starts in plan])
    assert len(set(read.tolist())) == len(read) >= length - 1 - 2 * (windows.window - 1) - 1
    assert all(planned.tokens(starts) <= max(target_tokens, windows.window) for starts in plan)
    assert all((a == b).all() for a, b in zip(plan, windows.planned().epoch(epoch).batches, strict=True))


@given(st.integers(2, 90), st.integers(1, 40), st.integers(1, 100))
def test_in_order_each_token_but_the_first_is_predicted_once(length: int, window: int, target_tokens: int) -> None:
    config = WindowsConfig(window=window, target_tokens=target_tokens)
    predicted = [batch.target_out.flatten().tolist() for batch in windows_in_order(store_of(length), config)]
    assert [token for batch in predicted for token in batch] == list(range(1, length))


def test_what_is_predicted_is_what_follows_and_epochs_differ() -> None:
    data = Windows(store_of(200), WindowsConfig(window=7, target_tokens=21), seed=3).planned()
    batch = data.epoch(0).make(data.epoch(0).batches[0])
    assert (batch.target_out == batch.target_in + 1).all()
    assert batch.source.shape == (3, 0)
    starts = [np.concatenate(data.epoch(epoch).batches).tolist() for epoch in (0, 1)]
    assert starts[0] != starts[1]


def corpus(lines: list[str]) -> TextCorpus:
    return TextCorpus("lines", lambda: iter(lines), lambda: repr(lines))


@pytest.mark.parametrize("kind", ["characters", "bytes", "words"])
def test_a_text_becomes_the_ids_of_its_lines_each_with_its_end(tmp_path, kind):
    tokenizer = train_tokenizer(SideConfig(kind=kind, min_frequency=1), LINES)
    store = open_text_store(corpus(LINES), tokenizer, tmp_path)
    expected = [token for line in LINES for token in [*tokenizer.encode(line), tokenizer.eos]]
    assert store.ids.tolist() == expected
    first = {"characters": (0, 1), "bytes": (0, 1), "words": (1, len(LINES[0].split()[0]))}[kind]  # is not predicted
    assert store.words == 4 + 0 + 2 + 4 + 4 - first[0]
    assert store.characters == sum(len(line) + 1 for line in LINES) - first[1]


def test_a_damaged_store_is_built_anew(tmp_path):
    tokenizer = train_tokenizer(SideConfig(kind="characters", min_frequency=1), LINES)
    before = open_text_store(corpus(LINES), tokenizer, tmp_path).ids.tolist()
    (file,) = tmp_path.rglob("text.ids")
    file.write_bytes(b"\0" * file.stat().st_size)
    assert open_text_store(corpus(LINES), tokenizer, tmp_path).ids.tolist() == before


def test_text_that_is_none_or_unknown_is_reported(tmp_path):
    tokenizer = train_tokenizer(SideConfig(kind="words", min_frequency=1), LINES)
    with pytest.raises(DataError, match="lines: there is no text"):
        open_text_store(corpus([]), tokenizer, tmp_path)
    with pytest.raises(DataError, match=r"lines: 75% of the tokens are unknown"):
        open_text_store(corpus(["entirely other words"]), tokenizer, tmp_path)
