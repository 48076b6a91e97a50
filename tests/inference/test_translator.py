"""N lines in, N lines out, in order, whatever the lines hold."""

import re
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import transduce
from transduce.analysis.alignment import AlignmentHead
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference import details
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.search.sampling import Sampling
from transduce.text.long_texts import split_text
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizers

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

STRANGE = [
    "",
    "   ",
    "\t",
    "a\tb",
    "one\u2028two",
    "🙂 🙃",
    "שלום עולם",
    "ﬀ",
    "\x0c",
    "<unk>",
    "The dog sleeps.",
    "\u200b",
]


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    return transduce.load(tiny_run)


def test_strange_lines_come_back_one_for_one_and_blank_ones_blank(translator: Translator) -> None:
    translations = translator.translate(STRANGE)
    assert len(translations) == len(STRANGE)
    for text, translation in zip(STRANGE, translations, strict=True):
        assert "\n" not in translation.text
        assert "<unk>" not in translation.text
        if not text.strip():
            assert translation.text == ""


def test_batched_equals_one_by_one(translator: Translator, corpus: Path) -> None:
    texts = (corpus / "test.en").read_text().splitlines()
    for search in (Beam(size=1, max_extra=9, max_ratio=1), Beam(size=3, n_best=2, max_extra=9, max_ratio=1)):
        together = translator.translate(texts, search)
        alone = [translator.translate([text], search)[0] for text in texts]
        assert [t.text for t in together] == [t.text for t in alone]
        for first, second in zip(together, alone, strict=True):
            for a, b in zip(first.n_best, second.n_best, strict=True):
                assert a.score == pytest.approx(b.score, abs=1e-4)


def test_a_line_longer_than_training_is_split_and_flagged(translator: Translator) -> None:
    long = " ".join(["The old man buys a red car."] * 30)
    (translation,) = translator.translate([long], Beam(size=1))
    assert translation.was_split
    assert translation.text


def test_ten_thousand_words_are_one_line(translator: Translator) -> None:
    translations = translator.translate(["dog " * 10_000, "x" * 3_000], Beam(size=1, max_extra=0, max_ratio=1))
    assert len(translations) == 2


def test_an_output_at_its_longest_is_flagged(translator: Translator) -> None:
    (translation,) = translator.translate(["The dog sleeps."], Beam(size=1, max_ratio=0, max_extra=2))
    assert translation.truncated


def test_n_best_are_sorted_and_begin_with_the_translation(translator: Translator) -> None:
    (translation,) = translator.translate(["The dog sleeps."], Beam(size=4, n_best=3))
    scores = [candidate.score for candidate in translation.n_best]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert translation.text == translation.n_best[0].text


def test_a_stream_holds_a_bounded_number_of_lines(translator: Translator) -> None:
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for _ in range(50):
            read += 1
            yield "The dog sleeps."

    stream = translator.stream(lines(), Beam(size=1, max_extra=1, max_ratio=1), lines_at_once=7)
    for done, _ in enumerate(stream, 1):
        assert read - done < 7


def test_memory_does_not_grow_with_the_input(translator: Translator) -> None:
    def peak(lines: int) -> int:
        tracemalloc.start()
        for _ in translator.stream(("The dog." for _ in range(lines)), Beam(size=1, max_extra=1, max_ratio=0), 50):
            pass
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    peak(50)
    assert peak(1000) < peak(100) + 100_000  # 900 more translations would take several times as much


def test_a_model_in_bfloat16_translates(translator: Translator, tiny_run: Path) -> None:
    other = transduce.load(tiny_run)
    other.bundle.model.to(torch.bfloat16)
    assert len(other.translate(["The dog sleeps."])) == 1


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=80), st.integers(1, 9))
def test_pieces_keep_within_the_longest_and_lose_nothing(text: str, longest: int) -> None:
    class Letters:
        def encode(self, text: str) -> list[int]:
            return [0] * len(text.split())

        def encode_batch(self, texts: list[str]) -> list[list[int]]:
            return [self.encode(text) for text in texts]

    pieces = split_text(text, Letters(), longest)  # type: ignore[arg-type]
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(len(piece.split()) <= longest for piece in pieces)


