"""Eighteen kinds of noise, planted into good pairs of a corpus; each function returns a faulty pair, or None."""

import html
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Pair = tuple[str, str]
BOILERPLATE = [
    ("Diese Seite verwendet Cookies (Nr. {}).", "This page uses cookies (no. {})."),
    ("Seite {} | Startseite | Impressum", "Page {} | Home | Imprint"),
    ("Alle Rechte vorbehalten, {}", "All rights reserved, {}"),
    ("Artikel {} in den Warenkorb", "Add article {} to your cart"),
]
CONFUSED = {
    **{"0": "O", "o": "0", "O": "0", "1": "l", "l": "1", "I": "l", "i": "1", "5": "S", "s": "5", "S": "5", "8": "B"},
    **{"B": "8", "rn": "m", "nn": "m", "m": "rn", "cl": "d", "d": "cl", "vv": "w", "w": "vv", "ii": "u", "u": "ii"},
    **{"li": "h", "h": "li", "c": "e", "e": "c"},
}
"""Optical character recognition reads one of these for the other."""
CONFUSED_SIGNS = re.compile("|".join(sorted(CONFUSED, key=len, reverse=True)))
LONG_WORD = re.compile(r"[^\W\d_]{8,}")
BLOCK = 400
"""Pairs of a block whose targets are one line off."""


@dataclass
class Planter:
    """Makes faulty pairs out of those of a corpus."""

    pairs: Sequence[Pair]
    foreign: Sequence[str]
    """Sentences of a third language."""
    gloss: Callable[[str], str]
    """A poor translation of a source, word by word."""
    chance: random.Random
    left: Sequence[Pair] = ()
    """Good pairs of which copies are made."""

    def misaligned(self, pair: Pair) -> Pair:
        return pair[0], self.chance.choice(self.pairs)[1]

    def reordered_source(self, pair: Pair) -> Pair | None:
        return self._changed(pair, 0, self._reordered)

    def reordered_target(self, pair: Pair) -> Pair | None:
        return self._changed(pair, 1, self._reordered)

    def foreign_source(self, pair: Pair) -> Pair:
        return self.chance.choice(self.foreign), pair[1]

    def foreign_target(self, pair: Pair) -> Pair:
        return pair[0], self.chance.choice(self.foreign)

    def copied_source(self, pair: Pair) -> Pair:
        return pair[0], pair[0]

    def copied_target(self, pair: Pair) -> Pair:
        return pair[1], pair[1]

    def swapped(self, pair: Pair) -> Pair:
        return pair[1], pair[0]

    def cut_source(self, pair: Pair) -> Pair | None:
        return self._changed(pair, 0, self._cut)

    def cut_target(self, pair: Pair) -> Pair | None:
        return self._changed(pair, 1, self._cut)

    def repeated(self, pair: Pair) -> Pair:
        source, target = self.chance.choice(self.left)
        number = self.chance.randrange(1, 99)
        return (
            (f"{number}. {source}", f"{number}. {target}") if number % 2 else (f"{source.rstrip('.')}!", f"{target} ")
        )

    def boilerplate(self, pair: Pair) -> Pair:
        number = self.chance.randrange(1, 999)
        source, target = self.chance.choice(BOILERPLATE)
        return (source.format(number) if number % 2 else pair[0]), target.format(number)

    def other_number(self, pair: Pair) -> Pair | None:
        digits = [place for place, sign in enumerate(pair[1]) if sign in "0123456789"]
        if not digits:
            return None
        place = self.chance.choice(digits)
        other = self.chance.choice([digit for digit in "123456789" if digit != pair[1][place]])
        return pair[0], f"{pair[1][:place]}{other}{pair[1][place + 1 :]}"

    def word_by_word(self, pair: Pair) -> Pair:
        return pair[0], self.gloss(pair[0])

    def mojibake(self, pair: Pair) -> Pair | None:
        wrong = tuple(text.encode().decode("cp1252", "replace") for text in pair)
        return None if wrong == tuple(pair) else (wrong[0], wrong[1])

    def markup(self, pair: Pair) -> Pair:
        source, target = pair
        ways = (f"<p class='a'>{source}</p>", target), (source, f"&nbsp;{html.escape(target)}<br />&raquo;")
        return self.chance.choice(ways)

    def ocr(self, pair: Pair) -> Pair | None:
        """A tenth of the characters of a side that may be is misread, and a tenth of its long words cut by a hyphen."""
        side = self.chance.randrange(2)

        def misread(found: re.Match[str]) -> str:
            return CONFUSED[found[0]] if self.chance.random() < 0.1 else found[0]

        def cut(found: re.Match[str]) -> str:
            half = len(found[0]) // 2
            return f"{found[0][:half]}- {found[0][half:]}" if self.chance.random() < 0.1 else found[0]

        text = CONFUSED_SIGNS.sub(misread, pair[side])
        wrong = sum(word != other for word, other in zip(text.split(), pair[side].split(), strict=True))
        text = LONG_WORD.sub(cut, text)
        return None if wrong < 2 else (text, pair[1]) if side == 0 else (pair[0], text)

    def _changed(self, pair: Pair, side: int, change: Callable[[list[str]], list[str]]) -> Pair | None:
        text = pair[side]
        joint = " " if len(text.split()) > 2 or len(text) < 8 else ""
        parts = text.split() if joint else list(text)
        changed = joint.join(change(parts)) if len(parts) > 3 else text
        if changed == text:
            return None
        return (changed, pair[1]) if side == 0 else (pair[0], changed)

    def _reordered(self, parts: list[str]) -> list[str]:
        return self.chance.sample(parts, len(parts))

    def _cut(self, parts: list[str]) -> list[str]:
        return parts[: max(round(len(parts) * self.chance.uniform(0.3, 0.6)), 1)]


KINDS = [
    *("misaligned", "reordered_source", "reordered_target", "foreign_source", "foreign_target", "copied_source"),
    *("copied_target", "swapped", "cut_source", "cut_target", "boilerplate", "other_number", "word_by_word"),
    *("mojibake", "markup", "ocr", "repeated"),
]
"""Names of the ways to make a pair faulty; copies are made last, of pairs that are left."""


def plant(planter: Planter, shares: dict[str, float], shifted: bool) -> tuple[list[Pair], list[str]]:
    """Returns pairs of which these shares are faulty, and the kind of each, "" for a good one; a block of targets
    may be one line late."""
    pairs, kinds = list(planter.pairs), [""] * len(planter.pairs)
    if shifted:
        first = round(0.4 * len(pairs))
        for place in range(first, first + BLOCK):
            pairs[place], kinds[place] = (pairs[place][0], planter.pairs[place + 1][1]), "shifted"
    free = [place for place, kind in enumerate(kinds) if not kind]
    planter.chance.shuffle(free)
    for kind, share in sorted(shares.items(), key=lambda item: KINDS.index(item[0])):
        planter.left = [pairs[place] for place in free]
        left, tries = round(share * len(pairs)), 0
        while left and free and tries < 3 * len(pairs):
            place, tries = free.pop(), tries + 1
            made = getattr(planter, kind)(planter.pairs[place])
            if made is None:
                free.insert(0, place)
                continue
            pairs[place], kinds[place] = made, kind
            left -= 1
    return pairs, kinds
