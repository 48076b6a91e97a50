"""Detects the languages of texts by their character n-grams, as Cavnar and Trenkle (1994) did, by naive Bayes.

The shipped profiles are counts derived from FLORES-200 (NLLB Team, 2022), CC BY-SA 4.0, and under that licence, by
benchmarks/detection.py; a model's history may have profiles of languages that only it knows.
"""

import base64
import json
import lzma
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from docsegments.language_codes import primary
from transduce.base.errors import DataError

Values = NDArray[np.float32]
FILE = "language_profiles.xz"
ORDERS, BITS = 4, 14
"""The longest n-grams; an n-gram is counted in one of 2**BITS buckets, by its hash."""
PER, HIGHEST = 400_000, 7
"""The level of a bucket is ln(1 + its occurrences in so many n-grams), rounded, and at most this."""
MOST = 3_000
"""The buckets of a language that have a level: those that say most about it."""
LONGEST = 2_000
"""The most characters of a text that are read: normalisation takes quadratic time on stacked accents."""
TEMPERATURE = 0.7
"""The scores of n n-grams are divided by so many times the root of n: neighbours share letters, and say little anew."""
NONE, LEAST_LIKE = "und", 0.82
"""The code of a text in none of the languages: its n-grams have less than this share of the mean level of a language's
own text."""
SWITCH = 100.0
"""Difference of the levels' sums that another language needs to begin within a text."""
MOST_BYTES = 1 << 24
"""The most bytes of profiles, unpacked: a damaged or hostile file has more."""
VARIANTS = {"ar": "acm acq aeb ajp apc ars ary arz", "fa": "prs", "nb": "nn", "sh": "bs hr sr", "zh": "yue"}
"""Languages that count as another one if that is likely, and they are not."""
_CODES = """
no:nb sme:se iw:he in:id fil:tl zt:zh cmn:zh pb:pt ji:yi mo:ro
afr:af aka:ak als:sq amh:am arb:ar asm:as ayr:ay azj:az bak:ba bam:bm bel:be ben:bn bod:bo bos:bs bul:bg cat:ca ces:cs
cym:cy dan:da deu:de dzo:dz ell:el eng:en epo:eo est:et eus:eu ewe:ee fao:fo fij:fj fin:fi fra:fr fuv:ff gaz:om gla:gd
gle:ga glg:gl grn:gn guj:gu hat:ht hau:ha heb:he hin:hi hrv:hr hun:hu hye:hy ibo:ig ind:id isl:is ita:it jav:jv jpn:ja
kan:kn kas:ks kat:ka kaz:kk khk:mn khm:km kik:ki kin:rw kir:ky kmr:ku knc:kr kon:kg kor:ko lao:lo lim:li lin:ln lit:lt
ltz:lb lug:lg lvs:lv mal:ml mar:mr mkd:mk mlt:mt mri:mi mya:my nld:nl nno:nn nob:nb npi:ne nya:ny oci:oc ory:or pan:pa
pbt:ps pes:fa plt:mg pol:pl por:pt quy:qu ron:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slv:sl smo:sm sna:sn snd:sd
som:so sot:st spa:es srd:sc srp:sr ssw:ss sun:su swe:sv swh:sw tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tir:ti tsn:tn
tso:ts tuk:tk tur:tr twi:tw uig:ug ukr:uk urd:ur uzn:uz vie:vi wol:wo xho:xh ydd:yi yor:yo zho:zh zsm:ms zul:zu
"""
CODES = dict(entry.split(":") for entry in _CODES.split())
"""Codes of languages, such as NLLB's models have, and the shorter or newer ones by which they are detected."""
LEAST = 0.001
"""The least probability of a language that is reported."""
DETECTION = "detection"
"""The part of a model's history that has profiles by language."""
_XZ = b"\xfd7zXZ"
_WORD = re.compile(r"[^\s\u3000-\u3002\uff01-\uff1f]+")


class Span(NamedTuple):
    """A part of a text in one language."""

    start: int
    end: int
    language: str


