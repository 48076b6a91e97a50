"""Sentences a second of beam search: step by step, in CUDA graphs, in batches by free memory, beside CTranslate2."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

import transduce
from gpu_parts.measuring import LONGEST, Figures, Measurement, Scale, configure, median_seconds
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.engines.inference_precision import InferencePrecision, load_bundle
from transduce.models.families import build_model
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import SideConfig, TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizer

PRECISIONS: tuple[InferencePrecision, ...] = ("float32", "bfloat16")


def decode(scale: Scale, device: torch.device) -> Iterator[Measurement]:
    """Batches of sentences of equal length, whose translations are as long; and all of them as one text, in batches
    that Transduce makes."""
    words = [f"w{number}" for number in range(scale.vocabulary)]
    draw = np.random.default_rng(2)
    batches = [[" ".join(draw.choice(words, length)) for _ in range(scale.sentences)] for length in scale.lengths]
    with tempfile.TemporaryDirectory() as folder:
        model, exported = Path(folder) / "model", Path(folder) / "exported"
        save_untrained(model, scale, words)
        for precision in PRECISIONS:
            of_model = partial(measure_transduce, model, precision, batches, device)
            yield f"Transduce, {precision}", of_model
            yield f"Transduce, {precision}, graphs", partial(of_model, compile=True)
            yield f"Transduce, {precision}, batches by memory", partial(of_model, as_one_text=True)
        for precision in PRECISIONS:
            yield f"CTranslate2, {precision}", partial(measure_ctranslate2, model, exported, precision, batches, device)


def save_untrained(folder: Path, scale: Scale, words: Sequence[str]) -> None:
    """The base model with random weights, whose vocabulary is of words."""
    tokenizer = train_tokenizer(SideConfig(kind="words", min_frequency=1), [" ".join(words)])
    _, sizes = configure(scale.shapes["base"])
    config = BundleConfig(
        format=FORMAT,
        source="en",
        target="de",
        model=sizes,
        tokenizer=TokenizerConfig(kind="words"),
        longest_source=LONGEST,
    )
    torch.manual_seed(1)
    model = build_model(sizes, len(tokenizer), len(tokenizer)).eval()
    ModelBundle(config, model, Tokenizers(tokenizer, tokenizer)).save(folder, [(words[0], words[1])])


def measure_transduce(
    model: Path,
    precision: InferencePrecision,
    batches: Sequence[Sequence[str]],
    device: torch.device,
    compile: bool = False,
    as_one_text: bool = False,
) -> Figures:
    bundle = load_bundle(model, str(device), precision)
    search = transduce.Beam(size=4, min_ratio=1.0, max_ratio=1.0, max_extra=0)
    tokens = None if as_one_text else sys.maxsize  # each batch as it is
    translator = transduce.Translator(bundle, tokens_at_once=tokens, compile=compile)
    if as_one_text:
        batches = [[line for batch in batches for line in batch]]
    return sentences_a_second(lambda batch: translator.translate(batch, search), batches, device)


def measure_ctranslate2(
    model: Path, exported: Path, precision: str, batches: Sequence[Sequence[str]], device: torch.device
) -> Figures:
    import ctranslate2  # which may be missing

    if not exported.exists():
        export_ctranslate2(model, exported, texts=batches[0][:1])  # compares outputs, slowly
    engine = ctranslate2.Translator(
        str(exported),
        device=device.type,
        device_index=device.index or 0,
        compute_type=precision,
        intra_threads=torch.get_num_threads(),
    )

    def translate(batch: Sequence[str]) -> None:
        sources = [text.split(" ") for text in batch]
        length = len(sources[0])
        engine.translate_batch(
            sources, beam_size=4, length_penalty=0.6, min_decoding_length=length, max_decoding_length=length
        )

    return sentences_a_second(translate, batches, device)


def sentences_a_second(
    translate: Callable[[Sequence[str]], object], batches: Sequence[Sequence[str]], device: torch.device
) -> Figures:
    seconds = median_seconds(lambda: [translate(batch) for batch in batches], device)
    return {"sentences a second": sum(map(len, batches)) / seconds}
