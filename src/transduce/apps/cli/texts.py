"""The verbs that read texts, and write a line of JSON for each: classify, tag, answer, fill and embed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal

from transduce.apps.cli.fields import Help
from transduce.apps.cli.machine_options import MachineOptions
from transduce.apps.cli.options import LanguageOptions, Model
from transduce.apps.cli.printing import as_json
from transduce.base import ranges
from transduce.base.errors import InputError


@dataclass(frozen=True)
class TextOptions:
    """Input texts, one a line, and the file for a line of JSON for each."""

    input: Annotated[
        str,
        Help(
            "A file with a text on each line, or .jsonl with objects; .gz, .xz and .zst too; - is standard input",
            is_argument=True,
        ),
    ] = "-"
    output: str = "-"
    """A new file of JSON lines, .gz, .xz and .zst compressed; - is standard output."""
    jsonl: bool = False
    """Lines of the input are JSON objects, whatever its name."""

    def to_json(
        self, results_of: Callable[[list[Any]], Sequence[Any]], keys: Sequence[str] = ("text",), expected: str = ""
    ) -> None:
        """Writes a JSON line for each input line, `null` for a blank one or an object with a blank text.

        Args:
            results_of: returns the model's results for several texts, or pairs of texts.
            keys: the keys of an object's texts, two for a pair.
            expected: what a line is for models that read pairs: two texts with a tab between.

        Raises InputError, with the line, for a line that is not a JSON object, or no pair.
        """
        from transduce.apps.cli.input import lines_of
        from transduce.apps.cli.output import text_output

        numbers = count(1)
        with text_output(self.output) as stream:
            for lines in lines_of(self.input):
                read = []
                for line in lines:
                    texts = self._texts_of(line, f"{self.input}: line {next(numbers)}", keys, expected)
                    read.append(texts if all(map(str.strip, texts)) else None)
                given = [texts[0] if len(keys) == 1 else tuple(texts) for texts in read if texts]
                results = iter(results_of(given))
                stream.writelines(as_json(next(results) if texts else None) + "\n" for texts in read)
                stream.flush()

    def _texts_of(self, line: str, where: str, keys: Sequence[str], expected: str) -> list[str]:
        """Returns the texts of a line, one for each key; of a blank line a blank one."""
        from transduce.corpora.lines import as_object, file_kind

        if not line.strip():
            return [""]
        if not self.jsonl and file_kind(self.input) != ".jsonl":
            texts = line.split("\t") if len(keys) > 1 else [line]
            if len(texts) != len(keys) or not all(map(str.strip, texts)):
                raise InputError(f"{where}: {expected}")
            return texts
        try:
            row = as_object(line, ', such as {"text": ...}')
        except ValueError as error:
            raise InputError(f"{where} {error}") from None
        for key in keys:
            if key not in row:
                raise InputError(f"{where} has no text under '{key}'; it has {', '.join(row) or 'nothing'}")
            if not isinstance(row[key], str):
                raise InputError(
                    f"{where} has {as_json(row[key])[:60]} under '{key}'; expected a text in quotation marks"
                )
        return [row[key] for key in keys]


def classify(model: Model, texts: TextOptions, machine: MachineOptions) -> None:
    """Tells the class of each line with its probability, or its score, as a line of JSON; null for a blank line.

    Where the model reads pairs, a line has two texts with a tab between. Objects have "text", and "second" for pairs.

    Example: `echo 'a moving film' | transduce classify runs/sst2`
    """
    from transduce.inference.classifier import Classifier

    classifier = Classifier(machine.open(model))
    if classifier.reads_pairs:
        expected = "the model reads pairs of texts; expected two, with a tab between"
        texts.to_json(classifier.classify, ("text", "second"), expected)
    else:
        texts.to_json(classifier.classify)


def tag(model: Model, *, texts: TextOptions, machine: MachineOptions, entities: bool = False) -> None:
    """Tag the words of each line, with probabilities and places in its characters, as a line of JSON; null for a blank.

    Example: `echo 'Ada Lovelace lived in London.' | transduce tag runs/wnut17`

    Args:
        entities: Tell entities alone, and leave out the words.
    """
    from transduce.inference.tagger import Tagger

    tagger = Tagger(machine.open(model))

    def tagged(lines: list[str]) -> list[Any]:
        results = tagger.tag(lines)
        return [{"text": text.text, "entities": text.entities} for text in results] if entities else results

    texts.to_json(tagged)


def answer(
    model: Model, *, texts: TextOptions, machine: MachineOptions, passage: str | None = None, n_best: ranges.NBest = 1
) -> None:
    """Find the answer to each line's question in its passage, as a line of JSON; null for a blank line.

    A line has a question and a passage with a tab between; an object "question" and "passage". Answers have their
    probability and their place in the passage, in characters.

    Example: `echo 'Who wrote it?' | transduce answer runs/squad --passage book.txt`

    Args:
        passage: A text file that all questions are about; lines then are questions alone.
        n_best: Answers to each question, the likeliest first.
    """
    from transduce.corpora.lines import read_lines
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
        expected = "expected a question and a passage with a tab between, or give --passage FILE"
        texts.to_json(lambda asked: answerer.answer(asked, n_best=n_best), ("question", "passage"), expected)


def fill(model: Model, *, texts: TextOptions, machine: MachineOptions, guesses: ranges.NBest = 5) -> None:
    """Predict the words at each [MASK] of a line, with probabilities, as a line of JSON; null for a blank one.

    Example: `echo 'In the [MASK] was the word.' | transduce fill runs/bible-bert`

    Args:
        guesses: Guesses for each hidden word.
    """
    from transduce.inference.text_encoder import Encoder

    encoder = Encoder(machine.open(model))
    texts.to_json(lambda hidden: encoder.fill(hidden, guesses))


def embed(
    model: Model,
    *,
    texts: TextOptions,
    machine: MachineOptions,
    pooling: Literal["mean", "first", "pooler"] = "mean",
    layer: ranges.NonNegativeInt | None = None,
    languages: LanguageOptions,
    raw: bool = False,
) -> None:
    """Turn each line into a vector, as a line of JSON: a list of numbers, null for a blank line.

    Texts are cut to the length that the model reads. A translation model's vectors are of its source encoder.

    Example: `transduce embed models/minilm sentences.txt -o vectors.jsonl`

    Args:
        pooling: Vector of a text: the mean of all tokens' vectors, the first token's, or the pooler's.
        layer: Pool the states of this layer, from 0 for the embeddings (default: the last).
        raw: Do not scale vectors to length 1.
    """
    from transduce.inference.text_encoder import Encoder

    encoder = Encoder(machine.open(model))
    if encoder.bundle.config.task == "translation":
        encoder = encoder.directed(languages.to, languages.from_)
    elif languages != LanguageOptions():
        raise InputError("--to and --from are for translation models of several directions; leave them out")

    def vectors(lines: list[str]) -> list[Any]:
        rows: list[Any] = encoder.embed(lines, pooling, not raw, layer).tolist()
        return rows

    texts.to_json(vectors)
