"""Scores of detokenised translations against untouched references, computed by sacreBLEU."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from docsegments.extras import require
from transduce.base.errors import InputError
from transduce.evaluation.bleu_tokenizers import BleuTokenizer, bleu_tokenizer, has_chinese_characters, make_bleu
from transduce.evaluation.metric import Score, Scoring, SentenceCounts, Texts, check_aligned
from transduce.evaluation.references import References
from transduce.evaluation.significance import RESAMPLES, SEED

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

SentenceMetric = Literal["chrf", "bleu"]


@dataclass(frozen=True)
class BleuVariant(Score):
    """BLEU in one of the ways that papers report it."""

    tokenize: BleuTokenizer
    lowercase: bool


def count_bleu(
    outputs: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: BleuTokenizer = "auto"
) -> SentenceCounts:
    """Counts for BLEU (Papineni et al. 2002).

    Raises DataError unless there are as many outputs as references, InputError if a tokenizer is not installed.
    """
    return _count(make_bleu(bleu_tokenizer(references, tokenize), lowercase), outputs, references)


def count_chrf(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> SentenceCounts:
    """Counts for chrF2 (Popovic 2015); raises DataError unless there are as many outputs as references."""
    return _count(_sacrebleu().CHRF(lowercase=lowercase), outputs, references)


def count_ter(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> SentenceCounts:
    """Counts for TER (Snover et al. 2006); raises DataError unless there are as many outputs as references.

    Chinese and Japanese are divided into characters (sacreBLEU's asian_support, which normalises punctuation, too).
    """
    return _count(_ter(references, lowercase), outputs, references)


def ter_words(texts: Sequence[str], references: Sequence[str]) -> list[list[str]]:
    """Returns the words of texts as TER divides them beside these references."""
    ter = _ter(references)
    return [ter._preprocess_segment(text).split() for text in texts]


def _ter(references: Sequence[str], lowercase: bool = False) -> Any:
    is_asian = has_chinese_characters(references)
    return _sacrebleu().TER(normalized=is_asian, asian_support=is_asian, case_sensitive=not lowercase)


def score_bleu(
    outputs: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: BleuTokenizer = "auto"
) -> Score:
    """Returns corpus BLEU (Papineni et al. 2002) from sacreBLEU (Post 2018)."""
    return count_bleu(outputs, references, lowercase, tokenize).summary()


def score_chrf(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Score:
    """Returns the character n-gram F-score, chrF2 (Popovic 2015)."""
    return count_chrf(outputs, references, lowercase).summary()


def score_ter(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Score:
    """Returns the translation edit rate (Snover et al. 2006)."""
    return count_ter(outputs, references, lowercase).summary()


def score_bleu_variants(outputs: Sequence[str], references: Sequence[str]) -> list[BleuVariant]:
    """Returns BLEU in the ways that papers report it: words split by 13a or intl, or by a script without spaces,
    case-sensitively or not."""
    variants = []
    tokenizer = bleu_tokenizer(references)
    ways: tuple[BleuTokenizer, ...] = ("13a", "intl") if tokenizer == "13a" else (tokenizer,)
    for tokenize in ways:
        for lowercase in (False, True):
            score = score_bleu(outputs, references, lowercase, tokenize)
            variants.append(BleuVariant(score.score, score.signature, score.interval, tokenize, lowercase))
    return variants


def sentence_score(metric: SentenceMetric, references: Sequence[str]) -> Callable[[str, str], float]:
    """Returns a function that scores one output by its reference, 0 to 100, as sacreBLEU does.

    That is chrF2, or BLEU of the n-grams that a short sentence has (effective order), with words split by the script of
    these references.
    """
    if metric == "chrf":
        scorer: CHRF | BLEU = _sacrebleu().CHRF()
    else:
        scorer = make_bleu(bleu_tokenizer(references))
        scorer.effective_order = True
    return lambda output, reference: float(scorer.sentence_score(output, [reference]).score)


def length_ratio(bleu: SentenceCounts) -> float:
    """Returns the tokens of the outputs divided by those of the references, as BLEU splits them; below 1, BLEU has a
    brevity penalty."""
    output, reference = bleu.counts[:, :2].sum(0)
    return float(output / max(reference, 1))


def bleu_note(bleu: SentenceCounts) -> str | None:
    """Returns why BLEU is 0 however good the outputs are; None if it need not be."""
    if bleu.counts[:, -1].sum():  # 4-grams of the outputs
        return None
    return "BLEU is 0 since no translation has four words (4-grams), as BLEU counts them: see chrF for lines so short"


def exact_match(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> float:
    """Returns the share of outputs that equal a reference, 0 to 1."""
    return float(np.mean(_matches(outputs, References.of(references), lowercase)))


def _matches(outputs: Sequence[str], references: References, lowercase: bool) -> list[bool]:
    folded = str.lower if lowercase else str
    pairs = zip(outputs, references.of_sentences, strict=True)
    return [folded(output) in map(folded, texts) for output, texts in pairs]


def _sacrebleu() -> Any:
    return require("sacrebleu", "train")


def _count(metric: "BLEU | CHRF | TER", outputs: Sequence[str], references: Sequence[str]) -> SentenceCounts:
    check_aligned("outputs", outputs, references)
    lists = list(zip_longest(*References.of(references).of_sentences))  # None where a sentence has fewer references
    counts = metric._extract_corpus_statistics(list(outputs), lists)
    metric.n_bootstrap, metric.seed = RESAMPLES, str(SEED)  # for the signature
    return SentenceCounts(
        np.array(counts, dtype=np.float64),
        # rounded, since means of shares may be 100.00000000000004
        lambda sums: round(metric._compute_score_from_stats(sums).score, 12),  # type: ignore[arg-type] # whole numbers
        str(metric.get_signature()),
    )


def count_exact_matches(texts: Texts, scoring: Scoring) -> SentenceCounts:
    """Counts the outputs that equal a reference."""
    references = References.of(texts.references)
    numbers = {len(each) for each in references.of_sentences}
    count, case = min(numbers) if len(numbers) == 1 else "var", "lc" if scoring.lowercase else "mixed"
    matches = _matches(texts.outputs, references, scoring.lowercase)
    return SentenceCounts.of_sentence_scores(matches, f"exact|nrefs:{count}|case:{case}")


COMET_MODEL = "Unbabel/wmt22-comet-da"
"""The model of Rei et al. 2022; reads sources, outputs and references."""

COMET_BATCH = 8


def comet_scores(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    """Returns a score for each output, mostly 0 to 1; InputError if the package is not installed."""
    rows = [
        {"src": source, "mt": output, "ref": reference}
        for source, output, reference in zip(sources, outputs, references, strict=True)
    ]
    predicted = _comet().predict(rows, batch_size=COMET_BATCH, gpus=int(torch.cuda.is_available()), progress_bar=False)
    return [float(score) for score in predicted.scores]


@lru_cache(maxsize=1)
def _comet() -> Any:
    try:
        from comet import download_model, load_from_checkpoint
    except ImportError:
        raise InputError("comet needs its package; install it with: pip install unbabel-comet") from None
    return load_from_checkpoint(download_model(COMET_MODEL))


def count_comet(texts: Texts, scoring: Scoring) -> SentenceCounts:
    """Scores each output by COMET (Rei et al. 2020); raises InputError without sources or the package."""
    if texts.sources is None:
        raise InputError("comet needs the sources beside outputs and references")
    scores = comet_scores(texts.sources, texts.outputs, texts.references)
    return SentenceCounts.of_sentence_scores(scores, f"comet|model:{COMET_MODEL}|version:{version('unbabel-comet')}")
