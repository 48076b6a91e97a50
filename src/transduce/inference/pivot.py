"""Translation through a third language: what one model writes is read by another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

import msgspec

from transduce.base.errors import InputError
from transduce.bundle.bundle_config import BundleConfig
from transduce.inference.constraints import Piece
from transduce.inference.engines.engine import Engine
from transduce.inference.engines.exported import ThroughThird
from transduce.inference.request import Request
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.search.choices import DecisionRule, Search
from transduce.text.tokenizer import Tokenizers


@dataclass
class PivotEngine:
    """The engines of both models, one after the other."""

    first: Translator
    second: Translator
    source_limit: int | None = None

    def of(self, piece: Piece, search: Search) -> Engine:
        """Raises InputError: the models search one after the other, each for pieces of its own."""
        _refuse("be searched with at once")

    def describe(self, search: Search) -> str:
        """See EngineChoice."""
        return f"{self.first.engine.describe(search)}, then {self.second.engine.describe(search)}"


class Pivot(Translator):
    """Translates by two translators in their directions: the first one's best translation is the second one's source.

    It takes two searches a line, and what is lost in the language between stays lost. Prefixes, required and banned
    phrases are for the second model. Words are not aligned, pairs not scored, and typed text not completed.
    """

    def __init__(self, first: Translator, second: Translator) -> None:
        """Raises InputError unless the second reads what the first writes, and writes another language."""
        source, middle = first.bundle.config.source, first.bundle.config.target
        target = second.bundle.config.target
        if second.bundle.config.source != middle:
            raise InputError(
                f"the first model writes {middle}, but the second one reads {second.bundle.config.source}; choose "
                "models that have a language in common"
            )
        if source == target:
            raise InputError(f"both models together translate {source} into itself; choose others")
        self.first, self.second, self.middle = first, second, middle
        self.engine, self.quality = PivotEngine(first, second), None
        self.longest_source = first.longest_source
        tokenizers = Tokenizers(first.bundle.tokenizers.source, second.bundle.tokenizers.target)
        self.bundle = ThroughThird(_config(first, second), tokenizers)

    @staticmethod
    def of(first: Translator, second: Translator, to: str | None, from_: str | None, through: str | None) -> "Pivot":
        """Returns the pivot from one language to another.

        Args:
            first: reads the source; a model of several directions is given the one that is meant.
            second: writes the target; may be the same model.
            to: the target language, where the second model writes several.
            from_: the source language, where the first model reads several.
            through: the language between (default: the only one that the first writes or the second reads); a model
                that is used twice must know several.

        Raises InputError where it is not clear what is meant, or the models do not know a language.
        """
        if through is None:
            one_way = [each.bundle.config for each in (first, second) if each.bundle.config.languages is None]
            if not one_way:
                raise InputError("both models know several languages; say which one is between them (through)")
            through = one_way[0].target if first.bundle.config.languages is None else one_way[0].source
        elif first is second and first.bundle.config.languages is None:
            raise InputError(f"the model knows one direction, and cannot translate through {through} by itself")
        knows_several = [each.bundle.config.languages is not None for each in (first, second)]
        first = first.directed(through if knows_several[0] else None, from_)
        return Pivot(first, second.directed(to, through if knows_several[1] else None))

    def directed(self, to: str | None = None, from_: str | None = None) -> "Translator":
        """See Translator; it has one direction."""
        self.bundle.config.find_direction(to, from_)
        return self

    def warm_up(self, search: DecisionRule | None = None) -> None:
        """See Translator."""
        self.first.warm_up(search)
        self.second.warm_up(search)

    def encode(self, texts: Sequence[str | Request]) -> list[list[list[int]]]:
        """See Translator; the tokens of the first model."""
        return self.first.encode([only_text(text) for text in texts])

    def translate_chunk(
        self,
        texts: Sequence[str | Request],
        search: DecisionRule,
        tell: Callable[[float], None] | None = None,
        with_details: bool = False,
        encoded: Sequence[list[list[int]]] | None = None,
    ) -> list[Translation]:
        """See Translator; half of the work is the first model's."""
        if with_details:
            _refuse("align words")
        requests = [Request(text) if isinstance(text, str) else text for text in texts]
        halves = [None if tell is None else partial(_tell_half, tell, number) for number in (0, 1)]
        plain = [only_text(request) for request in requests]
        middles = self.first.translate_chunk(plain, best_of(search), halves[0], encoded=encoded)
        asked = [self.continued(request, middle) for request, middle in zip(requests, middles, strict=True)]
        finals = self.second.translate_chunk(asked, search, halves[1])
        return [through(middle, final) for middle, final in zip(middles, finals, strict=True)]

    def continued(self, request: Request, middle: Translation) -> Request:
        """Returns what the second model is asked for, after the translation by the first."""
        return replace(request, text=middle.text, before=())

    def join(self, request: Request, pieces: Sequence[Translation], rule: DecisionRule) -> Translation:
        """See Translator."""
        return self.second.join(request, pieces, rule)

    def why_unsatisfied(self, translation: Translation, phrase: str) -> str:
        """See Translator."""
        return self.second.why_unsatisfied(translation, phrase)


def best_of(rule: DecisionRule) -> DecisionRule:
    """Returns a search for the best output alone."""
    return rule if getattr(rule, "n_best", 1) == 1 else msgspec.structs.replace(rule, n_best=1)


def only_text(text: str | Request) -> Request:
    """Returns a request without constraints, which are for the language after the next."""
    return Request(text) if isinstance(text, str) else Request(text.text, before=text.before)


def through(middle: Translation, final: Translation) -> Translation:
    """Returns the final translation, with what is noted about the one between."""
    return replace(
        final,
        was_split=middle.was_split or final.was_split,
        truncated=middle.truncated or final.truncated,
        changed_numbers=list(dict.fromkeys([*middle.changed_numbers, *final.changed_numbers])),
        faults=list(dict.fromkeys([*middle.faults, *final.faults])),
        quality=None,
    )


def _config(first: Translator, second: Translator) -> BundleConfig:
    """Returns the settings of the second model, in the direction of both."""
    source, target = first.bundle.config.source, second.bundle.config.target
    return msgspec.structs.replace(
        second.bundle.config,
        source=source,
        target=target,
        languages=None,
        longest_source=first.bundle.config.longest_source,
        context=first.bundle.config.context,
    )


def _tell_half(tell: Callable[[float], None], number: int, share: float) -> None:
    tell((number + share) / 2)


def _refuse(what: str) -> NoReturn:
    raise InputError(f"two models, one after the other, cannot {what}; use one model")
