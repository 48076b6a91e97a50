"""The state of a text that a language model writes: its stops, its length, and the text of its tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transduce.base.errors import InputError
from transduce.text.tokenizer import Tokenizer

UNFINISHED = "\ufffd"  # decoded from bytes that are not yet a character


@dataclass(frozen=True)
class Ends:
    """The conditions that end writing."""

    max_tokens: int
    texts: tuple[str, ...]

    @property
    def with_line(self) -> bool:
        """True if the end of a line is a stop."""
        return "\n" in self.texts

    def find(self, written: str) -> int | None:
        """Returns the start of the first stop in a text; None without one."""
        return min((index for end in self.texts if (index := written.find(end)) >= 0), default=None)

    def unsure(self, written: str) -> int:
        """Returns the number of last characters that may be the beginning of a stop."""
        return max((n for end in self.texts for n in range(1, len(end)) if written.endswith(end[:n])), default=0)


@dataclass(frozen=True)
class Writing:
    """A text that is being written."""

    ids: list[int]
    begun: int
    """The number of ids that were given."""
    log_probability: float = 0.0
    stopped: bool = False

    @property
    def written(self) -> int:
        """The number of tokens that were added."""
        return len(self.ids) - self.begun

    def is_open(self, ends: Ends) -> bool:
        """Returns True if the text may still be continued."""
        return not self.stopped and self.written < ends.max_tokens


def ends_of(max_tokens: int, stop: Iterable[str]) -> Ends:
    """Returns the conditions that end writing; raises InputError for an invalid number of tokens or stop."""
    texts = (stop,) if isinstance(stop, str) else tuple(stop or ())
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool):
        raise InputError(f"max_tokens must be a whole number, but is {max_tokens!r}")
    if max_tokens < 1:
        raise InputError(f"max_tokens must be at least 1, but is {max_tokens}")
    if others := [text for text in texts if not isinstance(text, str)]:
        raise InputError(f"stop: expected texts, but found {others[0]!r}")
    if not all(texts):
        raise InputError("stop: an empty text would end each output before it begins; leave it out")
    return Ends(max_tokens, texts)


class GrowingText:
    """Decodes the text added to given tokens line by line, so that the time per token does not grow."""

    def __init__(self, tokenizer: Tokenizer, ids: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._line = list(ids[_after_last_line(tokenizer, ids) :])
        self._given = len(text_of(tokenizer, self._line))
        self._lines = ""
        self.written = ""
        """The text that was added."""

    def add(self, token: int) -> str:
        """Adds a token, and returns the added text."""
        self._line.append(token)
        text = text_of(self._tokenizer, self._line)[self._given :]
        self.written = self._lines + text
        if _ends_line(self._tokenizer, token):
            self._line, self._given, self._lines = [], 0, self.written
        return self.written

    @property
    def unsure(self) -> int:
        """The number of last characters that the next tokens may change."""
        broken = len(self.written) - len(self.written.rstrip(UNFINISHED))
        if not self._tokenizer.joins_words or not self._line:
            return broken
        last = len(self._tokenizer.decode(self._line[-1:]))
        return max(broken, last + (self.written[-last - 1 : -last] == " "))


def _after_last_line(tokenizer: Tokenizer, ids: Sequence[int]) -> int:
    """Returns the index after the last token that ends a line."""
    return next((index + 1 for index in range(len(ids) - 1, -1, -1) if _ends_line(tokenizer, ids[index])), 0)


def _ends_line(tokenizer: Tokenizer, token: int) -> bool:
    """Returns True if the text after a token reads the same without the text before it."""
    return token == tokenizer.eos or (tokenizer.newline_is_text and text_of(tokenizer, [token]).endswith("\n"))


def text_of(tokenizer: Tokenizer, ids: Iterable[int]) -> str:
    """Returns the text of tokens; the end token ends a line or, if newlines are text, is spelled out."""
    lines: list[list[int]] = [[]]
    for token in ids:
        if token == tokenizer.eos:
            lines.append([])
        else:
            lines[-1].append(token)
    return tokenizer.end_text.join(tokenizer.decode(line, on_one_line=False) for line in lines)
