"""Several references of each sentence count as sacreBLEU counts them, in scores, intervals and comparisons."""

import gzip
import html
import os
import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sacrebleu
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from transduce.base.errors import DataError, InputError
from transduce.corpora.formats import references_in
from transduce.corpora.generated.grammar import derive_pairs
from transduce.evaluation.compare import compare
from transduce.evaluation.evaluate import evaluate_outputs
from transduce.evaluation.references import References
from transduce.evaluation.robustness import evaluate_typed
from transduce.evaluation.translations import score_bleu, score_chrf, score_ter

PAIRS = derive_pairs(60, seed=5)
SOURCES = [pair.source for pair in PAIRS]
SCORES = {
    "bleu": (score_bleu, lambda outputs, lists: sacrebleu.corpus_bleu(outputs, lists, force=True)),
    "chrf": (score_chrf, sacrebleu.corpus_chrf),
    "ter": (score_ter, lambda outputs, lists: sacrebleu.corpus_ter(outputs, lists, case_sensitive=True)),
}
TVSUB = Path(os.environ.get("TRANSDUCE_DATA") or "/nowhere") / "tvsub" / "test_trg.sgm.gz"


def damaged(lines: list[str], share: float, seed: int) -> list[str]:
    """The lines with so large a share of their words left out or replaced."""
    generator = random.Random(seed)
    kept = (
        [
            generator.choice([word, f"{word} {word}", "nichts", ""]) if generator.random() < share else word
            for word in line.split()
        ]
        for line in lines
    )
    return [" ".join(filter(None, words)) for words in kept]


FIRST, SECOND, THIRD = LISTS = [damaged([pair.target for pair in PAIRS], 0.3, seed) for seed in (1, 2, 3)]
OUTPUTS = damaged([pair.target for pair in PAIRS], 0.2, 4)


@pytest.mark.parametrize("metric", SCORES)
def test_scores_are_those_of_sacrebleu(metric: str) -> None:
    ours, theirs = SCORES[metric]
    found = ours(OUTPUTS, References.aligned(*LISTS))
    assert found.score == pytest.approx(theirs(OUTPUTS, LISTS).score, abs=1e-9)
    assert found.signature.startswith("nrefs:3|bs:1000|seed:12345")
    assert found.interval[0] < found.score < found.interval[1]
    assert found.score != ours(OUTPUTS, FIRST).score
    assert ours(OUTPUTS, References.aligned(FIRST)) == ours(OUTPUTS, FIRST)


@pytest.mark.parametrize("metric", SCORES)
def test_a_blank_line_is_a_missing_reference_unless_all_are_blank(metric: str) -> None:
    ours, theirs = SCORES[metric]
    first, second = ["", "", *FIRST[2:]], [SECOND[0], "", *SECOND[2:]]
    found = ours(OUTPUTS, References.aligned(first, second))
    known: list[list[Any]] = [[None, "", *FIRST[2:]], second]
    assert found.score == pytest.approx(theirs(OUTPUTS, known).score, abs=1e-9)
    assert found.signature.startswith("nrefs:var|")
    assert References.aligned(first, second)[0] == SECOND[0]
    blank = References.aligned(["", *FIRST[1:]], ["", *SECOND[1:]])
    assert ours(OUTPUTS, blank).signature.startswith("nrefs:2|")


@pytest.mark.slow
@pytest.mark.skipif(not TVSUB.is_file(), reason="TRANSDUCE_DATA does not name a folder with tvsub")
def test_the_three_references_of_tvsub_score_as_sacrebleu_scores_them() -> None:
    text = gzip.decompress(TVSUB.read_bytes()).decode("utf-8")
    parts = re.split(r'sysid="reference_(\d)"', text)[1:]
    lists: dict[str, list[str]] = {"1": [], "2": [], "3": []}
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        lists[name] += [html.unescape(line).strip() for line in re.findall(r"<seg id=\d+>(.*)</seg>", part)]
    assert [len(lines) for lines in lists.values()] == [1154] * 3
    assert references_in(TVSUB) == list(lists.values())
    outputs = damaged(lists["2"], 0.3, 5)
    found = evaluate_outputs(outputs, References.aligned(*lists.values()))
    for metric, (_, theirs) in SCORES.items():
        assert found.scores[metric].score == pytest.approx(theirs(outputs, list(lists.values())).score, abs=1e-9)
        assert "nrefs:3" in found.scores[metric].signature


