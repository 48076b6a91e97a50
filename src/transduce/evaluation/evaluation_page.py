"""The page of an evaluation: how good a translator is, where it is worse, and what to look at."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from docsegments.language_codes import english_name
from transduce.analysis.page import html_table, render_sections
from transduce.corpora.language_detector import NONE, detector_of
from transduce.evaluation.breakdown import by_length, by_word_frequency
from transduce.evaluation.copied_numbers import count_copied_numbers
from transduce.evaluation.edit_rate import edit_rate, reliability_of
from transduce.evaluation.score_table import Scores, ScoreTable

SHOWN = 10
"""The worst and the best sentences that are shown, of each kind."""
NAME = re.compile(r"(?<=\w )\b[^\W\d_a-z]\w+")
SYSTEM = "translations"
LIKELY = 100.0
"""The factor by which a translation is more probable to be in its language than in another before it is read."""

Section = tuple[str, str, str]
Row = Sequence[str | float | None]


def render_evaluation(
    name: str, scores: Scores, typed: ScoreTable | None = None, training: Iterable[str] | None = None
) -> str:
    """Returns a page about the translations of a test set, for people who decide whether to use the translator.

    Args:
        name: Name of the translator.
        scores: Scores of its translations.
        typed: Scores of the test set as others type it, as `evaluate_typed` returns them.
        training: Target side of the training data, for recall by words' frequency.
    """
    sections = [_scores(scores), *_by_part(scores, training), *_kept(scores), *_sure(scores), *_languages(scores)]
    if typed is not None:
        rows: list[Row] = [[way, *(each.score for each in one.scores.values())] for way, one in typed.ways.items()]
        titles = [metric.title for metric in scores.metrics.values()]
        text = "The same sentences in capitals, with typing errors and so on; references in capitals likewise."
        sections.append(("As others type it", text, _table(["typed", *titles], rows)))
    return render_sections("Evaluation", name, [*sections, *_sentences(scores)])


def _scores(scores: Scores) -> Section:
    rows: list[Row] = []
    for key, score in scores.scores.items():
        digits = scores.metrics[key].digits
        low, high = (f"{end:.{digits}f}" for end in score.interval)
        rows.append([scores.metrics[key].title, round(score.score, digits), f"{low} to {high}", score.signature])
    equal = f"{100 * scores.exact_match:.1f} % of the translations equal their reference"
    text = f"{scores.size:,} sentences. {equal}; together they have {100 * scores.length_ratio:.1f} % of the tokens."
    return "Scores", text, html_table(["metric", "score", "95 % interval", "how it was measured"], rows)


def _by_part(scores: Scores, training: Iterable[str] | None) -> list[Section]:
    texts, sections = scores.outcome, []
    if texts.sources is not None:
        rows: list[Row] = [
            [_range(part.at_least, part.at_most), part.sentences, part.bleu[SYSTEM], part.length_ratio[SYSTEM]]
            for part in by_length(texts.sources, {SYSTEM: scores.counts["bleu"]})
        ]
        head = ["words of the source", "sentences", "BLEU", "length, of the reference's"]
        sections.append(
            ("By length", "Long sentences are harder; where few were tested, scores vary.", _table(head, rows))
        )
    if training is not None:
        how = (scores.scoring.lowercase, scores.scoring.tokenize)
        found = by_word_frequency(texts.references, {SYSTEM: texts.outputs}, training, *how)
        rows = [[_range(part.at_least, part.at_most), part.words, 100 * part.recall[SYSTEM]] for part in found]
        head = ["times in the training data", "words of the references", "found in the translation, %"]
        text = "What a model has seen rarely, it writes less surely."
        sections.append(("By rarity", text, _table(head, rows)))
    return sections


def _kept(scores: Scores) -> list[Section]:
    """Returns what should be in a translation as it is in its source."""
    texts = scores.outcome
    if texts.sources is None:
        return []
    numbers = count_copied_numbers(texts.sources, texts.references, {SYSTEM: texts.outputs})
    names = [
        (name, name in output)
        for source, reference, output in zip(texts.sources, texts.references, texts.outputs, strict=True)
        for name in set(NAME.findall(source))
        if name in reference
    ]
    rows: list[Row] = []
    if numbers.reference is not None:
        share = numbers.systems[SYSTEM] or 0.0
        rows.append(["numbers in digits", numbers.in_source, 100 * share, 100 * numbers.reference])
    if names:
        share = sum(kept for _, kept in names) / len(names)
        rows.append(["names that the reference keeps", len(names), 100 * share, 100])
    if not rows:
        return []
    text = "People write some numbers in words, so a reference need not have all in digits."
    return [("What must stay", text, _table(["of the sources", "there are", "kept, %", "by the reference, %"], rows))]


def _sure(scores: Scores) -> list[Section]:
    """Returns what the model said of its own translations, beside what the references say."""
    both = list(zip(scores.translations, scores.outcome.references, strict=False))
    told = [
        (estimate, edit_rate(translation.text, reference))
        for translation, reference in both
        if (estimate := translation.quality) is not None and estimate.edit is not None
    ]
    if not told:
        return []
    told.sort(key=lambda each: (each[0].edit, each[0].low, each[0].high, each[1]))
    rows: list[Row] = [
        [part.count, 100 * part.estimated, 100 * part.actual, 100 * part.covered]
        for part in reliability_of(*zip(*told, strict=True))
    ]
    unknown = sum(each.quality is not None for each, _ in both) - len(told)
    text = (
        "The model says how many of a translation's words a person would change. Groups by its estimates, the surest "
        f"first; {unknown:,} texts were too unlike its training data to say."
    )
    head = ["sentences", "estimated, %", "by the reference, %", "within the interval of 90 %, %"]
    return [("How sure the model is", text, _table(head, rows))]


def _languages(scores: Scores) -> list[Section]:
    """Returns the languages of translations that are not in that of most references."""
    detector, texts = detector_of(), scores.outcome
    wanted = Counter(next(iter(shares)) for shares in detector.detect(list(texts.references)))
    target = wanted.most_common(1)[0][0]
    written = (next(iter(shares)) for shares in detector.detect(texts.outputs, {target: LIKELY}))
    others = Counter(code for code in written if code not in (target, NONE))
    if target == NONE or not others:
        return []
    rows: list[Row] = [[english_name(code), count] for code, count in others.most_common(SHOWN)]
    text = f"Translations that are not in {english_name(target)}, as far as letters tell; short ones may be names."
    return [("Other languages", text, _table(["seems to be", "translations"], rows))]


def _sentences(scores: Scores) -> list[Section]:
    texts, of_sentences = scores.outcome, scores.counts["chrf"]
    each = np.array([of_sentences.choose(np.array([number])).score for number in range(scores.size)])
    order = np.argsort(each, kind="stable")
    columns = {"translation": texts.outputs, "reference": texts.references}
    if texts.sources is not None:
        columns = {"source": texts.sources, **columns}
    sections = []
    for title, text, numbers in (
        ("The worst sentences", "Those least like their reference: is it the translation that is wrong?", order),
        ("The best sentences", "Those most like their reference, none twice.", order[::-1]),
    ):
        chosen: dict[str, Row] = {}
        for number in numbers.tolist():
            row = [round(float(each[number]), 1), *(column[number] for column in columns.values())]
            chosen.setdefault(texts.references[number], row)
            if len(chosen) == SHOWN:
                break
        sections.append((title, text, html_table(["chrF", *columns], list(chosen.values()))))
    return sections


def _table(head: Sequence[str], rows: Sequence[Row]) -> str:
    return html_table(head, [[round(cell, 2) if isinstance(cell, float) else cell for cell in row] for row in rows])


def _range(at_least: int, at_most: int | None) -> str:
    if at_most is None:
        return f"{at_least} or more"
    return f"{at_least} to {at_most}" if at_least < at_most else str(at_least)
