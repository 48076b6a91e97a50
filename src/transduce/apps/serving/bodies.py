"""Reads requests' values from the query, JSON or a form, within limits."""

import json
import sys
from typing import Annotated, Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, BeforeValidator, model_validator
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request as HTTPRequest

from transduce.apps.serving.refusals import RefusedError
from transduce.base.config import suggestion

JSON, FORM, URLENCODED = "application/json", "multipart/form-data", "application/x-www-form-urlencoded"
MOST_FIELDS = 20
"""The most fields of a form beside its texts."""
LONGEST_NAME = 40
"""The most characters of an unknown field's name that are told."""

Values = dict[str, Any]
"""The given values by name; a list if a value was given several times."""


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


async def read_form(http: HTTPRequest, most_values: int) -> tuple[Values, dict[str, UploadFile]]:
    """Returns the fields of a form, and its files, which stay in memory.

    Raises RefusedError (400) for an invalid form, and (415) for a body of another kind.
    """
    if content_type(http) != FORM:
        raise unsupported()
    parser = MultiPartParser(http.headers, http.stream(), max_files=MOST_FIELDS, max_fields=most_values + MOST_FIELDS)
    parser.spool_max_size = parser.max_part_size = sys.maxsize  # the body has its limit
    try:
        form = (await parser.parse()).multi_items()
    except MultiPartException as error:
        status = 413 if error.message.startswith("Too many") else 400
        raise RefusedError(status, f"Invalid request: the form cannot be read ({error.message[:100]})") from None
    files = {name: value for name, value in form if isinstance(value, UploadFile)}
    return _collected([(name, value) for name, value in form if isinstance(value, str)]), files


def unsupported() -> RefusedError:
    """Returns an error for a body of another kind: browsers send plain text for foreign pages without a CORS check."""
    return RefusedError(415, "Unsupported media type: send application/json, or a form")


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


def described(body: type[BaseModel], *kinds: str) -> dict[str, Any]:
    """Returns the description of a body of these kinds for `/openapi.json`."""
    schema = body.model_json_schema()
    whole = {"schema": _with_definitions(schema, schema.pop("$defs", {}))}
    return {"requestBody": {"required": True, "content": dict.fromkeys(kinds, whole)}}


def _with_definitions(schema: Any, definitions: dict[str, Any]) -> Any:
    """Returns a schema in which each reference is the definition that it names."""
    if isinstance(schema, list):
        return [_with_definitions(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _with_definitions(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {name: _with_definitions(part, definitions) for name, part in schema.items()}


def described_errors(field: str) -> dict[int | str, dict[str, Any]]:
    """Returns the descriptions of errors whose message is in a field."""
    schema = {"type": "object", "properties": {field: {"type": "string"}}}
    return {
        status: {"description": text, "content": {JSON: {"schema": schema}}}
        for status, text in {
            400: "Invalid request",
            403: "An API key is missing or wrong",
            404: "Not found",
            413: "Too much at once",
            415: "Neither JSON nor a form",
            429: "Slow down",
            503: "Busy; Retry-After says when to try again",
        }.items()
    }
