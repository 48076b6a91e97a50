"""Which of the served languages a text is in: by py3langid where it is installed."""

from collections.abc import Sequence
from typing import Any


class Detector:
    """Tells languages apart; without py3langid it takes the first."""

    def __init__(self) -> None:
        try:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier
        except ImportError:
            self._identifier: Any = None
        else:
            self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def detect(self, text: str, languages: Sequence[str]) -> list[dict[str, Any]]:
        """Each language and how sure it is, in percent, the surest first; at least one language must be given."""
        codes = list(dict.fromkeys(languages))
        if self._identifier is None or not text.strip():
            return [{"confidence": 0.0, "language": codes[0]}]
        ranked = {code: float(share) for code, share in self._identifier.rank(text)}
        shares = [(ranked.get(code.partition("-")[0], 0.0), code) for code in codes]
        return [{"confidence": round(100 * share, 1), "language": code} for share, code in sorted(shares, reverse=True)]
