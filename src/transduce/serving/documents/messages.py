"""What a server and the process that reads a document say to each other: msgpack of a few types, never pickles."""

from typing import TypeVar

import msgspec

from transduce.inference.request import Request

T = TypeVar("T")


class File(msgspec.Struct, frozen=True):
    """A document's bytes."""

    data: bytes
    name: str
    """Its file's name, for its format and for messages."""
    kind: str | None = None
    """Its format; None for that of the name's ending."""


class Sample(msgspec.Struct, frozen=True, tag=True):
    """To the process: read a document and return the beginning of its text, to detect its language."""

    file: File
    target: str


class Read(msgspec.Struct, frozen=True, tag=True):
    """To the process: read documents, translate and write them."""

    files: list[File]
    source: str
    target: str
    can_require: bool
    """See SentenceTranslator, as the next one."""
    can_align: bool
    longest: int | None = None
    """Characters that a paragraph may have; with it the process reports what it has read, and waits to go on."""


class Translate(msgspec.Struct, frozen=True, tag=True):
    """To the process: go on, translate and write what you have read."""

    with_progress: bool
    retranslate: bool = False
    """Whether translations that the documents have are replaced."""


class Sampled(msgspec.Struct, frozen=True, tag=True):
    """From the process: the beginning of a document's text."""

    text: str


class Counted(msgspec.Struct, frozen=True, tag=True):
    """From the process: how much text it has read."""

    characters: int
    too_large: str = ""
    """Where the first paragraph is that has more characters or marks than are allowed; "" for none."""


class Written(msgspec.Struct, frozen=True, tag=True):
    """From the process: the translated documents."""

    files: list[bytes]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """From the process: the documents cannot be translated, for a reason that their owner should read."""

    reason: str


class OutOfMemory(msgspec.Struct, frozen=True, tag=True):
    """From the process: the documents need more memory than it may have."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """From the process: a mistake of the program."""

    error: str
    """The error's type."""
    lines: list[str]
    """The lines of code that led to it; its message is left out, for it may hold the document's text."""


class Examine(msgspec.Struct, frozen=True, tag=True):
    """From the process: a question, see SentenceTranslator.examine."""

    sentences: list[str]
    texts: list[str]


class Sentences(msgspec.Struct, frozen=True, tag=True):
    """From the process: a question, see SentenceTranslator.translate."""

    requests: list[Request]
    before: float = 0.0
    """The share of the work that was done before these sentences."""
    size: float = 0.0
    """The share that they are."""


class Align(msgspec.Struct, frozen=True, tag=True):
    """From the process: a question, see SentenceTranslator.align."""

    pairs: list[tuple[str, str]]


Order = Sample | Read | Translate
Question = Examine | Sentences | Align
Result = Sampled | Counted | Written
Report = Question | Result | Refused | OutOfMemory | Failed


def encode(message: object) -> bytes:
    """A message, or the answer to a question, as bytes."""
    return msgspec.msgpack.encode(message)


def decode(data: bytes, kind: type[T]) -> T:
    """What bytes say, which must be of a type; msgspec.DecodeError where they are not."""
    return msgspec.msgpack.decode(data, type=kind)
