"""`transduce answer`: questions on passages in, answers out."""

from pathlib import Path
from typing import Annotated

import typer

from transduce import ranges
from transduce.cli.machine import Machine
from transduce.cli.options import Model, ranged
from transduce.cli.texts import Texts, pair_at_tab


def answer(
    model: Model,
    texts: Texts,
    machine: Machine,
    passage: Annotated[
        str | None, typer.Option(help="A text file that all questions are about; lines then are questions alone.")
    ] = None,
    n_best: Annotated[int, ranged(ranges.NBest, "Answers to each question, the likeliest first")] = 1,
) -> None:
    """Find the answer to each line's question in its passage, as a line of JSON; null for a blank line.

    A line has a question and a passage with a tab between; an object "question" and "passage". Answers have their
    probability and their place in the passage, in characters.

    Example: `echo 'Who wrote it?' | transduce answer runs/squad --passage book.txt`
    """
    from transduce.corpora.formats import read_lines
    from transduce.errors import InputError
    from transduce.inference.answerer import Answerer

    if passage is not None and not Path(passage).is_file():
        raise InputError(f"--passage {passage}: no such file")
    read = None if passage is None else "\n".join(read_lines(passage))
    if read is not None and not read.strip():
        raise InputError(f"--passage {passage}: it is blank")
    answerer = Answerer(machine.open(model))
    if read is not None:
        texts.to_json(
            lambda asked: answerer.answer([(question, read) for question in asked], n_best=n_best), ("question",)
        )
    else:
        pair = pair_at_tab("expected a question and a passage with a tab between, or give --passage FILE")
        texts.to_json(lambda asked: answerer.answer(asked, n_best=n_best), ("question", "passage"), pair)
