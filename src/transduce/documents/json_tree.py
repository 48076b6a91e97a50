"""JSON with the places of all its values: the standard library says what is JSON, and each value is found again."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from transduce.documents.document import TextFile
from transduce.documents.message_files import DEEPEST, Path
from transduce.errors import InputError

_TOKEN = re.compile(r'[ \t\n\r]*+([\[\]{},:"]|[^\[\]{},:"\s]++)')
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)")
_DECODER = json.JSONDecoder()
_NOT_ENCODABLE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Json:
    """A value, from its first to after its last character."""

    start: int
    end: int = 0
    text: str | None = None
    """Of a string."""
    members: list[tuple[str, "Json", "Json"]] | None = None
    """Names of an object, each as the string that it is, and their values."""
    items: list["Json"] | None = None
    """Of a list."""

    def get(self, name: str) -> "Json | None":
        """The value of a name of an object; the last, as programs read it, where there are several."""
        return next((value for key, _, value in reversed(self.members or []) if key == name), None)

    @property
    def names(self) -> list[str]:
        """Of an object, in their order."""
        return [name for name, _, _ in self.members or []]


def parse_json(file: TextFile) -> Json:
    """The value that a file is; InputError for what is no JSON, or nests too deep."""
    try:
        json.loads(file.text, parse_int=len, parse_float=len, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"line {file.line_of(error.pos)}"
        raise InputError(
            f"{file.name}: {place}: is not JSON ({error.msg}); comments and commas before a bracket are none of it"
        ) from None
    except RecursionError:
        raise InputError(f"{file.name}: more than {DEEPEST} lists and objects in each other") from None
    except ValueError as error:
        raise InputError(f"{file.name}: is not JSON ({error})") from None
    return _Parsing(file).value


def strings_of(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """All strings in a value, in their order, but for names."""
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        if value.text is not None:
            yield path, value
        elif value.members is not None:
            waiting += [((*path, name), inner) for name, _, inner in reversed(value.members)]
        elif value.items is not None:
            waiting += [((*path, number), inner) for number, inner in reversed(list(enumerate(value.items)))]


@dataclass(frozen=True)
class Encoder:
    """Writes strings with the escapes that a string of the file has."""

    is_ascii: bool
    escapes: dict[int, str] = field(default_factory=dict)
    """For characters that need none."""

    @staticmethod
    def like(file: TextFile, value: Json, is_ascii: bool) -> "Encoder":
        """One that writes as a string of the file is written, and in ASCII where the whole file is so."""
        escapes: dict[int, str] = {}
        for found in _ESCAPE.finditer(file.text, value.start + 1, value.end - 1):
            character = json.loads(f'"{found[0]}"')
            if character.isprintable() and character.isascii() and character not in '"\\':
                escapes[ord(character)] = found[0]
        return Encoder(is_ascii, escapes)

    def encode(self, text: str) -> str:
        """A string as it is written."""
        return json.dumps(text, ensure_ascii=self.is_ascii).translate(self.escapes)


def is_ascii_by_escapes(file: TextFile) -> bool:
    """Whether a file writes characters beyond ASCII as escapes."""
    return file.text.isascii() and "\\u" in file.text


def is_encodable(text: str) -> bool:
    """Whether a string has no half of a character that is written as two (surrogates)."""
    return _NOT_ENCODABLE.search(text) is None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


class _Parsing:
    """Finds the places of values in a text that is known to be JSON."""

    def __init__(self, file: TextFile) -> None:
        self.value = Json(0)
        opened: list[Json] = []
        name: tuple[str, Json] | None = None  # of the member whose value comes next
        expects_name = False
        place = 0
        while (token := _TOKEN.match(file.text, place)) is not None:
            sign, place = token[1], token.end()
            start = token.start(1)
            if sign == "," or sign == ":":
                expects_name = sign == "," and opened[-1].members is not None
                continue
            if sign in "]}":
                opened.pop().end = place
                expects_name = False
                continue
            value = Json(start, place)
            if sign == '"':
                value.text, value.end = _DECODER.raw_decode(file.text, start)
                place = value.end
            if expects_name:
                name = (value.text or "", value)
                expects_name = False
                continue
            if not opened:
                self.value = value
            elif (members := opened[-1].members) is not None:
                assert name is not None  # as JSON has it
                members.append((*name, value))
            elif (items := opened[-1].items) is not None:
                items.append(value)
            if sign in "[{":
                value.members, value.items = ([], None) if sign == "{" else (None, [])
                opened.append(value)
                expects_name = sign == "{"
                if len(opened) > DEEPEST:
                    raise InputError(
                        f"{file.name}: line {file.line_of(start)}: more than {DEEPEST} lists and objects in each other"
                    )