def test_long_texts_are_cut_at_punctuation_and_never_within_a_character() -> None:
    class Characters:
        def encode(self, text: str) -> list[int]:
            return [0] * len(text.replace(" ", ""))

        def encode_batch(self, texts: list[str]) -> list[list[int]]:
            return [self.encode(text) for text in texts]

    tokenizer: Any = Characters()
    text = "他来了。她走了，我们在草地上跑步，然后回家。"
    assert split_text(text, tokenizer, 12) == ["他来了。", "她走了，", "我们在草地上跑步，", "然后回家。"]
    assert split_text("e\u0301" * 4 + "👩\u200d👧", tokenizer, 3) == [*["e\u0301"] * 4, "👩\u200d👧"]
    assert split_text("가는 말이 고와야 오는 말", tokenizer, 6) == ["가는 말이", "고와야 오는 말"]


@pytest.mark.slow
def test_batches_at_the_same_time_give_what_each_line_alone_gives(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["The", "dog", "sleeps", "old", "woman", "sees", "a", "cat"]
    lines = [" ".join(words[: 1 + i % 8]) for i in range(40)]
    requests = [Request(text, prefix="Die" if i % 5 == 0 else "") for i, text in enumerate(lines)]
    for i in range(3, len(lines), 4):  # enough for batches of their own for both workers
        requests[i] = Request(lines[i], required=("Hund",))
    short = Beam(max_extra=5)
    expected = [translator.translate([request], short)[0] for request in requests]
    in_small_batches = Translator(translator.bundle, tokens_at_once=100)
    searched_here = 0
    search = in_small_batches.engine.search

    def search_and_count(*arguments: Any) -> Any:
        nonlocal searched_here
        searched_here += threading.current_thread() is threading.main_thread()
        return search(*arguments)

    monkeypatch.setattr(in_small_batches.engine, "search", search_and_count)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = in_small_batches.translate(requests, short)
    finally:
        torch.set_num_threads(threads)
    assert not searched_here
    assert [translation.text for translation in found] == [translation.text for translation in expected]
    assert found[7].satisfied == ["Hund"]


def test_an_output_is_one_line_whatever_bytes_the_model_writes() -> None:
    config = TokenizerConfig(kind="bytes")
    tokenizers = train_tokenizers(config, [], [])
    torch.manual_seed(5)
    sizes = TransformerConfig(encoder_layers=1, decoder_layers=1, dim=12, heads=2, feed_forward_dim=14)
    model = build_model(sizes, len(tokenizers.source), len(tokenizers.target)).eval()
    bundle = BundleConfig(format=1, source="en", target="de", model=sizes, tokenizer=config, longest_source=40)
    untrained = Translator(ModelBundle(bundle, model, tokenizers))
    draws = Sampling(temperature=99, n_best=2, max_ratio=0, max_extra=60)
    for translation in untrained.translate(["one", "two", "three"], draws):
        for candidate in translation.n_best:
            assert not CONTROL.search(candidate.text)
            assert candidate.text.splitlines() == [candidate.text]


def test_progress_within_a_chunk_is_reported(translator: Translator) -> None:
    texts = ["The dog sleeps.", "", "A cat.", "The old man buys a red car."]
    shares: list[float] = []
    greedy = Beam(size=1, max_ratio=0, max_extra=3)
    in_small_batches = Translator(translator.bundle, tokens_at_once=8)
    told = in_small_batches.translate_chunk(texts, greedy, shares.append)
    assert told == in_small_batches.translate(texts, greedy)
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_words_are_aligned_by_a_head_that_the_first_lines_do_not_settle(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server keeps a translator for good, and its first request may be one word."""
    heads = iter([AlignmentHead(0, 0, 0, 0.9), AlignmentHead(1, 2, 0, 0.9)])
    monkeypatch.setattr(details, "choose_head", lambda *_: next(heads))
    used = []
    details_of = details.details_of
    monkeypatch.setattr(
        "transduce.inference.details.details_of",
        lambda bundle, head, *rest: used.append(head) or details_of(bundle, head, *rest),
    )
    for text in ("The dog sleeps.", "A cat."):
        translator.translate_chunk([text], Beam(size=1), with_details=True)
    assert used == [AlignmentHead(0, 0, 0, 0.9), AlignmentHead(1, 2, 0, 0.9)]
