"""`transduce fill`: texts with hidden words in, guesses out."""

from typing import Annotated

from transduce import ranges
from transduce.cli.options import Device, InferencePrecision, Model, Threads, ranged
from transduce.cli.texts import Input, Jsonl, Output


def fill(
    model: Model,
    input: Input = "-",
    output: Output = "-",
    jsonl: Jsonl = False,
    guesses: Annotated[int, ranged(ranges.NBest, "Guesses for each hidden word")] = 5,
    device: Device = "auto",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
) -> None:
    """Guess the words that stand at each [MASK] of a line, with probabilities, as a line of JSON; null for a blank one.

    Example: `echo 'In the [MASK] was the word.' | transduce fill runs/bible-bert`
    """
    from transduce.cli.model import open_bundle, set_threads
    from transduce.cli.texts import read_to_json, text_under
    from transduce.inference.encoder import Encoder

    set_threads(threads)
    encoder = Encoder(open_bundle(model, device, precision))
    read_to_json(
        input,
        output,
        jsonl,
        lambda line, where: line,
        lambda row, where: text_under(row, "text", where),
        lambda texts: encoder.fill(texts, guesses),
    )
