"""A judge of sentence pairs that a doctor has no part in: a rule of anchors, retrieval and form.

Its own IBM-1 learns from pairs which share a number or a name, have usual lengths and as many sentences; a pair is
judged by what files of the other half taught. A pair is faulty with one strong sign: a copy; a target (or source) that
more than a tenth of 60 others of its length fit as well; over a third of a side, five words in a row, that nothing
explains; unusual length; numbers of one side alone; letters of the other side. Or with two weak ones of these, of
sentences, final signs, capitals, and torn words.
"""

import bisect
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log, sqrt

Row = tuple[str, str, str]
Cover = list[list[tuple[bool, float]]]
WORD, NUMBER, END = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*"), re.compile(r"\d+"), re.compile(r"[.!?…](?=\s|$)")
PLAIN = str.maketrans("áàâäãåčćđðŋñšśžźŧöøõéèëíïóòúüýæǥǧǩʒǯ", "aaaaaaccddnnsszztoooeeeiioouuyaggkzz")
LEARNED, FITTED, OTHERS, JUDGED = 5_000, 1_500, 30, 200


class Judge:
    """Judges pairs by their places in the rows that it learned from."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        ratios = sorted(log((len(source) + 5) / (len(target) + 5)) for _, source, target in rows)
        self._usual = ratios[len(ratios) // 2]
        unlike = {(letters(row[1]), letters(row[2])): place for place, row in enumerate(rows) if self._is_anchored(row)}
        self.anchored = sorted(unlike.values())
        files = sorted({row[0] for row in rows})
        random.Random(1).shuffle(files)
        self._half = {file: number % 2 for number, file in enumerate(files)}
        self._in = [Counter[str](), Counter[str]()]
        for _, *texts in rows:
            for counts, text in zip(self._in, texts, strict=True):
                counts.update({word[:5] for word in long_words(text)})
        learned = [[place for place in self.anchored if self._half[rows[place][0]] != half] for half in (0, 1)]
        self._tables = [self._learn(random.Random(4).sample(some, min(len(some), LEARNED))) for some in learned]
        self._letters = [trigrams([rows[place][side] for place in self.anchored]) for side in (1, 2)]
        self._by_length = [sorted((len(row[side]), place) for place, row in enumerate(rows)) for side in (1, 2)]
        some = random.Random(2).sample(self.anchored, min(FITTED, len(self.anchored)))
        covers = [self._covers(*rows[place]) for place in some]
        self._low = sorted(map(covered, covers))[len(covers) // 20]
        self._run = sorted(map(uncovered, covers))[int(0.97 * len(covers))]

    def _is_anchored(self, row: Row) -> bool:
        _, *texts = row
        numbers, names = [numbers_of(text) for text in texts], [names_of(text) for text in texts]
        is_usual = abs(self._ratio(*texts)) <= 0.35 and 25 <= len(texts[0]) <= 400
        is_anchor = any(len(number) > 1 for number in numbers[0]) or names[0] & names[1]
        return bool(is_usual and sentences(texts[0]) == sentences(texts[1]) and numbers[0] == numbers[1] and is_anchor)

    def _ratio(self, source: str, target: str) -> float:
        return log((len(source) + 5) / (len(target) + 5)) - self._usual

    def _learn(self, places: Sequence[int]) -> defaultdict[str, set[str]]:
        """Returns, for beginnings of source words, those of target words that translate them in either direction."""
        texts = [[[word[:5] for word in long_words(text)] for text in self.rows[place][1:]] for place in places]
        both = defaultdict[str, set[str]](set)
        for side in (0, 1):
            shares = defaultdict[tuple[str, str], float](lambda: 1.0)
            for _ in range(4):
                counts, totals = defaultdict[tuple[str, str], float](float), defaultdict[str, float](float)
                for pair in texts:
                    for word in pair[1 - side]:
                        given = [*pair[side], ""]
                        values = [shares[other, word] for other in given]
                        total = sum(values)
                        for other, value in zip(given, values, strict=True):
                            counts[other, word] += value / total
                            totals[other] += value / total
                known = {key: count / totals[key[0]] for key, count in counts.items() if count > 1e-3}
                shares = defaultdict(float, known)
            for (other, word), share in shares.items():
                if other and share >= 0.1 and counts[other, word] >= 0.5:
                    both[(other, word)[side]].add((word, other)[side])
        return both

    def _covers(self, file: str, source: str, target: str) -> Cover:
        """Returns for each long word of each side whether one of the other side explains it, and its weight."""
        table, sides = self._tables[self._half[file]], [long_words(source), long_words(target)]
        begun = {word[:5] for word in sides[1]}
        alike = [{plain(word) for word in side} - {""} for side in sides]
        known = set[str]().union(*(table.get(word[:5], ()) for word in sides[0]))
        found = [
            [bool(table.get(word[:5], set()) & begun) or plain(word) in alike[1] for word in sides[0]],
            [word[:5] in known or plain(word) in alike[0] for word in sides[1]],
        ]
        return [
            [
                (is_found, log(len(self.rows) / (1 + counts[word[:5]])))
                for is_found, word in zip(some, side, strict=True)
            ]
            for some, side, counts in zip(found, sides, self._in, strict=True)
        ]

    def _rank(self, place: int, texts: Sequence[str]) -> float:
        """Returns the share of other texts of like length that fit a side as well as its own."""
        file, chance = self.rows[place][0], random.Random(place)
        own, better = covered(self._covers(file, *texts)), list[bool]()
        for side in (1, 0):
            ordered, length = self._by_length[side], len(texts[side])
            first, last = (bisect.bisect(ordered, (int(length * factor), 0)) for factor in (0.8, 1.25))
            for _ in range(OTHERS):
                _, other = ordered[chance.randrange(max(first - 30, 0), min(last + 30, len(ordered)))]
                text = self.rows[other][1 + side]
                is_near = self.rows[other][0] == file and abs(other - place) < 5
                if not is_near and letters(text) != letters(texts[side]):
                    pair = (texts[0], text) if side else (text, texts[1])
                    better.append(covered(self._covers(file, *pair)) >= own)
        return sum(better) / max(len(better), 1)

    def signs(self, place: int, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Returns strong and weak signs of a fault of a pair which stands at a place."""
        covers = self._covers(self.rows[place][0], *texts)
        signs: tuple[list[str], list[str]] = ([], [])
        if letters(texts[0]) == letters(texts[1]) and len(letters(texts[0])) > 3:
            signs[0].append("copy")
        if self._rank(place, texts) > 0.1:
            signs[min(map(len, covers)) < 3].append("others fit")
        elif covered(covers) < self._low:
            signs[1].append("few words explained")
        if (longest := uncovered(covers)) > self._run:
            signs[longest <= 0.35].append("a part is not explained")
        far = abs(self._ratio(*texts)) / (1.0 if min(map(len, texts)) >= 20 else 1.6)
        if far > 0.4:
            signs[far <= 0.6].append("length")
        numbers = [numbers_of(text) for text in texts]
        differ = [*((numbers[0] - numbers[1]) + (numbers[1] - numbers[0])).elements()]
        if differ:
            large = [number for number in differ if len(number) > 1]
            signs[len(large) < 2 and all(len(number) < 3 for number in large)].append("numbers")
        if sentences(texts[0]) != sentences(texts[1]):
            signs[1].append("sentences")
        if len({text.rstrip()[-1:] in ".!?:;" for text in texts}) > 1:
            signs[1].append("end")
        if all(text[:1].isalpha() for text in texts) and texts[0][0].isupper() != texts[1][0].isupper():
            signs[1].append("capital")
        for side, text in enumerate(texts):
            own, other = (self._likely(each, text) for each in (side, 1 - side))
            if len(letters(text)) >= 12 and own + 0.1 < other:
                signs[0].append("language")
            words = WORD.findall(text)
            if text and sum(map(str.isalpha, text)) < len(text.replace(" ", "")) / 2:
                signs[1].append("no letters")
            if len(words) >= 4 and sum(len(word) == 1 for word in words) > 0.3 * len(words):
                signs[1].append("torn words")
        return signs

    def is_faulty(self, place: int, texts: Sequence[str]) -> bool:
        """Returns True for a pair with one strong sign or two weak ones."""
        strong, weak = self.signs(place, texts)
        return bool(strong) or len(weak) > 1

    def _likely(self, side: int, text: str) -> float:
        (counts, before), padded = self._letters[side], f"  {text.lower()} "
        ends = range(3, len(padded) + 1)
        return sum(log((counts[padded[i - 3 : i]] + 0.1) / (before[padded[i - 3 : i - 1]] + 5)) for i in ends) / len(
            ends
        )


