"""Scores are sacreBLEU's, signed, and repeatable."""

import importlib.util
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from transduce.base import plugins
from transduce.base.errors import DataError, InputError
from transduce.evaluation import translations
from transduce.evaluation.bleu_tokenizers import bleu_tokenizer
from transduce.evaluation.compare import compare
from transduce.evaluation.evaluate import evaluate_outputs
from transduce.evaluation.metric import Metric, Scoring, SentenceCounts, Texts
from transduce.evaluation.significance import compare_counts
from transduce.evaluation.translations import (
    count_bleu,
    exact_match,
    length_ratio,
    score_bleu,
    score_bleu_variants,
    score_chrf,
    score_ter,
)

OUTPUTS = ["The dog runs over the grass.", "A man sleeps.", "Two children play in the snow today."]
REFERENCES = ["The dog runs across the grass.", "A man is sleeping.", "two children play in the snow today."]


def test_scores_are_sacrebleus() -> None:
    assert score_bleu(OUTPUTS, REFERENCES).score == pytest.approx(sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES]).score)
    assert score_chrf(OUTPUTS, REFERENCES).score == pytest.approx(sacrebleu.corpus_chrf(OUTPUTS, [REFERENCES]).score)
    assert score_ter(OUTPUTS, REFERENCES).score == pytest.approx(
        sacrebleu.corpus_ter(OUTPUTS, [REFERENCES], case_sensitive=True).score
    )


def test_signatures_and_widths_of_intervals_are_those_sacrebleu_prints() -> None:
    for ours, metric in (
        (score_bleu(OUTPUTS, REFERENCES), BLEU()),
        (score_chrf(OUTPUTS, REFERENCES), CHRF()),
        (score_ter(OUTPUTS, REFERENCES), TER(case_sensitive=True)),
    ):
        theirs = metric.corpus_score(OUTPUTS, [REFERENCES], n_bootstrap=1000)
        assert ours.signature == str(metric.get_signature())
        width = ours.interval[1] - ours.interval[0]
        assert width == pytest.approx(2 * theirs._ci, abs=1e-3)


def test_the_interval_is_the_same_each_time() -> None:
    assert score_bleu(OUTPUTS, REFERENCES) == score_bleu(OUTPUTS, REFERENCES)


def test_lowercase_and_tokenization_are_in_the_signature_and_matter() -> None:
    cased, lower = score_bleu(OUTPUTS, REFERENCES), score_bleu(OUTPUTS, REFERENCES, lowercase=True)
    assert lower.score > cased.score
    assert "case:lc" in lower.signature
    assert "tok:intl" in score_bleu(OUTPUTS, REFERENCES, tokenize="intl").signature


def test_the_four_bleus_are_what_their_names_say() -> None:
    found = score_bleu_variants(OUTPUTS, REFERENCES)
    assert [(row.tokenize, row.lowercase) for row in found] == [
        ("13a", False),
        ("13a", True),
        ("intl", False),
        ("intl", True),
    ]
    for row in found:
        alone = score_bleu(OUTPUTS, REFERENCES, row.lowercase, row.tokenize)
        assert (row.score, row.signature, row.interval) == (alone.score, alone.signature, alone.interval)


def test_the_length_ratio_counts_tokens() -> None:
    assert length_ratio(count_bleu(["a b c."], ["a b."])) == 4 / 3
    assert length_ratio(count_bleu([""], ["a b."])) == 0


def test_outputs_and_references_must_be_as_many() -> None:
    for score in (score_bleu, score_chrf, score_ter):
        with pytest.raises(DataError, match="2 lines, but there are 3 references"):
            score(OUTPUTS[1:], REFERENCES)


def test_a_metric_of_an_installed_package_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def count_words(texts: Texts, scoring: Scoring) -> SentenceCounts:
        return SentenceCounts.of_sentence_scores([len(output.split()) for output in texts.outputs], "words|version:1")

    class Entry:
        name, value = "words", "package:words"

        def load(self) -> object:
            return self.metric

        metric: object = Metric("words", count_words)

    monkeypatch.setattr(plugins, "_installed", lambda group: [Entry()] if group == "transduce.metrics" else [])
    found = evaluate_outputs(OUTPUTS, REFERENCES, metrics=["words"])
    assert list(found.scores) == ["bleu", "chrf", "ter", "words"]
    assert found.scores["words"].score == pytest.approx((6 + 3 + 7) / 3)
    compared = compare({"a": OUTPUTS, "b": REFERENCES}, OUTPUTS, REFERENCES, metrics=["words"])
    assert compared.systems[1].against_baseline["words"].difference == pytest.approx(1 / 3)  # type: ignore[index]
    with pytest.raises(InputError, match=r"no metric 'letters'; there are bleu, chrf, ter, .*words"):
        evaluate_outputs(OUTPUTS, REFERENCES, metrics=["letters"])
    Entry.name, Entry.metric = "number", 7
    with pytest.raises(InputError, match=r"metric 'number': a int cannot be called; expected .*Metric"):
        evaluate_outputs(OUTPUTS, REFERENCES, metrics=["number"])


