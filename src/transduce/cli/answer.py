"""`transduce answer`: questions on passages in, answers out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from transduce import ranges
from transduce.cli.options import Device, InferencePrecision, Model, Threads, ranged
from transduce.cli.texts import Input, Jsonl, Output


def answer(
    model: Model,
    input: Input = "-",
    output: Output = "-",
    jsonl: Jsonl = False,
    passage: Annotated[
        str | None, typer.Option(help="A text file that all questions are about; lines then are questions alone.")
    ] = None,
    n_best: Annotated[int, ranged(ranges.NBest, "Answers to each question, the likeliest first")] = 1,
    device: Device = "auto",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
) -> None:
    """Find the answer to each line's question in its passage, as a line of JSON; null for a blank line.

    A line has a question and a passage with a tab between; an object "question" and "passage". Answers have their
    probability and their place in the passage, in characters.

    Example: `echo 'Who wrote it?' | transduce answer runs/squad --passage book.txt`
    """
    from transduce.cli.model import open_bundle, set_threads
    from transduce.cli.texts import read_to_json, text_under
    from transduce.corpora.formats import read_lines
    from transduce.errors import InputError
    from transduce.inference.answerer import Answerer

    set_threads(threads)
    if passage is not None and not Path(passage).is_file():
        raise InputError(f"--passage {passage}: no such file")
    read = None if passage is None else "\n".join(read_lines(passage))
    if read is not None and not read.strip():
        raise InputError(f"--passage {passage}: it is blank")
    answerer = Answerer(open_bundle(model, device, precision))

    def of_line(line: str, where: str) -> tuple[str, str]:
        if read is not None:
            return line, read
        parts = line.split("\t")
        if len(parts) != 2 or not all(map(str.strip, parts)):
            raise InputError(f"{where}: expected a question and a passage with a tab between, or give --passage FILE")
        return parts[0], parts[1]

    def of_object(row: dict[str, Any], where: str) -> tuple[str, str]:
        return text_under(row, "question", where), read or text_under(row, "passage", where)

    read_to_json(input, output, jsonl, of_line, of_object, lambda asked: answerer.answer(asked, n_best=n_best))
