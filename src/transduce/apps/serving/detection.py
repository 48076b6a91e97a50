"""Detects the language of a text, by py3langid if it is installed."""

import re
from collections.abc import Sequence
from typing import Any

from docsegments.language_codes import english_name, primary
from transduce.apps.serving.refusals import RefusedError

ALIASES = {"nb": "no", "iw": "he", "in": "id", "fil": "tl", "zt": "zh", "cmn": "zh", "pb": "pt"}
"""Codes that servers use, and those of py3langid for the same languages."""
NO_LANGUAGE = "zxx"
SERVED_WEIGHT = 4.0
"""The factor by which a language that the server translates is more probable before its text is read."""
LEAST = 1.0
"""The least probability of a language that is reported, in percent."""
MOST_LANGUAGES = 5
SHORT, SURE = 20, 0.5
"""In a text of fewer characters, a language that is not served must be this probable."""
LOOKED_AT = 2000
"""The most characters of a text that are read: the library's normalisation takes quadratic time on stacked accents."""
_TAG = re.compile(r"<!--(?:(?!-->).)*+(?:-->|\Z)|<[^<>]*+>", re.DOTALL)


class Detector:
    """Detects languages; without py3langid it takes the first."""

    def __init__(self) -> None:
        try:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier
        except ImportError:
            self._identifier: Any = None
        else:
            self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def detect(self, text: str, served: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the probable ones of all languages and their confidences in percent, the surest first; those that are
        served, at least one, by their own codes."""
        if self._identifier is None or not text.strip():
            return [_fact(0.0, served[0])]
        ranked = self._shares(text, served)
        facts = [_fact(share, code) for share, code in ranked[:MOST_LANGUAGES] if 100 * share >= LEAST]
        return facts or [_fact(*ranked[0])]

    def find_source(self, text: str, sources: Sequence[str], target: str, what: str = "text") -> dict[str, Any]:
        """Returns the language of a text that is to be translated, one of the sources or the target, and its confidence
        in percent; RefusedError (400) for a text in another one. Short texts are unsure: there served ones go first."""
        if self._identifier is None or not text.strip():
            return _fact(0.0, sources[0])
        served = [*sources, target]
        ranked = self._shares(text, served)
        known = {canonical(code) for _, code in ranked}
        unknown = [code for code in sources if canonical(code) not in known]
        if ranked[0][0] < SURE and len(text) < SHORT:
            ranked = [one for one in ranked if one[1] in served] or ranked
        share, code = ranked[0]
        if unknown and code not in sources:  # py3langid cannot know that it is not in this one
            return _fact(0.0, unknown[0])
        if code not in served:
            raise RefusedError(
                400,
                f"The {what} seems to be in {english_name(code)} ({code}), which no model here translates to {target}; "
                f"name its source ({', '.join(sources)}) if that is wrong",
            )
        return _fact(share, code)

    def _shares(self, text: str, served: Sequence[str]) -> list[tuple[float, str]]:
        """Returns the probability of each language, the greatest first."""
        codes: dict[str, str] = {}
        for code in served:
            codes.setdefault(canonical(code), code)
        shares = {
            codes.get(code, code): share * (SERVED_WEIGHT if code in codes else 1.0)
            for code, share in self._rank(text).items()
        }
        total = sum(shares.values()) or 1.0
        return sorted(((share / total, code) for code, share in shares.items()), key=lambda one: -one[0])

    def _rank(self, text: str) -> dict[str, float]:
        ranked: list[tuple[str, float]] = self._identifier.rank(text[:LOOKED_AT])
        return {code: float(share) for code, share in ranked if code != NO_LANGUAGE}


def without_tags(text: str) -> str:
    """Returns roughly the text of a page, without tags, which are in no language of its own."""
    return _TAG.sub(" ", text)


def canonical(code: str) -> str:
    """Returns the code of py3langid for a language in any region."""
    language = primary(code)
    return ALIASES.get(language, language)


def _fact(share: float, code: str) -> dict[str, Any]:
    return {"confidence": round(100 * share, 1), "language": code}