@dataclass(frozen=True)
class Profiles:
    """How often languages use n-grams."""

    languages: tuple[str, ...]
    """Codes; a language that is written in several scripts has several rows."""
    levels: NDArray[np.uint8]
    """Logarithms of frequencies, [languages, buckets]."""
    means: Values
    """The mean level of an n-gram in text that was not learned from, [languages]."""

    @staticmethod
    def learn(texts: Sequence[tuple[str, Sequence[str]]], usual: Values | None = None) -> "Profiles":
        """Learns the profiles of languages from their texts; `usual` is the mean level of each bucket in other
        languages (default: in these). A fifth of the texts is held out to measure means."""
        parts = [[text for number, text in enumerate(some) if number % 5] for _, some in texts]
        held_out = [_buckets(some[::5])[0] for _, some in texts]
        levels = _levels(parts, usual)
        means = [row[buckets].mean() if len(buckets) else 0.0 for row, buckets in zip(levels, held_out, strict=True)]
        whole = _levels([some for _, some in texts], usual)
        return Profiles(tuple(code for code, _ in texts), whole, np.array(means, np.float32))

    def pack(self) -> bytes:
        """Returns the profiles as compressed bytes: a line of JSON, and three bits of each level."""
        facts = {"languages": self.languages, "means": [round(float(mean), 3) for mean in self.means]}
        head = json.dumps(facts).encode() + b"\n"
        how = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}
        return lzma.compress(head + (self.levels << 5).tobytes(), filters=[how])  # lc sees the upper bits of a byte

    @staticmethod
    def unpack(data: bytes, name: str) -> "Profiles":
        """Reads what `pack` returned; DataError, with the file's name, for anything else."""
        try:
            data = data if data.startswith(_XZ) else base64.b85decode(data)
            head, _, levels = lzma.LZMADecompressor().decompress(data, MOST_BYTES).partition(b"\n")
            facts = json.loads(head)
            languages, means = tuple(map(str, facts["languages"])), np.array(facts["means"], np.float32)
            rows = np.frombuffer(levels, np.uint8).reshape(len(languages), 1 << BITS) >> 5
            if means.shape != (len(languages),):
                raise ValueError("a mean is missing")
        except (lzma.LZMAError, EOFError, ValueError, KeyError, TypeError):
            raise DataError(f"{name} is damaged (no profiles of languages); install or train it again") from None
        return Profiles(languages, rows.astype(np.uint8), means)


@cache
def shipped() -> Profiles:
    """Returns the profiles of the languages that every installation knows."""
    file = resources.files("transduce.corpora") / FILE
    return Profiles.unpack(file.read_bytes(), str(file))


def is_shipped(code: str) -> bool:
    """Returns True for a language that every installation can detect."""
    return canonical(code) in [*shipped().languages, *VARIANTS]


def own_profile(language: str, texts: Sequence[str]) -> str:
    """Returns the profile of a language that is not shipped, as text, for `detector_of`."""
    profiles = Profiles.learn([(canonical(language), texts)], shipped().levels.mean(0))
    return base64.b85encode(profiles.pack()).decode()


@lru_cache(maxsize=4)
def detector_of(own: tuple[str, ...] = ()) -> "LanguageDetector":
    """Returns a detector of the shipped languages, and of those of texts that `own_profile` returned."""
    return LanguageDetector([shipped(), *(Profiles.unpack(text.encode(), "history.json") for text in own)])


class LanguageDetector:
    """Detects languages."""

    def __init__(self, profiles: Sequence[Profiles]) -> None:
        self.codes = [code for some in profiles for code in some.languages]
        """The language of each row of the profiles."""
        levels = np.concatenate([some.levels for some in profiles]).T
        self._levels = np.ascontiguousarray(levels, np.uint16)  # [buckets, languages]; no sum exceeds 4 * 7 * LONGEST
        self._means = np.concatenate([some.means for some in profiles])

    @property
    def languages(self) -> frozenset[str]:
        """The codes of the languages that can be detected."""
        return frozenset(self.codes)

    def detect(self, texts: Sequence[str], likely: Mapping[str, float] | None = None) -> list[dict[str, float]]:
        """Returns the probabilities of each text's languages, by their codes, the greatest first, those of at least
        0.1 %; NONE is none of the languages, as of a text without letters. `likely`: factors of languages that are
        more probable before a text is read."""
        return [self._ranked(shares, likely or {}) for shares in self.probabilities(texts)]

    def detect_parts(self, text: str, likely: Mapping[str, float] | None = None) -> dict[str, float]:
        """Returns the languages of a text as `detect` does; of one in several languages, each part counts by its
        length."""
        parts = [text[span.start : span.end] for span in self.spans(text)] or [text]
        weights = np.array([max(len(part), 1) for part in parts], np.float32)
        return self._ranked(weights @ self.probabilities(parts) / weights.sum(), likely or {})

    def spans(self, text: str) -> list[Span]:
        """Returns the parts of a text, each in one language: the most probable path, by Viterbi's algorithm."""
        words = list(_WORD.finditer(text[:LONGEST]))
        if not words:
            return []
        best, scores = [], np.zeros(len(self.codes), np.float32)
        for of_word in self._scores([word[0] for word in words])[0]:
            first = int(scores.argmax())
            stays = scores >= scores[first] - SWITCH
            best.append(np.where(stays, np.arange(len(scores)), first))
            scores = np.maximum(scores, scores[first] - SWITCH) + of_word
        path = [int(scores.argmax())]
        for before in best[:0:-1]:
            path.append(int(before[path[-1]]))
        found: list[Span] = []
        for word, row in zip(words, reversed(path), strict=True):
            code = self.codes[row]
            start = found.pop().start if found and found[-1].language == code else word.start()
            found.append(Span(start, word.end(), code))
        return [*found[:-1], found[-1]._replace(end=len(text))]

    def _scores(self, texts: Sequence[str]) -> tuple[Values, NDArray[np.int64]]:
        """Returns the sum of the levels of each text's n-grams, [texts, languages], and how many it has, [texts]."""
        buckets, counts = _buckets(texts)
        each = np.split(buckets, np.cumsum(counts)[:-1])
        sums = [np.add.reduce(self._levels.take(some, 0), 0, dtype=np.uint16) for some in each]
        return np.array(sums, np.float32).reshape(len(texts), len(self.codes)), counts

    def probabilities(self, texts: Sequence[str]) -> Values:
        """Returns the probabilities of each text's languages, and of none of them, [texts, languages + 1]."""
        scores, counts = self._scores(texts)
        unlike = LEAST_LIKE * self._means[scores.argmax(1)] * counts
        logits = np.column_stack([scores, unlike]) / (TEMPERATURE * np.sqrt(np.maximum(counts, 1)))[:, None]
        logits[counts == 0, :-1] = -np.inf
        shares = np.exp(logits - logits.max(1, keepdims=True))
        return np.asarray(shares / shares.sum(1, keepdims=True), np.float32)

    def _ranked(self, shares: Values, likely: Mapping[str, float]) -> dict[str, float]:
        """Returns probabilities by code, after those before a text is read."""
        wider = {part: code for code, parts in VARIANTS.items() if code in likely for part in parts.split()}
        sums: dict[str, float] = {}
        for row in np.flatnonzero(shares >= LEAST / max([1.0, *likely.values()])).tolist():
            code = NONE if row == len(self.codes) else self.codes[row]
            code = code if code in likely else wider.get(code, code)
            sums[code] = sums.get(code, 0.0) + float(shares[row]) * likely.get(code, 1.0)
        total = sum(sums.values())
        ranked = sorted(sums.items(), key=lambda one: -one[1])
        return {code: share / total for code, share in ranked if share >= LEAST * total}


