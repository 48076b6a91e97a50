"""Detects the language of a text that is to be translated, among the languages that are served and others."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from docsegments.language_codes import english_name
from transduce.apps.serving.refusals import RefusedError
from transduce.corpora.language_detector import NONE, VARIANTS, LanguageDetector, canonical, detector_of

SERVED_WEIGHT = 4.0
"""The factor by which a language that the server translates is more probable before its text is read."""
LEAST = 1.0
"""The least probability of a language that is reported, in percent."""
MOST_LANGUAGES = 5
TIMES = 10.0
"""A language that is not served must be so many times as probable as any that is."""
SHORT, SURE_OF_SHORT = 25, 0.85
"""In a text of fewer characters, but for repeated words, it must also be this probable."""
MIXED = 0.2
"""The share of a document that must be translated if the rest is in the target language already."""
CERTAIN, LEAST_CERTAIN = 50.0, 0.1
"""A sentence of a document stays if the target language is so many times as probable as the source, and so probable."""
_TAG = re.compile(r"<!--(?:(?!-->).)*+(?:-->|\Z)|<[^<>]*+>", re.DOTALL)


class Detector:
    """Detects languages; served ones are likelier."""

    def __init__(self, own: Callable[[], Iterable[str]] = tuple) -> None:
        """Makes a detector; `own` returns the profiles that served models have of their own languages."""
        self._own = own

    def detect(self, text: str, served: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the probable languages of a text and their confidences in percent, the surest first: served ones by
        their own codes, "und" for none that is known. A text without letters is in the first, with confidence 0."""
        ranked = self._shares(text, served)
        facts = [_fact(share, code) for share, code in ranked[:MOST_LANGUAGES] if 100 * share >= LEAST]
        return facts or [_fact(*ranked[0])]

    def find_source(self, text: str, sources: Sequence[str], target: str, what: str = "text") -> dict[str, Any]:
        """Returns the language of a text that is to be translated, one of the sources or the target, and its confidence
        in percent; RefusedError (400) for a text in another one. Short texts are unsure: there served ones go first."""
        served = [*sources, target]
        ranked = self._shares(text, served)
        known = self._detector().languages | VARIANTS.keys()
        unknown = [code for code in sources if canonical(code) not in known]
        share, code = ranked[0]
        if code == target and what == "document":
            share, code = next((one for one in ranked if one[0] >= MIXED and one[1] in sources), ranked[0])
        own = next((one for one in ranked if one[1] in served), (0.0, sources[0]))
        is_sure = share >= TIMES * own[0] and (len(_once(text)) >= SHORT or share >= SURE_OF_SHORT)
        if code not in served and not is_sure:
            share, code = own
        if unknown and code not in sources:  # nobody can know that it is not in this one
            return _fact(0.0, unknown[0])
        if code not in served:
            seems = "no language that is known here" if code == NONE else f"{english_name(code)} ({code})"
            raise RefusedError(
                400,
                f"The {what} seems to be in {seems}, which no model here translates to {target}; "
                f"name its source ({', '.join(sources)}) if that is wrong",
            )
        return _fact(share, code)

    def are_translated(self, source: str, target: str, texts: Sequence[str]) -> list[bool]:
        """Returns True for each text that is certainly in the target language; none that is short is."""
        begin, end = canonical(source), canonical(target)
        found = self._detector().detect(texts, {begin: SERVED_WEIGHT, end: 1.0})
        return [
            len(text) >= SHORT and shares.get(end, 0.0) >= max(LEAST_CERTAIN, CERTAIN * shares.get(begin, 0.0))
            for text, shares in zip(texts, found, strict=True)
        ]

    def _detector(self) -> LanguageDetector:
        return detector_of(tuple(dict.fromkeys(self._own())))

    def _shares(self, text: str, served: Sequence[str]) -> list[tuple[float, str]]:
        """Returns the probability of each language, the greatest first; 0 for the first one if there are no letters."""
        codes: dict[str, str] = {}
        for code in served:
            codes.setdefault(canonical(code), code)
        ranked = self._detector().detect_parts(_once(text), dict.fromkeys(codes, SERVED_WEIGHT))
        if ranked == {NONE: 1.0}:
            return [(0.0, served[0])]
        return [(share, codes.get(code, code)) for code, share in ranked.items()]


def without_tags(text: str) -> str:
    """Returns roughly the text of a page, without tags, which are in no language of its own."""
    return _TAG.sub(" ", text)


def _once(text: str) -> str:
    """Returns the words of a text, each once: what is repeated says nothing more."""
    return " ".join(dict.fromkeys(text.split()))


def _fact(share: float, code: str) -> dict[str, Any]:
    return {"confidence": round(100 * share, 1), "language": code}
