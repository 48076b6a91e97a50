"""Reads requests' values from the query, JSON or a form, within limits."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, BeforeValidator, model_validator
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request as HTTPRequest

from transduce.config import suggestion
from transduce.serving.failures import RefusedError

JSON, FORM, URLENCODED = "application/json", "multipart/form-data", "application/x-www-form-urlencoded"
MOST_FIELDS = 20
"""The most fields of a form beside its texts."""
LONGEST_NAME = 40
"""The most characters of an unknown field's name that are told."""
MOST_PART_HEADERS = 8192
"""The most bytes of the headers of a part of a form."""

Values = dict[str, Any]
"""The given values by name; a list if a value was given several times."""


@dataclass
class UploadedFile:
    """A file in a form."""

    name: str
    data: bytes


def _texts(value: Any) -> Any:
    """Returns texts as they are; ValueError if one is not a text, since a list of errors would be long."""
    if isinstance(value, list) and not all(isinstance(text, str) for text in value):
        raise ValueError("expected a text, or a list of texts")
    return value


Texts = Annotated[str | list[str], BeforeValidator(_texts)]


class StrictBody(BaseModel):
    """A body whose fields are all known: a misspelt one is told, not ignored."""

    @model_validator(mode="before")
    @classmethod
    def refuse_unknown(cls, body: Any) -> Any:
        """Raises ValueError for an unknown field, with the name that is most like it."""
        if isinstance(body, dict) and (unknown := next((name for name in body if name not in cls.model_fields), None)):
            name, known = unknown[:LONGEST_NAME], list(cls.model_fields)
            raise ValueError(f"unknown field {name!r}" + (suggestion(name, known) or f"; known are {', '.join(known)}"))
        return body


def content_type(http: HTTPRequest) -> str:
    """Returns the kind of a request's body, without parameters; "" if it says none."""
    return http.headers.get("content-type", "").partition(";")[0].strip().lower()


def is_json(kind: str) -> bool:
    """Returns True if a kind of body is JSON."""
    return kind == JSON or (kind.startswith("application/") and kind.endswith("+json"))


def has_body(http: HTTPRequest) -> bool:
    """Returns True if a request announces a body."""
    return http.headers.get("content-length", "0").strip() != "0" or "transfer-encoding" in http.headers


async def read_values(http: HTTPRequest, most_values: int) -> Values:
    """Returns the values in the query and in a form or JSON; RefusedError (400, 413, 415) for another body."""
    values = _collected(_pairs(http.url.query, most_values))
    kind = content_type(http)
    if kind == FORM:
        form, _ = await read_form(http, most_values)
        return values | form
    body = await http.body()
    if not body.strip():
        return values
    if kind == URLENCODED:
        return values | _collected(_pairs(body.decode(errors="replace"), most_values))
    if not is_json(kind):
        raise unsupported()
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError(400, "Invalid request: the body is not JSON") from None
    if not isinstance(parsed, dict):
        raise RefusedError(400, "Invalid request: expected a JSON object")
    return values | {name: value for name, value in parsed.items() if value is not None}


async def read_form(
    http: HTTPRequest,
    most_values: int,
    may_read: Callable[[Values, int], Awaitable[None]] | None = None,
) -> tuple[Values, dict[str, UploadedFile]]:
    """Returns the fields of a form, and its files.

    `may_read` is called after each part of the body with the complete fields and the number of bytes read; it raises
    RefusedError to stop reading. Raises RefusedError (400) for an invalid form.
    """
    _, options = parse_options_header(http.headers.get("content-type", ""))
    boundary = options.get(b"boundary", b"")
    if not boundary:
        raise RefusedError(400, "Invalid request: the form names no boundary")
    form = _Form(most_values)
    read = 0
    try:
        parser = MultipartParser(boundary, form.callbacks())  # type: ignore[arg-type]
        async for piece in http.stream():
            read += len(piece)
            parser.write(piece)
            if may_read is not None:
                await may_read(_collected(form.fields), read)
        if read:
            parser.finalize()
    except FormParserError as error:
        raise RefusedError(400, f"Invalid request: the form cannot be read ({str(error)[:100]})") from None
    if read and not form.is_complete:
        raise RefusedError(400, "Invalid request: the form is cut off")
    return _collected(form.fields), form.files


def unsupported() -> RefusedError:
    """Returns an error for a body of another kind: browsers send plain text for foreign pages without a CORS check."""
    return RefusedError(415, "Unsupported media type: send application/json, or a form")


class _Form:
    """Gathers the parts of a form as they are parsed."""

    def __init__(self, most_values: int) -> None:
        self.fields: list[tuple[str, str]] = []
        self.files: dict[str, UploadedFile] = {}
        self.is_complete = False
        self._most = most_values + MOST_FIELDS
        self._parts = 0
        self._header: tuple[bytearray, bytearray] = (bytearray(), bytearray())
        self._headers: dict[bytes, bytes] = {}
        self._header_bytes = 0
        self._data = bytearray()

    def callbacks(self) -> dict[str, Callable[..., None]]:
        """Returns the functions that the parser calls."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._add_header(0, data[start:end]),
            "on_header_value": lambda data, start, end: self._add_header(1, data[start:end]),
            "on_header_end": self._end_header,
            "on_part_data": self._add_data,
            "on_part_end": self._end,
            "on_end": self._complete,
        }

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > self._most:
            raise RefusedError(413, "The form has too many fields")
        self._headers, self._header_bytes, self._data = {}, 0, bytearray()

    def _add_header(self, index: int, data: bytes) -> None:
        self._header_bytes += len(data)
        if self._header_bytes > MOST_PART_HEADERS:
            raise RefusedError(400, "Invalid request: the headers of a field are too long")
        self._header[index].extend(data)

    def _end_header(self) -> None:
        self._headers[bytes(self._header[0]).lower()] = bytes(self._header[1])
        self._header = (bytearray(), bytearray())

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        self._data += data[start:end]

    def _end(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        name = options.get(b"name", b"").decode(errors="replace")
        if b"filename" in options:
            file = options[b"filename"].decode(errors="replace")
            self.files[name] = UploadedFile(file, bytes(self._data))
        else:
            self.fields.append((name, self._data.decode(errors="replace")))
        self._data = bytearray()

    def _complete(self) -> None:
        self.is_complete = True


def _pairs(text: str, most_values: int) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=most_values + MOST_FIELDS)
    except ValueError:
        raise RefusedError(413, "The request has too many fields") from None


def _collected(pairs: list[tuple[str, str]]) -> Values:
    """Returns values by name; several of one name as a list."""
    by_name: dict[str, list[str]] = {}
    for name, value in pairs:
        by_name.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in by_name.items()}