def canonical(code: str) -> str:
    """Returns the code of the profiles for a language in any region."""
    return CODES.get(primary(code), primary(code))


def _levels(texts: Sequence[Sequence[str]], usual: Values | None) -> NDArray[np.uint8]:
    """Returns the levels of the buckets in each language, [languages, buckets]; see `Profiles.learn`."""
    counts = np.stack([np.bincount(_buckets(some)[0], minlength=1 << BITS) for some in texts])
    frequencies = counts * (PER / np.maximum(counts.sum(1, keepdims=True), 1))
    levels = np.minimum(np.rint(np.log1p(frequencies)), HIGHEST)
    # the part of a text's score beside those of other languages that comes from each bucket
    says = np.where(levels > 0, (frequencies + 1) * (levels - (levels.mean(0) if usual is None else usual)), 0.0)
    least = np.maximum(np.sort(says)[:, -MOST - 1], 0.0)
    return np.where(says > least[:, None], levels, 0.0).astype(np.uint8)


def _buckets(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the buckets of the n-grams of texts, one text after another, and how many each text has. N-grams lie in
    one word, with the blanks around it; digits and punctuation are blanks."""
    read = [f" {normalize('NFC', text[:LONGEST]).lower()[:LONGEST]} " for text in texts]
    lengths = np.array([len(text) for text in read], np.int64)
    points = np.frombuffer("".join(read).encode("utf-32-le", "surrogatepass"), np.uint32)
    letters = _letters()
    values = np.where(letters[np.minimum(points, len(letters) - 1)], points, 32).astype(np.uint64)
    owners = np.repeat(np.arange(len(texts)), lengths)
    is_blank = values == 32
    kept = ~is_blank  # and of blanks in a row the first
    kept[1:] |= ~is_blank[:-1] | (owners[1:] != owners[:-1])
    kept[:1] = True
    values, owners, is_blank = values[kept], owners[kept], is_blank[kept]
    hashes = np.zeros((len(values), ORDERS), np.uint64)
    is_gram = np.zeros((len(values), ORDERS), bool)
    mixed, fits = np.zeros(len(values), np.uint64), ~is_blank
    for order in range(1, ORDERS + 1):
        size = max(len(values) - order + 1, 0)
        mixed = (mixed[:size] ^ (values[order - 1 :] + np.uint64(1))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        if order == 2:
            fits = owners[:size] == owners[1:]
        elif order > 2:  # blanks are only at the ends
            fits = fits[:size] & ~is_blank[order - 2 : order - 2 + size] & (owners[:size] == owners[order - 1 :])
        hashes[:size, order - 1], is_gram[:size, order - 1] = mixed, fits
    counts = np.bincount(owners, is_gram.sum(1), len(texts)).astype(np.int64)
    return (hashes[is_gram] >> np.uint64(64 - BITS)).astype(np.int64), counts


@cache
def _letters() -> NDArray[np.bool_]:
    """Returns True for each code point, up to the last script, that is a letter, a mark or joins letters."""
    joins = "'\u2018\u2019\u02bc\u200c\u200d"
    return np.array([category(chr(point))[0] in "LM" or chr(point) in joins for point in range(0x32400)] + [False])
