"""Aligns the words of given translations by the attention of one model, or of two of both directions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from transduce.analysis.alignment import (
    NO_WORDS,
    AlignmentHead,
    Links,
    Symmetrization,
    link_words,
    pharaoh,
    places_of,
    symmetrize,
    without_punctuation,
)
from transduce.analysis.recorded_attention import record_pass
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import Pair, as_pair
from transduce.inference.scorer import check_lengths

PAIRS_AT_ONCE = 1000
TOKENS_AT_ONCE = 2048
"""Padded tokens of the longer side of a batch."""


@dataclass(frozen=True)
class Aligner:
    """Aligns by one attention head of a model, and of a model of the other direction if there is one."""

    bundle: ModelBundle
    head: AlignmentHead
    reverse: "Aligner | None" = None
    method: Symmetrization = "grow-diag"

    def align(self, pairs: Iterable[Pair]) -> list[Links]:
        """Returns links of source and target words, counted from 0, of each pair of texts; none if a side is blank."""
        return [links for chunk in self._chunks(pairs) for links in chunk]

    def stream(self, pairs: Iterable[Pair]) -> Iterator[str]:
        """Yields a line of Pharaoh format for each pair."""
        return (pharaoh(links) for chunk in self._chunks(pairs) for links in chunk)

    def _chunks(self, pairs: Iterable[Pair]) -> Iterator[list[Links]]:
        rest, first = iter(pairs), 1
        while chunk := [(pair.source, pair.target) for pair in map(as_pair, islice(rest, PAIRS_AT_ONCE))]:
            aligned = self._links(chunk, first)
            if self.reverse is not None:
                back = self.reverse._links([(target, source) for source, target in chunk], first)
                turned = [{(j, i) for i, j in links} for links in back]
                aligned = [symmetrize(*both, self.method) for both in zip(aligned, turned, strict=True)]
            yield aligned
            first += len(chunk)

    def _links(self, texts: Sequence[tuple[str, str]], first: int) -> list[Links]:
        tokenizers = self.bundle.tokenizers
        model = self.bundle.writer
        sources = self.bundle.read([source for source, _ in texts])
        marked = len(self.bundle.marks.source)
        targets = tokenizers.target.encode_batch([target for _, target in texts])
        check_lengths("source", sources, model.source_limit, first)
        check_lengths("target", targets, model.target_limit, first)
        results: list[Links] = [set() for _ in texts]
        real = [i for i in range(len(texts)) if len(sources[i]) > marked and targets[i]]
        batches = self.bundle.batches([sources[i] for i in real], [targets[i] for i in real], TOKENS_AT_ONCE)
        for chosen, batch in batches:
            maps = record_pass(model, batch).cross()
            for row, i in enumerate(real[place] for place in chosen):
                positions = places_of(maps, self.head, row, len(sources[i]), len(targets[i]))
                sides = (
                    (tokenizers.source, sources[i][marked:], texts[i][0]),
                    (tokenizers.target, targets[i], texts[i][1]),
                )
                words = [without_punctuation(side.words_of(text), side.pieces(ids)) for side, ids, text in sides]
                results[i] = link_words(positions, [*[NO_WORDS] * marked, *words[0]], words[1])
        return results
