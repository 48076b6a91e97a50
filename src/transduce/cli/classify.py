"""`transduce classify`: texts in, their classes or scores out."""

from typing import TYPE_CHECKING, Any

from transduce.cli.options import Device, InferencePrecision, Model, Threads
from transduce.cli.texts import Input, Jsonl, Output

if TYPE_CHECKING:
    from transduce.inference.classifier import Text


def classify(
    model: Model,
    input: Input = "-",
    output: Output = "-",
    jsonl: Jsonl = False,
    device: Device = "auto",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
) -> None:
    """Tell the class of each line with its probability, or its score, as a line of JSON; null for a blank line.

    Where the model reads pairs, a line has two texts with a tab between. Objects have "text", and "second" for pairs.

    Example: `echo 'a moving film' | transduce classify runs/sst2`
    """
    from transduce.cli.model import open_bundle, set_threads
    from transduce.cli.texts import read_to_json, text_under
    from transduce.errors import InputError
    from transduce.inference.classifier import Classifier

    set_threads(threads)
    classifier = Classifier(open_bundle(model, device, precision))

    def of_line(line: str, where: str) -> "Text":
        if not classifier.reads_pairs:
            return line
        texts = line.split("\t")
        if len(texts) != 2 or not all(map(str.strip, texts)):
            raise InputError(f"{where}: the model reads pairs of texts; expected two, with a tab between")
        return texts[0], texts[1]

    def of_object(row: dict[str, Any], where: str) -> "Text":
        if not classifier.reads_pairs:
            return text_under(row, "text", where)
        return text_under(row, "text", where), text_under(row, "second", where)

    read_to_json(input, output, jsonl, of_line, of_object, classifier.classify)
