"""Test pairs of translation models, in one direction or several, and scores on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from transduce.bundle import ModelBundle
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.directions import Direction
from transduce.evaluation.metric import Scoring, Texts
from transduce.evaluation.metrics import STANDARD, MetricName
from transduce.evaluation.scores import Scores
from transduce.inference.translator import Translator
from transduce.search.beam import Beam


@dataclass(frozen=True)
class TestPairs:
    """The test pairs of each direction, and the search that translates them."""

    corpora: Mapping[Direction, ParallelCorpus]
    name: str
    search: Beam

    def content(self) -> str:
        """Returns a hash that changes when the pairs do."""
        return " ".join(corpus.content() for corpus in self.corpora.values())

    def __iter__(self) -> Iterator[SentencePair]:
        return (pair for corpus in self.corpora.values() for pair in corpus)


def score_translations(
    bundle: ModelBundle, pairs: TestPairs, metrics: Sequence[MetricName], scoring: Scoring
) -> Scores:
    """Translates the pairs of all directions and score them together."""
    translator, outputs = Translator(bundle), []
    for direction, corpus in pairs.corpora.items():
        own = translator
        if bundle.config.languages is not None:
            own = translator.directed(direction.target, direction.source)
        outputs += [found.text for found in own.translate([pair.source for pair in corpus], pairs.search)]
    sources, references = zip(*((pair.source, pair.target) for pair in pairs), strict=True)
    texts = Texts(outputs, references, sources)
    return Scores.of(texts, "translations", metrics or STANDARD, "sentences", scoring)
