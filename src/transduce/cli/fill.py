"""`transduce fill`: texts with hidden words in, guesses out."""

from typing import Annotated

from transduce import ranges
from transduce.cli.machine import Machine
from transduce.cli.options import Model, ranged
from transduce.cli.texts import Texts


def fill(
    model: Model,
    texts: Texts,
    machine: Machine,
    guesses: Annotated[int, ranged(ranges.NBest, "Guesses for each hidden word")] = 5,
) -> None:
    """Guess the words that stand at each [MASK] of a line, with probabilities, as a line of JSON; null for a blank one.

    Example: `echo 'In the [MASK] was the word.' | transduce fill runs/bible-bert`
    """
    from transduce.inference.encoder import Encoder

    encoder = Encoder(machine.open(model))
    texts.to_json(lambda hidden: encoder.fill(hidden, guesses))
