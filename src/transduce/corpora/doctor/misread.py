"""Words that were misread when pages were scanned, told by frequent words of the same corpus that look like them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_]+(?:-\s?[^\W_]+)?")
_NUMERAL = re.compile(r"[\d-]+|[ivx-]+")
"""A number in Arabic or Roman digits."""
_LOOKS = str.maketrans(
    {"0": "o", "1": "l", "i": "l", "5": "s", "8": "b", "e": "c", "-": None, " ": None}
    | {"m": "nn", "d": "cl", "w": "vv", "u": "ll", "h": "ll"}
)
"""Characters that optical character recognition confuses, each with a common form."""
OFTEN = 10
"""Occurrences from which on a word is frequent, for each one of a word that it is misread as."""
SHORT, LONG = 5, 6
"""Words of a side in which one of so many letters that was misread is a fault: short words look like others."""
SEVERAL = 3
"""Occurrences from which on a word is one of its own beside a frequent one like it: alone it is not a fault."""
SHARE = 0.1
"""Share of a side's words, but at least two, that is a fault if they were misread."""


class Misread:
    """The frequent words of one side of a corpus, by what they look like."""

    def __init__(self, texts: Iterable[str]) -> None:
        counts = Counter(word for text in texts for word in _words(text))
        alike = defaultdict[str, list[str]](list)
        for word in counts:
            alike[_look(word)].append(word)
        self._known: dict[str, frozenset[str]] = {}
        """Words that are not much rarer than the most frequent one that looks the same, by their look."""
        for look, words in alike.items():
            most = max(counts[word] * ("-" not in word) for word in words)
            if most >= OFTEN:
                self._known[look] = frozenset(word for word in words if counts[word] * OFTEN > most)
        self._several = frozenset(word for word, count in counts.items() if count >= SEVERAL)

    def holds(self, text: str) -> bool:
        """Returns True if so many words of a text were misread that this is a fault."""
        words = _words(text)
        misread = [word for word in words if word not in self._known.get(_look(word), (word,))]
        is_certain = len(words) <= SHORT and any(len(word) >= LONG and word not in self._several for word in misread)
        return is_certain or len(misread) >= max(2, SHARE * len(words))


def _look(word: str) -> str:
    return word.translate(_LOOKS).replace("rn", "nn")


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if len(word) > 2 and not _NUMERAL.fullmatch(word)]
