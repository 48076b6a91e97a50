"""A comparison tells who is better, how surely, and where."""

import json
import random

import msgspec
import pytest
import sacrebleu
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from transduce.base.errors import DataError, InputError
from transduce.corpora.generated.grammar import derive_pairs
from transduce.evaluation.compare import Comparison, compare
from transduce.evaluation.translations import score_bleu, score_chrf, score_ter

PAIRS = derive_pairs(60, seed=5)
SOURCES = [pair.source for pair in PAIRS]
REFERENCES = [pair.target for pair in PAIRS]


def damaged(share: float, seed: int) -> list[str]:
    """The references with so large a share of their words replaced."""
    generator = random.Random(seed)
    return [
        " ".join("nichts" if generator.random() < share else word for word in reference.split())
        for reference in REFERENCES
    ]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    shuffled = list(REFERENCES)
    random.Random(1).shuffle(shuffled)
    systems = {"good": damaged(0.1, 1), "as good": damaged(0.1, 2), "bad": shuffled}
    return compare(systems, SOURCES, REFERENCES, training=REFERENCES[:30])


def test_scores_are_those_of_evaluate(comparison: Comparison) -> None:
    good = comparison.systems[0]
    assert good.bleu == score_bleu(damaged(0.1, 1), REFERENCES)
    assert good.scores["chrf"] == score_chrf(damaged(0.1, 1), REFERENCES)
    assert good.scores["ter"] == score_ter(damaged(0.1, 1), REFERENCES)
    assert good.against_baseline is None


def test_a_worse_system_is_distinguished_from_one_that_is_as_good(comparison: Comparison) -> None:
    as_good, bad = (system.against_baseline for system in comparison.systems[1:])
    assert as_good is not None and bad is not None
    assert bad["bleu"].difference < 0 < bad["ter"].difference
    for found in bad.values():
        assert max(found.bootstrap_p, found.randomization_p) < 0.002
        assert not found.interval[0] <= 0 <= found.interval[1]
    for found in as_good.values():
        assert min(found.bootstrap_p, found.randomization_p) > 0.1


def test_randomization_agrees_with_sacrebleus(comparison: Comparison) -> None:
    """Where no trial ties with the difference, theirs and ours count the same."""
    systems = [("good", damaged(0.1, 1)), ("as good", damaged(0.1, 2))]
    theirs = PairedTest(systems, {"chrF2": CHRF()}, [REFERENCES], "ar", n_samples=4000)()[1]["chrF2"][1]
    ours = comparison.systems[1].against_baseline
    assert ours is not None and not isinstance(theirs, str)
    assert ours["chrf"].randomization_p == pytest.approx(theirs.p_value, abs=0.03)


def test_equal_outputs_differ_nowhere() -> None:
    outputs = damaged(0.3, 1)
    found = compare({"one": outputs, "two": list(outputs)}, SOURCES, REFERENCES)
    against = found.systems[1].against_baseline
    assert against is not None
    for difference in against.values():
        assert (difference.difference, difference.bootstrap_p, difference.randomization_p) == (0, 1, 1)
    assert found.most_different == []


def test_the_sentences_shown_are_those_whose_chrf_differs_most() -> None:
    good, worse = list(REFERENCES), list(REFERENCES)
    worse[7], worse[3], good[11] = "", REFERENCES[3][:-4], "nichts"
    found = compare({"good": good, "worse": worse}, SOURCES, REFERENCES).most_different
    assert {sentence.line for sentence in found[:2]} == {8, 12}
    assert [sentence.line for sentence in found[2:]] == [4]
    shown = found[2]
    assert (shown.source, shown.reference, shown.outputs["worse"]) == (SOURCES[3], REFERENCES[3], worse[3])
    assert shown.chrf["good"] == pytest.approx(100)
    assert shown.chrf["worse"] == pytest.approx(sacrebleu.sentence_chrf(worse[3], [REFERENCES[3]]).score)


def test_at_most_ten_sentences_are_shown(comparison: Comparison) -> None:
    spans = [max(s.chrf.values()) - min(s.chrf.values()) for s in comparison.most_different]
    assert len(spans) == 10
    assert spans == sorted(spans, reverse=True)


def test_case_and_tokenization_reach_every_metric() -> None:
    lower = [reference.lower() for reference in REFERENCES]
    found = compare({"a": lower, "b": REFERENCES}, SOURCES, REFERENCES, lowercase=True, tokenize="intl")
    assert all("case:lc" in score.signature for s in found.systems for score in s.scores.values())
    assert "tok:intl" in found.systems[0].bleu.signature
    assert found.systems[0].scores["chrf"].score == pytest.approx(100)
    assert found.most_different == []


def test_as_json_it_has_the_promised_shape(comparison: Comparison) -> None:
    found = json.loads(msgspec.json.encode(comparison.to_dict()))
    parts = {"by_length", "by_word_frequency", "by_words", "numbers", "most_different"}
    assert set(found) == {"sentences", "systems", *parts}
    baseline, system, _ = found["systems"]
    assert set(system) == {"name", "bleu", "chrf", "ter", "length_ratio", "against_baseline"}
    assert set(system["bleu"]) == {"score", "signature", "interval"}
    assert baseline["against_baseline"] is None
    assert set(system["against_baseline"]) == {"bleu", "chrf", "ter"}
    assert set(system["against_baseline"]["ter"]) == {"difference", "interval", "bootstrap_p", "randomization_p"}
    assert sum(part["sentences"] for part in found["by_length"]) == found["sentences"] == 60
    assert set(found["by_length"][0]["bleu"]) == {"good", "as good", "bad"}
    assert set(found["by_word_frequency"][0]) == {"at_least", "at_most", "words", "recall"}
    assert set(found["numbers"]) == {"in_source", "reference", "systems"}
    assert set(found["most_different"][0]) == {"line", "source", "reference", "outputs", "chrf"}


def test_frequency_needs_training_text() -> None:
    assert compare({"a": REFERENCES, "b": REFERENCES}, SOURCES, REFERENCES).by_word_frequency is None


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(InputError, match="systems given: alone; give two or more to compare"):
        compare({"alone": REFERENCES}, SOURCES, REFERENCES)
    with pytest.raises(DataError, match="short: 59 lines, but there are 60 references"):
        compare({"whole": REFERENCES, "short": REFERENCES[1:]}, SOURCES, REFERENCES)
    with pytest.raises(DataError, match="sources: 59 lines, but there are 60 references"):
        compare({"sources": REFERENCES, "b": REFERENCES}, SOURCES[1:], REFERENCES)
    with pytest.raises(DataError, match="nothing to evaluate"):
        compare({"a": [], "b": []}, [], [])
