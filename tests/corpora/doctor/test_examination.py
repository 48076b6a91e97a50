"""An examination says what is faulty, what was repaired, and whether cleaning helps; runs learn from what is left."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from transduce.analysis.examination_page import render_examination
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.doctor.doctor import Finding
from transduce.corpora.doctor.doctored import Doctored, affordable, parts_of
from transduce.corpora.doctor.examination import Examination, Sides, examine, firsts, repeat_key, spread
from transduce.corpora.doctor.likeness import Likeness
from transduce.corpora.doctor.signs import faults_of, masked, repaired_pair
from transduce.corpora.formats import parallel_files
from transduce.corpora.generated.grammar import derive_pairs


def write(folder: Path, pairs: list[SentencePair], drop: int | None = None) -> list[Path]:
    """Two aligned files of pairs; a line of the target may be missing."""
    files = [folder / "a.en", folder / "a.de"]
    targets = [pair.target for place, pair in enumerate(pairs) if place != drop]
    files[0].write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    files[1].write_text("".join(f"{target}\n" for target in targets), encoding="utf-8")
    return files


def examined(pairs: list[SentencePair]) -> tuple[Examination, list[Finding]]:
    findings: list[Finding] = []
    found = examine([("these", Sides.of_corpus(ParallelCorpus.of_pairs("these", pairs)))], findings.append)
    return found, findings


@pytest.fixture(scope="module")
def good() -> list[SentencePair]:
    return list(dict.fromkeys(derive_pairs(2_000, seed=1)))


@pytest.mark.slow
def test_a_clean_corpus_needs_nothing(good: list[SentencePair]) -> None:
    found, findings = examined(good)
    assert found.pairs == len(good) == len(findings)
    assert found.left_out <= 0.003 * len(good)
    assert "clean" in found.verdict


def test_files_of_one_name_in_two_folders_are_moved_each_by_itself(tmp_path: Path, good: list[SentencePair]) -> None:
    files = []
    for folder, pairs, drop in (("a", good[:400], None), ("b", good[400:800], 200)):
        (tmp_path / folder).mkdir()
        files.append(write(tmp_path / folder, pairs, drop))
    found = examine(parts_of([*files[0][:1], *files[1][:1], *files[0][1:], *files[1][1:]], None, ("", "")))
    assert found.left_out < 20 and found.pairs >= 797
    assert [shift.joined for shift in found.shifts["a.en"]] == ["none", ""]
    assert len(Examination.joined([found, found]).shifts["a.en"]) == 4


def test_a_corpus_of_a_few_pairs_again_and_again_teaches_nothing(good: list[SentencePair]) -> None:
    for few in (1, 3):
        found, findings = examined(good[:few] * 600)
        assert found.pairs == few * 600 == found.faults["repeated"].found + few
        assert not findings[0].scores


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Visit www.x.org for more.", "Besuchen Sie www.x.org."),
        ("Write to (a@b.org).", "Schreib an a@b.org, bitte"),
        ("See www.x.org now", "\u89c1www.x.org\u4e86\u89e3\u8be6\u60c5"),
        ("15 dogs, 2023", "\uff11\uff15\u5339\u306e\u72ac\u3001\uff12\uff10\uff12\uff13"),
        ("15 dogs", "\u0661\u0665 \u0643\u0644\u0628"),
    ],
)
def test_signs_around_addresses_and_digits_of_other_scripts_are_no_fault(source: str, target: str) -> None:
    assert not set(faults_of(SentencePair(source, target)))


def test_vowel_signs_tell_texts_apart() -> None:
    he, she = (
        "\u0924\u0941\u092e \u091c\u093e\u0924\u0947 \u0939\u094b",
        "\u0924\u0941\u092e \u091c\u093e\u0924\u0940 \u0939\u094b",
    )
    assert repeat_key(SentencePair(he, "You go")) != repeat_key(SentencePair(she, "You go"))
    assert repeat_key(SentencePair(he, "You go")) == repeat_key(SentencePair(f"{he}!", "you go."))


@pytest.mark.slow
def test_what_is_found_is_counted_and_shown(good: list[SentencePair]) -> None:
    broken = SentencePair("Caf\u00c3\u00a9 &amp; bar", "Das Caf\u00e9 & die Bar")
    copied = [SentencePair(pair.source, pair.source) for pair in good[:100]]
    found, findings = examined(
        [*good, broken, *copied, good[7], SentencePair("Write to x@y.org", "Schreib an x@y.org")]
    )
    assert findings[len(good)].pair.source == "Caf\u00e9 & bar" and findings[len(good)].fault is None
    assert found.repairs == {"encoding": 1, "entities": 1}
    assert found.faults["copied"].found == 100 and found.faults["repeated"].found == 1
    assert found.personal == {"e-mail": 1}
    assert found.verdict.startswith("cleaning pays")
    assert "left out: 100 of which one side is a copy of the other" in found.describe()
    page = render_examination("these", found)
    assert copied[0].source in page and "Cleaning pays" in page
    both = Examination.joined([found, found])
    assert both.pairs == 2 * found.pairs and both.faults["copied"].found == 200
    assert len(both.faults["copied"].examples) == len(found.faults["copied"].examples) == 5


@pytest.mark.parametrize(
    ("source", "target", "fault"),
    [
        ("In 1997 it rained", "1998 regnete es", "other numbers"),
        ("It costs 7,149.50", "Es kostet 7.149,50", None),
        ("On 27.11.15", "Am 27.11.2015", None),
        ("On 12.3.2024", "On 3/12/2024", None),
        ("Am 5. M\u00e4rz 2021", "March 5, 2021", None),
        ("2021\u5e743\u67085\u65e5 15:30", "5 March 2021, 3:30", None),
        ("Am 3.12.2024 um 15.30", "December 3, 2024 at 3:30, 15 guests", None),
        ("Am 3.12.2024 um 15.30", "December 3, 2024 at 15:30, 48 guests", None),
        ("Am 3.12.2024", "On 3.11.2024", "other numbers"),
        ("Am 3. Dezember 2024", "December 3, 1924", "other numbers"),
        ("At 3 in the morning", "Saa 9 asubuhi", None),
        ("See http://a.org/x", "Siehe http://b.org/x", "other addresses"),
        ("See https://a.org/en/page?form=x", "Siehe www.a.org/de/seite.", None),
        ("Write to a@c.org", "Schreiben Sie an b@c.org", "other addresses"),
        ("Lost \ufffd letters", "Verlorene Zeichen", "characters lost"),
        ("New York Times", "New York Times", "copied"),
        ("A man walks in the park", "a man walks in  the park", "copied"),
        ("Paris", "Paris is a city", None),
    ],
)
def test_signs_of_faults_in_a_pair_alone(source: str, target: str, fault: str | None) -> None:
    assert next(faults_of(SentencePair(source, target)), None) == fault


@pytest.mark.parametrize(
    ("source", "repaired", "kinds"),
    [
        ("sch\u00c3\u00b6n", "sch\u00f6n", {"encoding"}),
        ("a &lt; b &amp; &quot;c&quot;", 'a < b & "c"', {"entities"}),
        ("zero\u200bwidth\u00ad", "zerowidth", {"invisible characters"}),
        ("  two   spaces ", "two spaces", {"spaces"}),
        ("<b>bold</b> text", "bold text", {"markup"}),
        ("na\u00efve, f\u00e9e, \u4f60\u597d", "na\u00efve, f\u00e9e, \u4f60\u597d", set()),
    ],
)
def test_what_is_certainly_wrong_is_put_right(source: str, repaired: str, kinds: set[str]) -> None:
    pair, found = repaired_pair(SentencePair(source, "x"))
    assert (pair.source, found) == (repaired, kinds)
    assert repaired_pair(pair)[1] == set()


def test_personal_data_are_masked() -> None:
    pair = SentencePair("Call +49 30 1234567 or 030/123 4567", "DE89 3704 0044 0532 0130 00, a.b@c.example")
    assert masked(pair) == (SentencePair("Call [phone] or [phone]", "[IBAN], [e-mail]"), {"phone", "IBAN", "e-mail"})
    dates = SentencePair("2003-02-01, 01-02-2003, 10 000 000", "1997/98, § 218, 3.14")
    assert masked(dates) == (dates, set())


def test_repeats_differ_in_case_numbers_and_punctuation_alone() -> None:
    pairs = [("Seite 3", "Page 3"), ("seite 4!", "Page 4"), ("Seite 4", "Pages")]
    keys = np.array([repeat_key(SentencePair(*pair)) for pair in pairs], np.uint64)
    is_first = firsts(keys)
    assert [is_first(SentencePair(*pair)) for pair in pairs] == [True, False, True]


def test_pairs_are_spread_evenly() -> None:
    pairs = [SentencePair(str(number), "") for number in range(10)]
    assert [pair.source for pair in spread(pairs, 10, 4)] == ["0", "2", "5", "7"]
    assert spread(pairs, 10, 20) == pairs


def test_pairs_like_a_text_come_first(good: list[SentencePair]) -> None:
    chance = random.Random(1)
    words = ["patient", "doses", "daily", "treatment", "symptoms", "fever"]
    medical = [SentencePair(" ".join(chance.choices(words, k=6)), "so") for _ in range(200)]
    likeness = Likeness(
        [" ".join(chance.choices(words, k=6)) for _ in range(100)], [*good, *medical], 200 / (len(good) + 200)
    )
    assert likeness.scores(medical).min() > likeness.scores(good).max()
    judged = list(likeness.judge(map(Finding, [*medical, *good[:100]]), leaves_out=True))
    assert [finding.fault for finding in judged] == [None] * len(medical) + ["unlike"] * 100


def test_what_few_words_tell_is_found_among_many_that_tell_nothing() -> None:
    chance = random.Random(1)
    usual, telling = [f"w{number}" for number in range(300)], ["fever", "dose", "tablet"]

    def text(kind: list[str]) -> str:
        return " ".join(chance.sample([*chance.choices(usual, k=6), *kind], 6 + len(kind)))

    others = [SentencePair(text([]), "so") for _ in range(2_000)]
    wanted = [SentencePair(text([chance.choice(telling)]), "so") for _ in range(200)]
    likeness = Likeness([text([chance.choice(telling)]) for _ in range(300)], [*others, *wanted], 200 / 2_200)
    found = sum(finding.fault is None for finding in likeness.judge(map(Finding, wanted), leaves_out=True))
    by_ngrams = likeness.measures([*others, *wanted])[0]
    among = int((by_ngrams[2_000:] >= np.sort(by_ngrams)[-200]).sum())
    assert found > 2 * among


@pytest.mark.slow
def test_a_run_learns_from_what_a_doctor_leaves(good: list[SentencePair], tmp_path: Path) -> None:
    files = write(tmp_path, good, drop=600)
    with pytest.raises(Exception, match="lines"):
        list(parallel_files(files))
    parts = parts_of(files, None, ("en", "de"))
    doctored = Doctored(parallel_files(files), parts, 2_000, tmp_path)
    right = set(good)
    left = list(doctored.corpus)
    assert len(left) >= len(good) - 10 and sum(pair in right for pair in left) >= len(good) - 10
    assert doctored.actions[0].startswith("moved in a.en: lines 60") and "pairs are left" in doctored.actions[-1]
    again = Doctored(parallel_files(files), parts, 2_000, tmp_path)
    assert again.corpus.content() == doctored.corpus.content() and list(again.corpus) == left
    assert Doctored(parallel_files(files), parts, 1_999, tmp_path).corpus.content() != doctored.corpus.content()


@pytest.mark.slow
def test_a_clean_corpus_is_left_as_it_is(good: list[SentencePair], tmp_path: Path) -> None:
    corpus = ParallelCorpus.of_pairs("good", [*good, *good[:5]])
    doctored = Doctored(corpus, [("good", Sides.of_corpus(corpus))], 2_000, tmp_path)
    assert list(doctored.corpus) == list(corpus)  # repeated pairs are for a step of cleaning
    assert doctored.actions == []
    kept = next(tmp_path.rglob("pairs.jsonl"))
    assert json.loads(kept.with_name("facts.json").read_text())["actions"] == []
    kept.write_bytes(kept.read_bytes()[:-20])  # a damaged file of a cache is made again
    assert list(Doctored(corpus, [("good", Sides.of_corpus(corpus))], 2_000, tmp_path).corpus) == list(corpus)


def test_a_doctor_takes_the_time_that_is_there(good: list[SentencePair], tmp_path: Path) -> None:
    files = write(tmp_path, good)
    parts = parts_of(files, None, ("en", "de"))
    told: list[str] = []
    assert affordable(parts, 60.0, told.append) == len(good) and not told
    assert affordable(parts, 1.0, told.append) == 0 and "too short" in told[0]
