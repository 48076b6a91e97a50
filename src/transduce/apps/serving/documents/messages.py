"""Messages between a server and the process of a document: msgpack of a few types, never pickles."""

from typing import TypeVar

import msgspec

from docsegments.tagged_text import Tags
from docsegments.translating.sentence_translator import SentenceRequest
from transduce.text.glossary import Entry

T = TypeVar("T")


class File(msgspec.Struct, frozen=True):
    """A document's bytes."""

    data: bytes
    name: str
    """The file's name, for its format and for messages."""
    kind: str | None = None
    """The format; None for that of the name's ending. `xml` with `tags`, which is not a format of files."""
    tags: Tags | None = None
    """Settings for the elements of XML or HTML that is part of a request."""


class ReadSample(msgspec.Struct, frozen=True, tag=True):
    """To the process: read a document and return the beginning of its text, to detect its language."""

    file: File
    target: str


class Read(msgspec.Struct, frozen=True, tag=True):
    """To the process: read documents, translate and write them."""

    files: list[File]
    source: str
    target: str
    can_require: bool
    """The answer of SentenceTranslator.can_require; the next field, of can_align."""
    can_align: bool
    longest: int | None = None
    """The most characters of a paragraph; with it the process reports what it has read, and waits to go on."""
    splits_sentences: bool = True
    """See DocumentTranslator."""
    has_memory: bool = False
    """True if the other end has a memory, which is asked for each segment."""
    context: int = 0
    """See SentenceTranslator; the next field, too."""
    reads_both: bool = False
    before: list[str] = []
    """Sentences before each of the documents."""


class ReadEntries(msgspec.Struct, frozen=True, tag=True):
    """To the process: read a translation memory (.tmx) or a glossary (.tsv, .csv, .tbx)."""

    file: File
    source: str
    target: str


class Translate(msgspec.Struct, frozen=True, tag=True):
    """To the process: continue, translate and write the documents that were read."""

    with_progress: bool
    retranslate: bool = False
    """True if translations that the documents have are replaced."""


class Sampled(msgspec.Struct, frozen=True, tag=True):
    """From the process: the beginning of a document's text."""

    text: str


class OpenSegment(msgspec.Struct, frozen=True):
    """A text of a document that needs a translation."""

    source: str
    where: str
    """First position of the text in the document, for people."""
    held: list[str]
    """Texts that the translation must contain as they are, such as placeholders."""


class Counted(msgspec.Struct, frozen=True, tag=True):
    """From the process: how much text it has read."""

    characters: int
    too_large: str = ""
    """The position of the first paragraph with more characters or marks than allowed; "" for none."""
    segments: list[OpenSegment] = []
    """Segments that are to be translated, each text once, in the order of the documents."""


class EntriesRead(msgspec.Struct, frozen=True, tag=True):
    """From the process: sources and translations."""

    entries: list[Entry]


class WrittenFiles(msgspec.Struct, frozen=True, tag=True):
    """From the process: the translated documents."""

    files: list[bytes]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """From the process: the documents cannot be translated, for a reason that their owner should read."""

    reason: str


class OutOfMemory(msgspec.Struct, frozen=True, tag=True):
    """From the process: the documents need more memory than it may have."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """From the process: an error of the program."""

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

    requests: list[SentenceRequest]
    before: float = 0.0
    """The share of the work that was done before these sentences."""
    size: float = 0.0
    """The share of the work that these sentences are."""


class Align(msgspec.Struct, frozen=True, tag=True):
    """From the process: a question, see SentenceTranslator.align."""

    pairs: list[tuple[str, str]]


class Recall(msgspec.Struct, frozen=True, tag=True):
    """From the process: a question for a source and its translation in the other end's memory, or None."""

    text: str
    """The segment's text without its tags, with single blanks, perhaps after a line of the text before it."""


Order = ReadSample | Read | ReadEntries | Translate
Question = Examine | Sentences | Align | Recall
Result = Sampled | Counted | EntriesRead | WrittenFiles
Report = Question | Result | Refused | OutOfMemory | Failed


def encode(message: object) -> bytes:
    """Encodes a message, or the answer to a question, as bytes."""
    return msgspec.msgpack.encode(message)


def decode(data: bytes, kind: type[T]) -> T:
    """Decodes bytes to a type; msgspec.DecodeError for bytes of another."""
    return msgspec.msgpack.decode(data, type=kind)
