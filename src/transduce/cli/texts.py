"""Reads the texts of verbs that read them, and writes a result for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import typer

from transduce.cli.fields import options_of
from transduce.cli.options import OUTPUT
from transduce.errors import InputError


@dataclass(frozen=True)
class _Texts:
    """Input texts, one a line, and the file for a line of JSON for each."""

    input: Annotated[
        str,
        typer.Argument(
            help="A file with a text on each line, or .jsonl with objects; .gz, .xz and .zst too; - is standard input."
        ),
    ] = "-"
    output: Annotated[
        str, typer.Option(*OUTPUT, help="A new file of JSON lines, .gz, .xz and .zst compressed; - is standard output.")
    ] = "-"
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Lines of the input are JSON objects, whatever its name.")] = (
        False
    )

    def to_json(
        self,
        tell_of: Callable[[list[Any]], Sequence[Any]],
        keys: Sequence[str] = ("text",),
        pair_of_line: Callable[[str, str], tuple[str, str]] | None = None,
    ) -> None:
        """Writes a JSON line for each input line, `null` for a blank one or an object with a blank text.

        Args:
            tell_of: returns the model's results for several texts, or pairs of texts.
            keys: the keys of an object's texts, two for a pair.
            pair_of_line: returns the pair of a line, given its position, for models that read pairs.

        Raises InputError, with the line, for a line that is no JSON object.
        """
        from transduce.cli.output import text_output
        from transduce.cli.streams import lines_of
        from transduce.corpora.formats import file_kind

        as_objects = self.jsonl or file_kind(self.input) == ".jsonl"
        count = 0
        with text_output(self.output) as stream:
            for lines in lines_of(self.input):
                items: dict[int, Any] = {}
                for place, line in enumerate(lines):
                    where = f"{self.input}: line {count + place + 1}"
                    if not line.strip():
                        continue
                    if as_objects:
                        row = _object(line, where)
                        texts = [_text_under(row, key, where) for key in keys]
                        item: Any = texts[0] if len(texts) == 1 else tuple(texts)
                    else:
                        item = pair_of_line(line, where) if pair_of_line is not None else line
                    if all(text.strip() for text in ([item] if isinstance(item, str) else item)):
                        items[place] = item
                found = dict(zip(items, tell_of(list(items.values())), strict=True))
                for place in range(len(lines)):
                    stream.write(msgspec.json.encode(found.get(place)).decode() + "\n")
                stream.flush()
                count += len(lines)


Texts = Annotated[_Texts, options_of(_Texts)]
"""The texts of a verb that reads them."""


def pair_at_tab(problem: str) -> Callable[[str, str], tuple[str, str]]:
    """Returns a function that makes a pair of a line with a tab; it raises InputError with this problem for others."""

    def pair_of(line: str, where: str) -> tuple[str, str]:
        texts = line.split("\t")
        if len(texts) != 2 or not all(map(str.strip, texts)):
            raise InputError(f"{where}: {problem}")
        return texts[0], texts[1]

    return pair_of


def _text_under(row: dict[str, Any], key: str, where: str) -> str:
    """Returns the text that an object has under a key; InputError without one."""
    if key in row and not isinstance(row[key], str):
        found = msgspec.json.encode(row[key]).decode()
        raise InputError(f"{where} has {found[:60]} under '{key}'; expected a text in quotation marks")
    if key not in row:
        raise InputError(f"{where} has no text under '{key}'; it has {', '.join(row) or 'nothing'}")
    return str(row[key])


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{where} is not JSON ({reason})") from None
    if not isinstance(row, dict):
        raise InputError(f'{where} is not a JSON object, such as {{"text": ...}}')
    return row
