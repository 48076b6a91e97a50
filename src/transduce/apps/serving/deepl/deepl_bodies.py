"""The bodies of requests to DeepL's API."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from docsegments.tagged_text import Tags
from transduce.apps.serving.bodies import JSON, URLENCODED, Texts, described_errors
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.request_texts import Split

KINDS, ERRORS = (JSON, URLENCODED), described_errors("message")
MOST_GLOSSARIES = 5
"""The most glossaries of a request."""
UNSUPPORTED = ("style_id", "custom_instructions", "translation_memory_id")
"""Values that a request must not have, since nothing here can do what they ask for."""


def _list(value: Any) -> Any:
    """Returns the texts of a list, each of which may hold several with commas between them."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise ValueError("expected names with commas between them, or a list of them")
    return [name.strip() for text in values for name in text.split(",") if name.strip()]


def _text(value: Any) -> Any:
    return str(int(value)) if isinstance(value, int) else value


Names = Annotated[list[str], BeforeValidator(_list), Field(max_length=100)]


class Authenticated(BaseModel):
    """A body that may hold the client's key; a blank value is as if it were not there."""

    auth_key: str | None = None

    @model_validator(mode="before")
    @classmethod
    def blank_as_missing(cls, body: Any) -> Any:
        """Leaves out what is blank, except a text."""
        if not isinstance(body, dict):
            return body
        return {name: value for name, value in body.items() if value not in ("", None) or name in ("text", "entries")}


class Asked(Authenticated):
    """The parts of a request that texts and documents share."""

    source_lang: str | None = None
    target_lang: str
    formality: Literal["default", "prefer_less", "prefer_more", "less", "more"] = "default"
    glossary_id: str | None = None
    glossary_ids: Names = Field(default_factory=list)

    @property
    def glossaries(self) -> list[str]:
        """The ids of the glossaries, the first of which counts most."""
        return [*([self.glossary_id] if self.glossary_id else []), *self.glossary_ids]

    def check(self) -> None:
        """Raises RefusedError (400) for what no model can do."""
        if self.formality in ("less", "more"):
            raise RefusedError(
                400, f"Value for 'formality' not supported: {self.formality!r}; use 'default' or 'prefer_*'"
            )
        if self.glossaries and self.source_lang is None:
            raise RefusedError(400, "Value for 'source_lang' is needed with a glossary")
        if len(self.glossaries) > MOST_GLOSSARIES:
            raise RefusedError(400, f"At most {MOST_GLOSSARIES} glossaries are taken at once")


class TranslateBody(Asked):
    """The body of a request to `/v2/translate`."""

    text: Texts
    context: str | None = None
    """Text before the texts, which a model that reads context reads with them."""
    show_billed_characters: bool = False
    split_sentences: Annotated[Literal["0", "1", "nonewlines"] | None, BeforeValidator(_text)] = None
    preserve_formatting: bool = False
    """Accepted, and without effect: nothing corrects formatting."""
    model_type: Literal["quality_optimized", "prefer_quality_optimized", "latency_optimized"] | None = None
    """Accepted, and without effect: there is one model for a direction."""
    tag_handling: Literal["xml", "html"] | None = None
    tag_handling_version: Literal["v1", "v2"] = "v1"
    """With v2, XML that is not well-formed is an error."""
    outline_detection: bool = True
    non_splitting_tags: Names = Field(default_factory=list)
    splitting_tags: Names = Field(default_factory=list)
    ignore_tags: Names = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def refuse_unsupported(cls, body: Any) -> Any:
        """Raises ValueError for values that are not supported."""
        if isinstance(body, dict) and (given := next((name for name in UNSUPPORTED if body.get(name)), None)):
            raise ValueError(f"'{given}' is not supported")
        return body

    @property
    def texts(self) -> list[str]:
        """The texts to translate."""
        return [self.text] if isinstance(self.text, str) else self.text

    @property
    def split(self) -> Split:
        """The parts of a text that are translated one by one."""
        default: Literal["1", "nonewlines"] = "nonewlines" if self.tag_handling == "html" else "1"
        splits: dict[str, Split] = {"0": "whole", "1": "lines", "nonewlines": "sentences"}
        return splits[self.split_sentences or default]

    @property
    def tags(self) -> Tags:
        """The settings for tags."""
        return Tags(
            tuple(self.splitting_tags),
            tuple(self.non_splitting_tags),
            tuple(self.ignore_tags),
            self.outline_detection,
            self.split == "lines",
            self.tag_handling_version == "v2",
        )


class DocumentBody(Asked):
    """The form of a request to `/v2/document`, as it is described; the server reads it piece by piece."""

    file: bytes = b""
    filename: str | None = None
    output_format: str | None = None


class DocumentKeyBody(Authenticated):
    """The body of a request for a document's state, or for its translation."""

    document_key: str


class DictionaryBody(Authenticated):
    """The entries of a dictionary."""

    source_lang: str
    target_lang: str
    entries: str
    entries_format: Literal["tsv", "csv"] = "tsv"


class GlossaryBody(DictionaryBody):
    """The body of a request for a new glossary of `/v2`, which has one dictionary."""

    name: str


class GlossaryWithDictionariesBody(Authenticated):
    """The body of a request for a new glossary of `/v3`."""

    name: str
    dictionaries: list[DictionaryBody] = Field(min_length=1, max_length=100)


class GlossaryChangeBody(Authenticated):
    """The body of a request to change a glossary."""

    name: str | None = None
    dictionaries: list[DictionaryBody] = Field(default_factory=list, max_length=100)
