"""The engine of phrase-based models, which are learned from few pairs and need no PyTorch to translate."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from transduce.analysis.alignment import Links, pharaoh
from transduce.analysis.look_at_phrases import SUMMED, PhraseLook
from transduce.base.errors import InputError
from transduce.corpora.corpus import Pair, as_pair
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.engine import beyond
from transduce.inference.engines.exported import ExportedModel
from transduce.phrases.demands import Demands, Required
from transduce.phrases.linking import links_between
from transduce.phrases.phrase_model import PhraseModel
from transduce.phrases.phrase_words import words_of
from transduce.search.choices import Search
from transduce.search.loop import Hypothesis
from transduce.text.tokenizer import Tokenizers

RUNS = frozenset(["a beam", "a list of the best", "other lengths", "a minimum length", "unknown tokens"])
"""Settings of a search that the phrase-based engine accepts, and ignores where they are about sizes and lengths."""


def open_engine(model: ExportedModel, asked: str | None) -> "PhraseEngine":
    """Returns the engine of a model."""
    return PhraseEngine(model.folder, model.tokenizers)


class PhraseEngine:
    """Translates by phrases: its decoder keeps hypotheses of its own, whatever the size of the beam."""

    batches_at_once = 1
    source_limit: int | None = None

    def __init__(self, folder: Path, tokenizers: Tokenizers) -> None:
        self.folder = folder
        self.tokenizers = tokenizers
        self.model = PhraseModel.load(folder)

    def of(self, piece: Piece, search: Search) -> "PhraseEngine":
        """See EngineChoice."""
        if piece.required:
            _check(search)
        return self

    def describe(self, search: Search) -> str:
        """See EngineChoice."""
        return "phrases"

    def workers(self, search: Search) -> int:
        """See Engine; one, since a decoder in Python holds the interpreter."""
        return 1

    def search(self, pieces: Sequence[Piece], constraints: Constraints, search: Search) -> list[list[Hypothesis]]:
        """See Engine; scores are weighted sums of features, which are not log-probabilities but rank outputs as
        such."""
        _check(search)
        return [self._translate(piece, search.n_best) for piece in pieces]

    def _translate(self, piece: Piece, n_best: int) -> list[Hypothesis]:
        text = self.tokenizers.source.decode(piece.source)
        if not words_of(text):
            return [Hypothesis(self.tokenizers.target.encode(text), 0.0, 0.0, truncated=False)]
        return [
            Hypothesis(self.tokenizers.target.encode(translation), output.score, output.score, truncated=False)
            for translation, output, _ in self.model.translate(text, n_best, self._demands(piece))
        ]

    def look(self, text: str, piece: Piece, target: str | None = None) -> PhraseLook:
        """Looks at the translation of a text under a piece's constraints, or at a given one."""
        if not words_of(text) or (target is not None and not words_of(target)):
            raise InputError("there is no text to look at")
        explained = self.model.explain(text, target, self._demands(piece))
        output = explained.output
        features = list(zip(SUMMED, output.features, explained.weights, strict=True))
        folder = self.folder.parent if self.folder.name in ("model", "phrases") else self.folder
        return PhraseLook(str(folder), text, explained.text, explained.phrases, output.score, features)

    def align(self, pairs: Iterable[Pair]) -> list[Links]:
        """Returns links of source and target words, counted from 0, of each pair of texts; none if a side is blank."""
        return [links_between(self.model, pair.source, pair.target) for pair in map(as_pair, pairs)]

    def stream(self, pairs: Iterable[Pair]) -> Iterator[str]:
        """Yields a line of Pharaoh format for each pair."""
        return (pharaoh(links) for pair in pairs for links in self.align([pair]))

    def _demands(self, piece: Piece) -> Demands:
        return Demands(
            self.tokenizers.target.decode(piece.prefix),
            [Required(phrase.sources, phrase.texts) for phrase in piece.required],
            [phrase.text for phrase in piece.banned],
        )


def _check(search: Search) -> None:
    """Raises InputError for what a phrase-based translator cannot do."""
    if unable := beyond(RUNS, search):
        raise InputError(f"a phrase-based model translates without {' and '.join(unable)}; leave that out")
