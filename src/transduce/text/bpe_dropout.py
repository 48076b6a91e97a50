"""BPE-dropout: segments tokenised texts anew at random (Provilkov et al. 2020)."""

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transduce.base.errors import ConfigError
from transduce.text.tokenizer import SPACE, Tokenizer

Ids = NDArray[np.int64]
NEVER = np.iinfo(np.int64).max  # the rank of a pair that no merge joins


@dataclass(frozen=True)
class Segmented:
    """Texts as tokens: text i is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: Ids
    offsets: Ids

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class BpeDropout:
    """The merges, and the probability, 0 to 1, of leaving out each of them where it would be applied."""

    merges: "BpeMerges"
    rate: float

    def segment(self, texts: Segmented, random: np.random.Generator) -> Segmented:
        """Returns the same texts, segmented at random."""
        return self.merges.segment(texts, self.rate, random)


class BpeMerges:
    """Segments texts by the merges of a BPE tokenizer.

    It divides ids into characters, which spell the text as the tokenizer normalised it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Raises ConfigError for a tokenizer without merges."""
        model = json.loads(tokenizer.backend.to_str())["model"]
        if model["type"] != "BPE":
            raise ConfigError("tokenizer.dropout is for BPE, which the tokenizer is not; leave it out")
        self._size = len(tokenizer)
        self._space = model["vocab"].get(SPACE, -1)
        ids = model["vocab"]
        pairs = [merge if isinstance(merge, list) else merge.split(" ") for merge in model["merges"]]
        parts = np.array([(ids[left], ids[right]) for left, right in pairs], dtype=np.int64).reshape(-1, 2)
        self._result = np.array([ids[left + right] for left, right in pairs], dtype=np.int64)  # by rank
        keys = parts[:, 0] * self._size + parts[:, 1]
        self._rank_of_key = np.argsort(keys, kind="stable")
        self._keys = keys[self._rank_of_key]
        symbols = [[token] for token in range(self._size)]
        for (left, right), result in zip(parts.tolist(), self._result.tolist(), strict=True):
            symbols[result] = symbols[left] + symbols[right]
        self._count = np.array([len(of_token) for of_token in symbols], dtype=np.int64)
        self._first = np.concatenate([[0], np.cumsum(self._count)[:-1]])
        self._symbols = np.array([symbol for of_token in symbols for symbol in of_token], dtype=np.int64)

    def segment(self, texts: Segmented, dropout: float, random: np.random.Generator) -> Segmented:
        """Returns the same texts, merges left out at that rate; at 0, as the tokenizer segments them."""
        symbols, begins, text = self._characters(texts)
        word = np.cumsum(begins) - 1  # number of each symbol's word, [symbols]
        ids, word_of_id = self._merge(symbols, word, dropout, random)
        text_of_word = text[begins]
        lengths = np.bincount(text_of_word[word_of_id], minlength=len(texts)).astype(np.int64)  # [texts]
        return Segmented(ids, np.concatenate([[0], np.cumsum(lengths)]))

    def check(self, texts: Segmented) -> None:
        """Raises ConfigError for a tokenizer that segments these texts differently than its merges do."""
        if not np.array_equal(self.segment(texts, 0.0, np.random.default_rng()).ids, texts.ids):
            raise ConfigError("tokenizer.dropout: this tokenizer segments texts by more than its merges; leave it out")

    def _characters(self, texts: Segmented) -> tuple[Ids, NDArray[np.bool_], Ids]:
        """Returns all texts in symbols that no merge has made, where among them words begin, and the text of each."""
        counts = self._count[texts.ids]  # symbols of each token, [tokens]
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        within = np.arange(total) - np.repeat(ends - counts, counts)  # index in its token, [symbols]
        symbols = self._symbols[np.repeat(self._first[texts.ids], counts) + within]
        text_of_token = np.repeat(np.arange(len(texts)), np.diff(texts.offsets))
        text = np.repeat(text_of_token, counts)  # [symbols]
        begins = symbols == self._space  # no merge crosses a space or punctuation
        begins[:1] = True
        begins[1:] |= text[1:] != text[:-1]
        return symbols, begins, text

    def _merge(self, symbols: Ids, word: Ids, dropout: float, random: np.random.Generator) -> tuple[Ids, Ids]:
        """Returns tokens and the word of each (algorithm 1): in each turn some merges possible in a word are left out,
        and of the others the first learned is applied at its first position; a word is done when none is left."""
        done: list[tuple[Ids, Ids]] = []
        rank = self._ranks_at(symbols, word, np.arange(len(symbols)))  # of the merge with the symbol that follows
        while len(symbols):
            kept = rank != NEVER  # merges of this turn, [symbols]
            kept[kept] = random.random(int(kept.sum())) >= dropout
            order = np.where(kept, rank * len(rank) + np.arange(len(rank)), NEVER)  # by rank, then by position
            starts = np.flatnonzero(np.concatenate([[True], word[1:] != word[:-1]]))
            best = np.minimum.reduceat(order, starts)  # merge of each word, [words]
            goes_on = best != NEVER  # [words]
            is_open = np.repeat(goes_on, np.diff(np.append(starts, len(word))))  # [symbols]
            done.append((symbols[~is_open], word[~is_open]))
            positions = best[goes_on] % len(rank)
            symbols[positions] = self._result[rank[positions]]
            is_open[positions + 1] = False  # merged into the symbol before
            moved = np.cumsum(is_open) - 1  # new positions, [symbols]
            changed = moved[positions]
            symbols, word, rank = symbols[is_open], word[is_open], rank[is_open]
            for of_changed in (changed, changed[changed > 0] - 1):
                rank[of_changed] = self._ranks_at(symbols, word, of_changed)
        ids, word_of_id = (np.concatenate(column) for column in zip(*done, strict=True)) if done else (symbols, word)
        order = np.argsort(word_of_id, kind="stable")
        return ids[order], word_of_id[order]

    def _ranks_at(self, symbols: Ids, word: Ids, positions: Ids) -> Ids:
        """Returns the rank of the merge of each of these symbols with the next one."""
        after = np.minimum(positions + 1, len(symbols) - 1)
        keys = symbols[positions] * self._size + symbols[after]
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        is_merge = (after != positions) & (word[positions] == word[after])
        if not len(self._keys):
            return np.full(len(positions), NEVER)
        return np.where(is_merge & (self._keys[at] == keys), self._rank_of_key[at], NEVER)