def long_words(text: str) -> list[str]:
    """Returns the words of three letters or more, in lower case."""
    return [word.lower() for word in WORD.findall(text) if len(word) > 2]


def plain(word: str) -> str:
    """Returns the first letters of a long word without marks, "" for a short one."""
    return word.translate(PLAIN)[:4] if len(word) > 4 else ""


def letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.lower()))


def numbers_of(text: str) -> Counter[str]:
    return Counter(number.lstrip("0") or "0" for number in NUMBER.findall(text))


def names_of(text: str) -> set[str]:
    return {plain(word.lower()) for word in WORD.findall(text)[1:] if word[0].isupper() and len(word) > 4}


def sentences(text: str) -> int:
    return max(len(END.findall(text)), 1)


def trigrams(texts: Sequence[str]) -> tuple[Counter[str], Counter[str]]:
    """Returns how often three letters, and the first two of them, were seen."""
    padded = [f"  {text.lower()} " for text in texts]
    found = Counter(text[i : i + 3] for text in padded for i in range(len(text) - 2))
    return found, Counter(text[i : i + 2] for text in padded for i in range(len(text) - 2))


def covered(covers: Cover) -> float:
    """Returns the weighted share of words that are explained, the mean of both sides."""
    shares = [
        sum(is_found * weight for is_found, weight in side) / sum(w for _, w in side) if side else 0.0
        for side in covers
    ]
    return sum(shares) / 2