@pytest.mark.slow
def test_systems_are_compared_by_all_references_as_sacrebleu_compares_them() -> None:
    systems = {"one": OUTPUTS, "other": damaged(OUTPUTS, 0.05, 6), "same": list(OUTPUTS)}
    found = compare(systems, SOURCES, References.aligned(*LISTS), training=FIRST[:30])
    for system in found.systems:
        for metric, (ours, _) in SCORES.items():
            assert system.scores[metric] == ours(systems[system.name], References.aligned(*LISTS))
    ours, same = (system.against_baseline for system in found.systems[1:])
    theirs = PairedTest(list(systems.items())[:2], {"chrF2": CHRF()}, LISTS, "ar", n_samples=4000)()[1]["chrF2"][1]
    assert ours is not None and same is not None and not isinstance(theirs, str)
    assert ours["chrf"].randomization_p == pytest.approx(theirs.p_value, abs=0.03)
    assert {(each.difference, each.bootstrap_p, each.randomization_p) for each in same.values()} == {(0, 1, 1)}


@pytest.mark.slow
def test_what_takes_a_single_reference_takes_the_first() -> None:
    systems = {"one": OUTPUTS, "other": damaged(OUTPUTS, 0.1, 6)}
    found = compare(systems, SOURCES, References.aligned(*LISTS), training=FIRST[:30])
    by_first = compare(systems, SOURCES, FIRST, training=FIRST[:30])
    assert (found.by_word_frequency, found.numbers) == (by_first.by_word_frequency, by_first.numbers)
    assert all(each.reference == FIRST[each.line - 1] for each in found.most_different)

    def same_ends(outputs: list[str], references: list[str]) -> float:
        return float(sum(output[-3:] == reference[-3:] for output, reference in zip(outputs, references, strict=True)))

    own = [evaluate_outputs(OUTPUTS, each, metrics=[same_ends]) for each in (References.aligned(*LISTS), FIRST)]
    assert own[0].scores["same_ends"] == own[1].scores["same_ends"]


def test_an_output_that_equals_any_reference_matches() -> None:
    references = References.aligned(["a", "b", "", "D"], ["x", "B", "c", "d"])
    found = evaluate_outputs(["x", "b", "c", "e"], references, metrics=["exact_match"])
    assert (found.exact_match, found.scores["exact_match"].score) == (0.75, 0.75)
    assert "nrefs:var" in found.scores["exact_match"].signature
    assert evaluate_outputs(["X", "B", "C", "E"], references, lowercase=True).exact_match == 0.75


def test_each_reference_is_typed_as_the_sources_are() -> None:
    translator = SimpleNamespace(
        translate=lambda sources, search: [SimpleNamespace(text=f"{source} nein") for source in sources]
    )
    references = References.aligned(["ja.", "a b c nein"], ["a nein", ""])
    typed = evaluate_typed(translator, ["a", "a b c"], references)  # type: ignore[arg-type]
    matches = {way: scores.exact_match for way, scores in typed.ways.items()}
    as_it_is = {"as written": 1, "lowercase": 1, "unpunctuated": 1, "typos": 1}  # nothing of these sources changes
    assert matches == as_it_is | {"capitals": 0, "titles": 0, "word by word": 0.5}
    assert list(typed.ways["capitals"].outcome.references.of_sentences) == [["JA.", "A NEIN"], ["A B C NEIN"]]


def test_a_slice_keeps_all_references() -> None:
    part = References.aligned(*LISTS)[7:11]
    assert (len(part), part.of_sentences) == (4, References.aligned(*(lines[7:11] for lines in LISTS)).of_sentences)


def test_references_that_do_not_fit_are_one_clear_error() -> None:
    with pytest.raises(DataError, match=r"\(1: 2, 2: 2, 3: 1\); they must be aligned line by"):
        References.aligned(["a", "b"], ["c", "d"], ["e"])
    with pytest.raises(DataError, match=r"^outputs: 1 lines, but there are 2 references"):
        score_bleu(["a"], References.aligned(["a", "b"], ["c", "d"]))
    for wrong in ([["a", "b"]], [None]):
        with pytest.raises(InputError, match=r"references of sentence 1 are .*References\.aligned\(first, second\)"):
            score_bleu(["a"], wrong)  # type: ignore[arg-type]
    for wrong in (["ab"], [[]], [["a", None]]):
        with pytest.raises(InputError, match=r"references of sentence 1 are .*expected texts"):
            References(wrong)  # type: ignore[arg-type]
