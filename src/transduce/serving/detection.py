"""Detects the language of a text, by py3langid if it is installed."""

import re
from collections.abc import Sequence
from typing import Any

from transduce.documents.languages import primary

ALIASES = {"nb": "no", "iw": "he", "in": "id", "fil": "tl", "zt": "zh", "cmn": "zh", "pb": "pt"}
"""Codes that servers use, and those of py3langid for the same languages."""
NO_LANGUAGE = "zxx"
SERVED_WEIGHT = 4.0
"""The factor by which a language that the server translates is more probable before its text is read."""
LEAST = 1.0
"""The least probability of a language that is reported, in percent."""
MOST_LANGUAGES = 5
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

    def detect(self, text: str, languages: Sequence[str]) -> list[dict[str, Any]]:
        """Returns each language and its confidence in percent, the surest first; needs at least one language."""
        codes = list(dict.fromkeys(languages))
        if self._identifier is None or not text.strip():
            return [_fact(0.0, codes[0])]
        ranked = self._rank(text)
        shares = [(ranked.get(canonical(code), 0.0), code) for code in codes]
        return [_fact(share, code) for share, code in sorted(shares, key=lambda item: -item[0])]

    def detect_any(self, text: str, served: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the probable ones of all languages, the surest first; those that are served by their own codes."""
        if self._identifier is None or not text.strip():
            return [_fact(0.0, served[0])]
        codes: dict[str, str] = {}
        for code in served:
            codes.setdefault(canonical(code), code)
        shares = {
            codes.get(code, code): share * (SERVED_WEIGHT if code in codes else 1.0)
            for code, share in self._rank(text).items()
        }
        total = sum(shares.values()) or 1.0
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        probable = [(share / total, code) for code, share in ranked if 100 * share / total >= LEAST]
        facts = [_fact(share, code) for share, code in probable[:MOST_LANGUAGES]]
        return facts or [_fact(ranked[0][1] / total, ranked[0][0])]

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
