"""Scores of a test set that is typed in other ways: in capitals, without full stops, with typing errors."""

from collections.abc import Sequence
from typing import Any

from docsegments.orthography.words import word_texts
from transduce.corpora.corpus import SentencePair
from transduce.corpora.noise import WAYS_OF_TYPING
from transduce.evaluation.bleu_tokenizers import BleuTokenizer
from transduce.evaluation.evaluate import evaluate, evaluate_outputs
from transduce.evaluation.metric import check_aligned
from transduce.evaluation.metrics import MetricName
from transduce.evaluation.references import References
from transduce.evaluation.score_table import ScoreTable
from transduce.inference.translator import Translator
from transduce.search.choices import DecisionRule

AS_WRITTEN = "as written"
WORD_BY_WORD = "word by word"
_SIGNS = ".,;:!?…()[]\"'“”„«»。，、！？"  # at the edges of words, not typed with one


def evaluate_typed(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    search: DecisionRule | None = None,
    lowercase: bool = False,
    tokenize: BleuTokenizer = "auto",
    metrics: Sequence[MetricName] = (),
    documents: Sequence[str] = (),
) -> ScoreTable:
    """Translates a test set as it is written, in each of WAYS_OF_TYPING, and word by word; scores each.

    References are typed as `data.noise` types them: in capitals too, without the full stop too, else as they are. Word
    by word, each word is translated by itself, and the translations are joined by blanks. See `evaluate_outputs` for
    the arguments; raises DataError unless there are as many references.
    """
    check_aligned("sources", sources, references)
    how: dict[str, Any] = {"lowercase": lowercase, "tokenize": tokenize, "metrics": metrics}
    ways = {AS_WRITTEN: evaluate(translator, sources, references, search, documents=documents, **how)}
    sentences = list(zip(sources, References.of(references).of_sentences, strict=True))
    for name, way in WAYS_OF_TYPING.items():
        typed = [[way(SentencePair(source, text)) for text in texts] for source, texts in sentences]
        own_sources = [pairs[0].source for pairs in typed]
        own_references = References([[pair.target for pair in pairs] for pairs in typed])
        ways[name] = evaluate(translator, own_sources, own_references, search, documents=documents, **how)
    outputs = _word_by_word(translator, sources, search)
    ways[WORD_BY_WORD] = evaluate_outputs(outputs, references, sources=sources, **how)
    return ScoreTable("ways", ways)


def _word_by_word(translator: Translator, sources: Sequence[str], search: DecisionRule | None) -> list[str]:
    words_of = [[bare for word in word_texts(source) if (bare := word.strip(_SIGNS))] for source in sources]
    words = list(dict.fromkeys(word for words in words_of for word in words))
    translated = dict(zip(words, (each.text for each in translator.translate(words, search)), strict=True))
    return [" ".join(translated[word] for word in words) for words in words_of]
