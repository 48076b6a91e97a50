"""How much faster a Transformer-XL reads a text with its memory than with a window that is read anew for each token.

    python benchmarks/reading_with_memory.py

Both predict each token from as many tokens before it, the comparison of Dai et al. 2019 (section 4.6); the model has
the sizes of a recipe and weights as they begin. Seconds a token, the median of turns.
"""

import argparse
import time
from statistics import median

import torch
from torch import Tensor

from transduce.experiment import load_recipe
from transduce.models.transformer_xl import TransformerXL, TransformerXLConfig, build_transformer_xl
from transduce.nn.state import SegmentState

VOCABULARY = 10_000
TURNS = 3
SEGMENTS = 8
WINDOWS = 16  # read anew in a turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="ptb-xl")
    parser.add_argument("--contexts", nargs="+", type=int, default=[128, 256, 512])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config = load_recipe(options.recipe).config.model
    assert isinstance(config, TransformerXLConfig), "a recipe of a Transformer-XL"
    model = build_transformer_xl(config, VOCABULARY).eval()
    print("| context | with memory, ms a token | window read anew | times |")
    print("| --- | --- | --- | --- |", flush=True)
    for context in options.contexts:
        model.decoder.memory = context
        turns = [(with_memory(model, context), anew(model, context)) for _ in range(TURNS)]
        remembered, again = (median(times) for times in zip(*turns, strict=True))
        print(f"| {context} | {1000 * remembered:.3f} | {1000 * again:.1f} | {again / remembered:,.0f} |", flush=True)


def start(model: TransformerXL, tokens: Tensor) -> SegmentState:
    nothing = tokens[:, :0]
    return model.start(model.encode(nothing, nothing.bool()))


@torch.inference_mode()
def with_memory(model: TransformerXL, context: int) -> float:
    """Seconds a token of segments as long as the memory, once it is full."""
    tokens = torch.randint(VOCABULARY, (1, context * (SEGMENTS + 1)))
    first, *others = tokens.split(context, 1)
    _, state = model.decoder(first, start(model, tokens))
    began = time.perf_counter()
    for segment in others:
        _, state = model.decoder(segment, state)
    return (time.perf_counter() - began) / (context * SEGMENTS)


@torch.inference_mode()
def anew(model: TransformerXL, context: int) -> float:
    """Seconds a token of a window that moves on by one token at a time; its last output alone is projected."""
    tokens = torch.randint(VOCABULARY, (1, context + WINDOWS))
    began = time.perf_counter()
    for place in range(WINDOWS):
        window = tokens[:, place : place + context]
        hidden, _ = model.decoder.read(window, start(model, window))
        model.decoder.output(hidden[:, -1])
    return (time.perf_counter() - began) / WINDOWS


if __name__ == "__main__":
    main()
