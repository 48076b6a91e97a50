"""Texts that come in for verbs that read them, and what is told of each that goes out."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from transduce.cli.options import OUTPUT
from transduce.errors import InputError

T = TypeVar("T", bound=str | tuple[str, str])

Input = Annotated[
    str,
    typer.Argument(
        help="A file with a text on each line, or .jsonl with objects; .gz, .xz and .zst too; - is standard input."
    ),
]
Output = Annotated[
    str, typer.Option(*OUTPUT, help="A new file of JSON lines, .gz, .xz and .zst compressed; - is standard output.")
]
Jsonl = Annotated[bool, typer.Option("--jsonl", help="Lines of the input are JSON objects, whatever its name.")]


def read_to_json(
    input: str,
    output: str,
    is_jsonl: bool,
    item_of: Callable[[str, str], T],
    item_of_object: Callable[[dict[str, Any], str], T],
    tell_of: Callable[[list[T]], Sequence[Any]],
) -> int:
    """Write a JSON line for each input line, `null` for a blank one or an object with a blank text; how many.

    Args:
        input: a file, or - for standard input.
        output: a new file, or - for standard output.
        is_jsonl: whether lines are JSON objects; they are too where the file's name says it.
        item_of: makes what a model reads of a line, told where it stands.
        item_of_object: the same of a JSON object.
        tell_of: what the model makes of several.

    Raises InputError, with the line, for what is no JSON object.
    """
    from transduce.cli.output import text_output
    from transduce.cli.streams import lines_of
    from transduce.corpora.examples import file_kind

    as_objects = is_jsonl or file_kind(input) == ".jsonl"
    count = 0
    with text_output(output) as stream:
        for lines in lines_of(input):
            items = {}
            for place, line in enumerate(lines):
                where = f"{input}: line {count + place + 1}"
                if not line.strip():
                    continue
                item = item_of_object(_object(line, where), where) if as_objects else item_of(line, where)
                if all(text.strip() for text in ([item] if isinstance(item, str) else item)):
                    items[place] = item
            found = dict(zip(items, tell_of(list(items.values())), strict=True))
            for place in range(len(lines)):
                stream.write(msgspec.json.encode(found.get(place)).decode() + "\n")
            stream.flush()
            count += len(lines)
    return count


def text_under(row: dict[str, Any], key: str, where: str) -> str:
    """The text that an object has under a key; InputError where it has none."""
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
