"""Steps that leave out training pairs which would teach errors; each counts and shows the pairs that it dropped."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from tokenizers import Regex, normalizers

from docsegments.orthography.words import count_words, word_texts
from transduce.base.config import Settings, convert, read_changes
from transduce.base.ranges import LARGEST, PositiveInt, PositiveShare
from transduce.corpora.corpus import Filter, Keeps, ParallelCorpus, SentencePair
from transduce.corpora.fingerprints import Fingerprints
from transduce.corpora.language_detector import NONE, canonical, detector_of, is_shipped
from transduce.corpora.overlap import OverlapFilter, Scope, plain, scope_fingerprint
from transduce.corpora.splitting import Side, letters_of

USUAL = 10.0
"""The factor by which the language of a side is more probable than another one before a text is read."""


class CleaningStep(Settings, frozen=True):
    """A step that decides from the training pairs alone."""

    @property
    def content(self) -> str:
        """A text of all that decisions depend on."""
        return msgspec.json.encode(self).decode()

    @property
    def remembers(self) -> bool:
        """True if a decision depends on earlier pairs."""
        return False


class Length(CleaningStep, frozen=True, tag_field="kind", tag="length"):
    """Leaves out pairs with too few or too many words on a side."""

    min_words: PositiveInt = 1
    """The fewest words of each side; their number follows from white space, or from letters in scripts without it."""
    max_words: PositiveInt | None = None
    """The most words of each side; no limit by default."""

    def _check_together(self) -> None:
        if self.max_words is not None and self.max_words < self.min_words:
            raise ValueError("max_words must be at least min_words")

    @property
    def reason(self) -> str:
        """The reason for leaving pairs out."""
        if self.max_words is None:
            return f"with fewer than {self.min_words} words on a side"
        return f"with a side not of {self.min_words} to {self.max_words} words"

    def start(self) -> Keeps:
        """Begins a pass."""
        longest = self.max_words or float("inf")
        return lambda pair: all(self.min_words <= words <= longest for words in _lengths(pair))


class Ratio(CleaningStep, frozen=True, tag_field="kind", tag="ratio"):
    """Leaves out pairs of which one side has many times the words of the other."""

    most: Annotated[float, Meta(ge=1, le=LARGEST)] = 2.0
    """Maximum ratio of the word counts of the longer and the shorter side."""

    @property
    def reason(self) -> str:
        """The reason for leaving pairs out."""
        return f"with more than {self.most:g} times the words on a side"

    def start(self) -> Keeps:
        """Begins a pass."""

        def keeps(pair: SentencePair) -> bool:
            shorter, longer = sorted(_lengths(pair))
            return longer <= self.most * shorter

        return keeps


class Duplicates(CleaningStep, frozen=True, tag_field="kind", tag="duplicates"):
    """Removes duplicates (compared by 64-bit hashes)."""

    of: Scope = "pair"
    """The part that is compared: the pair, its source, or its target."""

    @property
    def reason(self) -> str:
        """The reason for leaving pairs out."""
        return f"whose {self.of} came before"

    @property
    def remembers(self) -> bool:
        """True if a decision depends on earlier pairs."""
        return True

    def start(self) -> Keeps:
        """Begins a pass."""
        seen = Fingerprints()
        return lambda pair: seen.add(scope_fingerprint(pair, self.of))


class Identical(CleaningStep, frozen=True, tag_field="kind", tag="identical"):
    """Leaves out pairs whose sides are equal but for case and spacing: text that was not translated."""

    @property
    def reason(self) -> str:
        """The reason for leaving pairs out."""
        return "with equal sides"

    def start(self) -> Keeps:
        """Begins a pass."""
        return lambda pair: plain(pair.source) != plain(pair.target)


class Repetition(CleaningStep, frozen=True, tag_field="kind", tag="repetition"):
    """Leaves out pairs with a side that repeats a phrase many times in a row, as failed translations do."""

    most: PositiveInt = 3
    """Maximum number of times in a row that a phrase may occur, unless the other side repeats one as often."""
    max_words: PositiveInt = 4
    """Length of the longest phrases that are looked for, in words."""

    @property
    def reason(self) -> str:
        """The reason for leaving pairs out."""
        return f"with a phrase more than {self.most} times in a row"

    def start(self) -> Keeps:
        """Begins a pass."""

        def keeps(pair: SentencePair) -> bool:
            fewer, more = sorted(_repetitions(text, self.max_words) for text in (pair.source, pair.target))
            return more <= max(self.most, fewer)

        return keeps


class Script(CleaningStep, frozen=True, tag_field="kind", tag="script"):
    """Leaves out pairs with a side that is not written in its script."""

    side: Side
    """The side that is looked at."""
    scripts: list[str]
    """The Unicode scripts of its language, such as ["Latin"], ["Cyrillic"] or ["Han", "Hiragana", "Katakana"]."""
    least: PositiveShare = 0.5
    """Minimum fraction of letters in these scripts; a side without letters is kept."""

    def _check_together(self) -> None:
        if not self.scripts:
            raise ValueError("scripts must name at least one script")
        for script in self.scripts:
            try:
                _letters_not_of([script])
            except Exception:  # the library raises bare Exception
                raise ValueError(f"'{script}' is not a Unicode script such as Latin, Cyrillic or Han") from None

    @property
    def reason(self) -> str:
        """The reason for leaving pairs out."""
        return f"whose {self.side} is not in {' or '.join(self.scripts)} script"

    def start(self) -> Keeps:
        """Begins a pass."""
        only_letters = normalizers.Replace(Regex(r"[\P{L}\p{Common}\p{Inherited}]"), "")
        without_others = _letters_not_of(self.scripts)
        takes_ascii = "Latin" in self.scripts  # whose letters are all of ASCII's: most text is decided at once

        def keeps(pair: SentencePair) -> bool:
            text = getattr(pair, self.side)
            if takes_ascii and text.isascii():
                return True
            letters = only_letters.normalize_str(text)
            return len(without_others.normalize_str(letters)) >= self.least * len(letters)

        return keeps


class Language(CleaningStep, frozen=True, tag_field="kind", tag="language"):
    """Leaves out pairs with a side that is hardly in its language, as `/detect` of a server tells it."""

    side: Side
    """The side that is looked at."""
    language: str
    """The code of its language, such as de; one of the 200 that can be detected."""
    least: PositiveShare = 0.1
    """Minimum probability of the language; a side without letters is kept."""

    def _check_together(self) -> None:
        if not is_shipped(self.language):
            raise ValueError(f"'{self.language}' is not a language that can be detected; leave this step out")

    @property
    def reason(self) -> str:
        """The reason for leaving pairs out."""
        return f"whose {self.side} is not in {self.language}"

    def start(self) -> Keeps:
        """Begins a pass."""
        detector, code = detector_of(), canonical(self.language)

        def keeps(pair: SentencePair) -> bool:
            (shares,) = detector.detect([getattr(pair, self.side)], {code: USUAL})
            return shares == {NONE: 1.0} or shares.get(code, 0.0) >= self.least

        return keeps


class Prefix(CleaningStep, frozen=True, tag_field="kind", tag="prefix"):
    """Keeps only pairs whose given side starts with one of the prefixes."""

    side: Side
    """The side that is looked at, without regard to case, accents and punctuation: "I'm" begins with "i m"."""
    prefixes: list[str]
    """Beginnings in lower case; one that ends in a space must end with a word, else it may end within one."""

    def _check_together(self) -> None:
        for prefix in self.prefixes:
            if not prefix.strip() or letters_of(prefix) != prefix.rstrip(" "):
                raise ValueError(f"the prefix {prefix!r} can never match: write lower-case words without punctuation")

    @property
    def reason(self) -> str:
        """The reason for leaving pairs out."""
        return f"whose {self.side} begins with none of the prefixes"

    def start(self) -> Keeps:
        """Begins a pass."""
        beginnings = tuple(self.prefixes)
        return lambda pair: f"{letters_of(getattr(pair, self.side))} ".startswith(beginnings)


class Overlap(Settings, frozen=True, tag_field="kind", tag="overlap"):
    """Removes training pairs that also occur in the validation or test data, ignoring case and spacing."""

    of: Scope | Literal["either"] = "pair"
    """The part that is compared: the pair, its source, its target, or either side."""


Step = Length | Ratio | Duplicates | Identical | Repetition | Script | Language | Prefix | Overlap
"""One entry of [[data.cleaning]]."""


def read_steps(texts: Sequence[str]) -> list[Step]:
    """Returns steps as a command line names them: a kind, and settings, such as `length max_words=150`."""
    steps = []
    for text in texts:
        kind, *settings = re.split(r"(?<!\s)\s++(?=\w++\s*+=)", text.strip())
        read = convert({"step": {"kind": kind, **read_changes(settings)}}, _OneStep, f"step '{text}'")
        steps.append(read.step)
    return steps


class _OneStep(Settings, frozen=True):
    step: Step


def selecting_filters(steps: Sequence[Step]) -> list[Filter]:
    """Returns the steps that decide from the training pairs alone."""
    return [step for step in steps if not isinstance(step, Overlap)]


def cleaning_filters(steps: Sequence[Step], held_out: Sequence[ParallelCorpus]) -> list[Filter]:
    """Returns all steps, in their order, for a training corpus beside held-out ones."""
    return [OverlapFilter(step.of, held_out) if isinstance(step, Overlap) else step for step in steps]


def _lengths(pair: SentencePair) -> tuple[int, int]:
    return count_words(pair.source), count_words(pair.target)


def _repetitions(text: str, max_words: int) -> int:
    """Returns the most times in a row that a phrase of at most this many words occurs, without regard to case."""
    words, most = word_texts(plain(text)), 1
    for length in range(1, min(max_words, len(words) // 2) + 1):
        equal = 0  # words in a row that equal the one `length` words before
        for word, before in zip(words[length:], words, strict=False):
            equal = equal + 1 if word == before else 0
            most = max(most, equal // length + 1)
    return most


def _letters_not_of(scripts: Sequence[str]) -> normalizers.Normalizer:
    """Returns a normalizer that removes the characters of all other scripts."""
    return normalizers.Replace(Regex("[^" + "".join(rf"\p{{{script}}}" for script in scripts) + "]"), "")
