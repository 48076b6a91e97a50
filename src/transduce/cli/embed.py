"""`transduce embed`: texts in, their vectors out."""

from typing import Annotated, Any, Literal

import typer

from transduce import ranges
from transduce.cli.machine import Machine
from transduce.cli.options import From, Model, To, ranged
from transduce.cli.texts import Texts


def embed(
    model: Model,
    texts: Texts,
    machine: Machine,
    pooling: Annotated[
        Literal["mean", "first", "pooler"],
        typer.Option(help="Vector of a text: the mean of all tokens' vectors, the first token's, or the pooler's."),
    ] = "mean",
    layer: Annotated[
        int | None,
        ranged(ranges.NonNegativeInt, "Pool the states of this layer, from 0 for the embeddings (default: the last)"),
    ] = None,
    to: To = None,
    from_: From = None,
    raw: Annotated[bool, typer.Option("--raw", help="Do not scale vectors to length 1.")] = False,
) -> None:
    """Turn each line into a vector, as a line of JSON: a list of numbers, null for a blank line.

    Texts are cut to the length that the model reads. A translation model's vectors are of its source encoder.

    Example: `transduce embed models/minilm sentences.txt -o vectors.jsonl`
    """
    from transduce.errors import InputError
    from transduce.inference.encoder import Encoder

    encoder = Encoder(machine.open(model))
    if encoder.bundle.config.task == "translation":
        encoder = encoder.directed(to, from_)
    elif to is not None or from_ is not None:
        raise InputError("--to and --from are for translation models of several directions; leave them out")

    def vectors(lines: list[str]) -> list[Any]:
        found: list[Any] = encoder.embed(lines, pooling, not raw, layer).tolist()
        return found

    texts.to_json(vectors)
