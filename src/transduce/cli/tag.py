"""`transduce tag`: texts in, the tags of their words and the entities that these tell out."""

from typing import Annotated, Any

import typer

from transduce.cli.machine import Machine
from transduce.cli.options import Model
from transduce.cli.texts import Texts


def tag(
    model: Model,
    texts: Texts,
    machine: Machine,
    entities: Annotated[bool, typer.Option("--entities", help="Tell entities alone, and leave out the words.")] = False,
) -> None:
    """Tag the words of each line, with probabilities and places in its characters, as a line of JSON; null for a blank.

    Example: `echo 'Ada Lovelace lived in London.' | transduce tag runs/wnut17`
    """
    from transduce.inference.tagger import Tagger

    tagger = Tagger(machine.open(model))

    def tagged(lines: list[str]) -> list[Any]:
        found = tagger.tag(lines)
        return [{"text": one.text, "entities": one.entities} for one in found] if entities else found

    texts.to_json(tagged)