def uncovered(covers: Cover) -> float:
    """Returns the longest row of at least five words that nothing explains, as a share of their side."""
    most = 0.0
    for side in covers:
        row = longest = 0
        for is_found, _ in side:
            row = 0 if is_found else row + 1
            longest = max(longest, row)
        if len(side) > 5 and longest > 4:
            most = max(most, longest / len(side))
    return most


def tell_precision(rows: Sequence[Row], found: Sequence[tuple[str | None, Row]]) -> None:
    """Prints how many of the pairs left out, by fault, and of those kept are faulty by the rule.

    Args:
        rows: the file, the source and the target of each pair of a corpus.
        found: a fault of a pair or None, and its row as a doctor leaves it. Repeated pairs need no judge.
    """
    judge, chance = Judge(rows), random.Random(5)
    places = {row[:2]: place for place, row in enumerate(rows)} | {(row[0], ""): i for i, row in enumerate(rows)}
    left_out = [each for each in found if each[0] not in (None, "repeated")]
    groups = {"left out": chance.sample(left_out, min(JUDGED, len(left_out)))}
    groups["kept"] = chance.sample([each for each in found if each[0] is None], JUDGED)
    for fault in dict.fromkeys(fault for fault, _ in groups["left out"]):
        groups[f"  {fault}"] = [each for each in groups["left out"] if each[0] == fault]
    for name, some in groups.items():
        faulty = sum(judge.is_faulty(places.get(row[:2], places[row[0], ""]), row[1:]) for _, row in some)
        low, high = interval(faulty / len(some), len(some))
        print(f"{name}: {faulty} of {len(some)} faulty, {faulty / len(some):.2f} [{low:.2f}, {high:.2f}]", flush=True)


def interval(share: float, count: int) -> tuple[float, float]:
    """Returns the 95 % interval of a share (Wilson 1927)."""
    middle, width = share + 1.92 / count, 1.96 * sqrt(share * (1 - share) / count + 0.96 / count**2)
    return (middle - width) / (1 + 3.84 / count), (middle + width) / (1 + 3.84 / count)
