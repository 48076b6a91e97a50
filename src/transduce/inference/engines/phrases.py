"""The engine of phrase-based models, which are learned from few pairs and need no PyTorch to translate."""

from collections.abc import Sequence
from pathlib import Path

from transduce.errors import InputError
from transduce.inference.requests import Constraints, Piece
from transduce.phrases.demands import Demands, Required
from transduce.phrases.model import PhraseModel
from transduce.phrases.words import words_of
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.loop import Hypothesis
from transduce.text.tokenizer import Tokenizers


class PhraseEngine:
    """Translates by phrases: its decoder keeps hypotheses of its own, so that sizes of beams and penalties of lengths
    mean nothing to it."""

    batches_at_once = 1
    source_limit: int | None = None

    def __init__(self, folder: Path, tokenizers: Tokenizers) -> None:
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
        """See Engine; scores are weighted sums of features, which are no log-probabilities but rank outputs as such."""
        _check(search)
        return [self._translate(piece, search.n_best) for piece in pieces]

    def _translate(self, piece: Piece, n_best: int) -> list[Hypothesis]:
        text = self.tokenizers.source.decode(piece.source)
        if not words_of(text):
            return [Hypothesis(self.tokenizers.target.encode(text), 0.0, 0.0, truncated=False)]
        demands = Demands(
            self.tokenizers.target.decode(piece.prefix),
            [Required(phrase.sources, phrase.texts) for phrase in piece.required],
            [phrase.text for phrase in piece.banned],
        )
        return [
            Hypothesis(self.tokenizers.target.encode(translation), output.score, output.score, truncated=False)
            for translation, output in self.model.translate(text, n_best, demands)
        ]


def _check(search: Search) -> None:
    """Raises InputError for what a phrase-based translator cannot do."""
    asked = {
        "sampling or diverse beams": type(search) is not Beam,
        "a rule on repeated words": search.no_repeat_ngram > 0 or search.repetition_penalty > 1,
    }
    if unable := [name for name, is_asked in asked.items() if is_asked]:
        raise InputError(f"a phrase-based model translates without {' and '.join(unable)}; leave that out")
