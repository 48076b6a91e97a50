"""Directions of translation, and the tokens that select one in a model of several."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from transduce.base.config import Settings
from transduce.base.errors import InputError
from transduce.corpora.languages import UNKNOWN

MANY = "many"
"""A name in place of languages for a model of several directions until one is chosen."""

LanguageTokenPlace = Literal["source", "decoder"]
SHOWN = 12  # languages that an error names


@dataclass(frozen=True)
class Direction:
    """A direction of translation, from one language to another."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"

    @property
    def reversed(self) -> "Direction":
        """The direction with source and target swapped."""
        return Direction(self.target, self.source)

    @staticmethod
    def parse(text: str) -> "Direction":
        """Parses a direction such as de-en; raises ValueError for other text."""
        match = re.fullmatch(r"(\w+)-(\w+)", text)
        if match is None or match[1] == match[2]:
            raise ValueError(f"expected two different languages, as in de-en or pt_BR-en, found {text[:40]!r}")
        return Direction(match[1], match[2])


def token_of(language: str, place: LanguageTokenPlace) -> str:
    """Returns the token of a language, as Johnson et al. (2017) write it on sources, and M2M100 on both sides."""
    return f"<2{language}>" if place == "source" else f"__{language}__"


class LanguageTokens(Settings, frozen=True):
    """The tokens that give a model of several directions one of them, and the directions that it was trained in.

    With the place `source`, the first token of each source names the target language (Johnson et al. 2017). With
    `decoder`, it names the source language, and the first token that the decoder reads names the target language (Fan
    et al. 2021).
    """

    place: LanguageTokenPlace
    """The position of the language tokens."""
    tokens: dict[str, str]
    """The token of each language, as the vocabulary spells it."""
    directions: tuple[str, ...] | None = None
    """The trained directions, such as de-en; None for each of the languages into each other."""

    def _check_together(self) -> None:
        if len(self.tokens) < 2 and self.place == "decoder":
            raise ValueError("tokens: expected those of two languages or more")
        for direction in map(Direction.parse, self.directions or ()):
            named = (direction.target,) if self.place == "source" else (direction.source, direction.target)
            if missing := [language for language in named if language not in self.tokens]:
                raise ValueError(f"directions: {direction}, but there is no token of {missing[0]}")

    @staticmethod
    def of(directions: Sequence[Direction], place: LanguageTokenPlace) -> "LanguageTokens":
        """Returns the tokens of the languages of some directions."""
        sources = {each.source for each in directions if place != "source"}
        languages = sorted({each.target for each in directions} | sources)
        tokens = {language: token_of(language, place) for language in languages}
        return LanguageTokens(place=place, tokens=tokens, directions=tuple(map(str, directions)))

    @property
    def trained(self) -> list[Direction]:
        """The directions that were trained."""
        if self.directions is not None:
            return [Direction.parse(text) for text in self.directions]
        return [Direction(source, target) for source in self.tokens for target in self.tokens if source != target]

    @property
    def first(self) -> Direction:
        """The first of the directions that were trained."""
        if self.directions is not None:
            return Direction.parse(self.directions[0])
        source, target = list(self.tokens)[:2]
        return Direction(source, target)

    @property
    def sources(self) -> list[str]:
        """The languages that the model reads."""
        return list(self.tokens) if self.directions is None else _each(direction.source for direction in self.trained)

    @property
    def targets(self) -> list[str]:
        """The languages that the model writes."""
        return list(self.tokens) if self.directions is None else _each(direction.target for direction in self.trained)

    def find(self, to: str | None, from_: str | None) -> Direction:
        """Returns the direction that is meant, even one that was not trained, between languages that were.

        Where sources have no token of their own language, this may stay unknown.

        Raises InputError for a language that the model does not know, or where it is not clear which one is meant.
        """
        if from_ is not None and from_ not in self.sources:
            raise InputError(f"the model does not read {from_[:20]!r}; it reads {_list(self.sources)}")
        if to is None:
            to = _only(self.targets) or _only([language for language in self.targets if language != from_])
        if to is None:
            raise InputError(f"the model writes several languages; choose one (to): {_list(self.targets)}")
        if to not in self.targets:
            raise InputError(f"the model does not write {to[:20]!r}; it writes {_list(self.targets)}")
        if from_ is None:
            from_ = _only([language for language in self.sources if language != to])
        if from_ is None and self.place == "decoder":
            raise InputError(f"the model reads several languages; say which this is (from): {_list(self.sources)}")
        if from_ == to:
            raise InputError(f"source and target are both {to!r}; choose two languages")
        return Direction(from_ or UNKNOWN[0], to)


def _each(languages: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(languages))


def _only(languages: Sequence[str]) -> str | None:
    return languages[0] if len(languages) == 1 else None


def _list(languages: Sequence[str]) -> str:
    more = len(languages) - SHOWN
    return ", ".join(languages[:SHOWN]) + (f" and {more} more" if more > 0 else "")
