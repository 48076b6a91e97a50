"""`transduce tag`: texts in, the tags of their words and the entities that these tell out."""

from typing import Annotated, Any

import typer

from transduce.cli.options import Device, InferencePrecision, Model, Threads
from transduce.cli.texts import Input, Jsonl, Output


def tag(
    model: Model,
    input: Input = "-",
    output: Output = "-",
    jsonl: Jsonl = False,
    entities: Annotated[bool, typer.Option("--entities", help="Tell entities alone, and leave out the words.")] = False,
    device: Device = "auto",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
) -> None:
    """Tag the words of each line, with probabilities and places in its characters, as a line of JSON; null for a blank.

    Example: `echo 'Ada Lovelace lived in London.' | transduce tag runs/wnut17`
    """
    from transduce.cli.model import open_bundle, set_threads
    from transduce.cli.texts import read_to_json, text_under
    from transduce.inference.tagger import Tagger

    set_threads(threads)
    tagger = Tagger(open_bundle(model, device, precision))

    def tagged(texts: list[str]) -> list[Any]:
        found = tagger.tag(texts)
        return [{"text": one.text, "entities": one.entities} for one in found] if entities else found

    read_to_json(
        input, output, jsonl, lambda line, where: line, lambda row, where: text_under(row, "text", where), tagged
    )