def test_comet_scores_by_its_package_and_asks_for_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        def predict(self, rows: list[dict[str, str]], **_: object) -> SimpleNamespace:
            assert all(set(row) == {"src", "mt", "ref"} for row in rows)
            return SimpleNamespace(scores=[0.25 * (row["mt"] == row["ref"]) + 0.5 for row in rows])

    with pytest.raises(InputError, match=r"comet needs the sources"):
        evaluate_outputs(OUTPUTS, REFERENCES, metrics=["comet"])
    if importlib.util.find_spec("comet") is None:
        with pytest.raises(InputError, match="pip install unbabel-comet"):
            evaluate_outputs(OUTPUTS, REFERENCES, metrics=["comet"], sources=OUTPUTS)
    monkeypatch.setattr(translations, "_comet", Model)
    monkeypatch.setattr(translations, "version", lambda package: "2.2")
    found = evaluate_outputs(["a", "b"], ["a", "x"], metrics=["comet"], sources=["c", "d"]).scores["comet"]
    assert found.score == pytest.approx(0.625)
    assert found.signature == "comet|model:Unbabel/wmt22-comet-da|version:2.2"


def test_exact_match_is_a_share() -> None:
    assert exact_match(["a", "b", "c"], ["a", "x", "c"]) == pytest.approx(2 / 3)
    assert exact_match(["a", "B"], ["A", "b"]) == 0
    assert exact_match(["a", "B"], ["A", "b"], lowercase=True) == 1


def test_outputs_of_several_seeds_are_no_more_sentences() -> None:
    generator = np.random.default_rng(1)
    own, other = (SentenceCounts.of_sentence_scores(generator.random(50).tolist(), "") for _ in range(2))
    once = compare_counts(own.counts, other.counts, own.score_rows)
    twice = [SentenceCounts.summed([one, one]) for one in (own, other)]
    assert twice[0].score == pytest.approx(own.score)
    again = compare_counts(twice[0].counts, twice[1].counts, own.score_rows)
    assert (again.difference, *again.interval) == pytest.approx((once.difference, *once.interval))
    assert again.randomization_p == once.randomization_p


OF_SCRIPTS = {
    "zh": (["我有一只黑狗。", "他在草地上跑步。"], "zh"),
    "ja": (["私は犬を飼っています。", "彼は公園を走る。"], "ja-mecab"),
    "ko": (["나는 검은 개가 있다.", "그는 풀밭에서 달린다."], "ko-mecab"),
    "th": (["ฉันมีสุนัขสีดำ", "เขาวิ่งบนสนามหญ้า"], "char"),
    "de": (["Ich habe einen Hund aus 北京."], "13a"),
    "ru": (["У меня есть собака."], "13a"),
    "none": (["12:30"], "13a"),
}


@pytest.mark.parametrize("language", OF_SCRIPTS)
def test_words_are_divided_as_the_script_of_the_references_asks_for(language: str) -> None:
    references, expected = OF_SCRIPTS[language]
    if expected.endswith("mecab") and find_spec("MeCab" if expected == "ja-mecab" else "mecab_ko") is None:
        expected = "char"
    assert bleu_tokenizer(references) == expected
    assert f"tok:{expected}" in score_bleu(references, references).signature
    assert bleu_tokenizer(references, "intl") == "intl"


def test_a_wrong_word_of_a_script_without_spaces_costs_a_part_of_bleu() -> None:
    references = ["我有一只黑色的狗在草地上跑。"] * 2
    found = score_bleu(["我有一只白色的狗在草地上跑。"] * 2, references).score
    assert 50 < found < 100
    assert score_bleu(["我有一只白色的狗在草地上跑。"] * 2, references, tokenize="13a").score < 1


@pytest.mark.parametrize(("language", "signs"), [("zh", "norm:yes"), ("de", "norm:no")])
def test_ter_counts_characters_of_chinese_and_words_of_others(language: str, signs: str) -> None:
    outputs, references = {"zh": (["我有一只黑色的狗。"], ["我有一只黑狗。"]), "de": (["Ein Hund."], ["Ein Hund."])}[
        language
    ]
    counts = translations.count_ter(outputs, references)
    theirs = TER(normalized=language == "zh", asian_support=language == "zh", case_sensitive=True)
    score = counts.score_of(counts.counts.sum(0).tolist())
    assert score == pytest.approx(theirs.corpus_score(outputs, [references]).score)
    assert signs in counts.signature
