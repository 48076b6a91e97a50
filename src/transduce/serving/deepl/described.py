"""Descriptions of DeepL's bodies and errors for `/openapi.json`."""

from typing import Any

from pydantic import BaseModel

from transduce.serving.bodies import FORM, JSON, URLENCODED


def _body(body: type[BaseModel], *kinds: str) -> dict[str, Any]:
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


def json_body(body: type[BaseModel]) -> dict[str, Any]:
    """Returns the description of a body in JSON."""
    return _body(body, JSON)


def any_body(body: type[BaseModel]) -> dict[str, Any]:
    """Returns the description of a body in JSON or a form."""
    return _body(body, JSON, URLENCODED)


def form_body(body: type[BaseModel]) -> dict[str, Any]:
    """Returns the description of a form with a file."""
    return _body(body, FORM)


_ERROR = {
    "content": {"application/json": {"schema": {"type": "object", "properties": {"message": {"type": "string"}}}}}
}
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"description": "Invalid request", **_ERROR},
    403: {"description": "A key is missing or wrong", **_ERROR},
    404: {"description": "Not found", **_ERROR},
    413: {"description": "Too much at once", **_ERROR},
    415: {"description": "Neither JSON nor a form", **_ERROR},
    429: {"description": "Slow down", **_ERROR},
    503: {"description": "Busy; Retry-After says when to try again", **_ERROR},
}
