"""From questions on passages to a model that answers: windows, training, measures, and answers with their places."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers

import transduce
from transduce.apps.cli.main import app
from transduce.base.errors import DataError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.questions import Answer, Question, question_corpus
from transduce.data.passages import PassageWindow, encode_passages
from transduce.evaluation.labels import normalized, word_f1
from transduce.evaluation.metric import Texts
from transduce.evaluation.metrics import METRICS, count_all
from transduce.experiment import load_recipe
from transduce.inference.answerer import Answerer, find_answers
from transduce.models.heads import SpanHeadConfig
from transduce.tasks.answering import ANSWERING, Answering
from transduce.text.tokenizer import Tokenizer

QUESTION = "where lives it"
PLACES = ("rome", "oslo", "paris", "lima")
NAMES = ("ada", "noam", "grace", "kurt")


def article(no_answer: bool = False) -> dict[str, Any]:
    paragraphs = []
    for i, name in enumerate(NAMES):
        for place in PLACES:
            context = f"we know that {name} lives in {place} and likes it"
            asked = {"id": f"{name}-{place}", "question": "where lives it", "is_impossible": False}
            answers = [{"text": place, "answer_start": context.index(place)}]
            if no_answer and i == 0:
                context, answers, asked = f"we know that {name} sleeps", [], asked | {"is_impossible": True}
            paragraphs.append({"context": context, "qas": [asked | {"answers": answers}]})
    return {"data": [{"title": "where", "paragraphs": paragraphs * 2}]}


SETTINGS: dict[str, Any] = {
    "task": "answering",
    "data": {"train": "train.json", "validation": "train.json", "test": "train.json"},
    "tokenizer": {"kind": "words", "min_frequency": 1},
    "model": {"kind": "bert", "layers": 1, "dim": 24, "heads": 3, "max_positions": 24, "dropout": 0.0},
    "batching": {"examples": 8, "max_tokens": 20},
    "head": {"overlap": 4},
    "training": {"updates": 60, "precision": "float32", "report_every": 20},
    "optimizer": {"learning_rate": 0.01, "schedule": {"kind": "linear", "warmup": 5}},
    "validation": {"every_updates": 30, "best_by": "f1"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answering")
    (folder / "train.json").write_text(json.dumps(article()), encoding="utf-8")
    (folder / "none.json").write_text(json.dumps(article(no_answer=True)), encoding="utf-8")
    (folder / "tiny.toml").write_text(tomli_w.dumps(SETTINGS), encoding="utf-8")
    return folder


def test_a_passage_is_learned_from_or_validated_on_and_not_both(folder: Path) -> None:
    config = load_recipe(folder / "tiny.toml", {"data.validation": None, "data.validation_share": 0.2}).config
    texts = ANSWERING.open(config, folder).examples_of
    passages, held_out = ({one.passage for one in corpus} for corpus in (texts.train, texts.validation))
    assert len(held_out) == 3 and len(passages) == 13 and not passages & held_out


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    transduce.train(folder / "tiny.toml", folder / "run")
    return folder / "run"


def test_an_answer_is_a_part_of_its_passage(run: Path) -> None:
    answerer = transduce.load(run)
    assert isinstance(answerer, Answerer)
    passage = "We know  that Kurt lives in Lima and likes it".lower()
    with pytest.raises(InputError, match="n_best = 0"):
        answerer.answer("where lives it", passage, n_best=0)
    found = answerer.answer("where lives it", passage, n_best=3)
    assert str(found) == "lima"
    assert len(found.answers) == 3
    for one in found.answers:
        assert passage[one.start : one.end] == one.text
    probabilities = [one.probability for one in found.answers]
    assert probabilities == sorted(probabilities, reverse=True) and sum(probabilities) <= 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("where lives it",), "'where lives it' has no passage"),
        ((("where lives it", "ada lives in rome"),), "expected one question and a passage, or several pairs"),
        ((["where lives it"], "ada lives in rome"), "expected one question and a passage, or several pairs"),
        (([("where lives it", None)],), "expected one question and a passage, or several pairs"),
    ],
)
def test_what_is_no_question_with_its_passage_is_reported(run: Path, asked: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Answerer.load(run).answer(*asked)


def test_an_answer_is_found_far_into_a_long_passage(run: Path) -> None:
    passage = "and likes it " * 12 + "we know that ada lives in oslo and likes it " + "and likes it " * 12
    found = Answerer.load(run).answer(
        [("where lives it", passage), ("where lives it", "we know that ada lives in rome and likes it")]
    )
    assert [str(one) for one in found] == ["oslo", "rome"]
    assert found[0].answers[0].start == passage.index("oslo")


def test_the_history_has_the_test_and_evaluate_finds_the_same(
    run: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = ModelBundle.load(run).history["test"]
    assert test["f1"] == test["exact_match"] == 1.0
    app(["evaluate", str(run), "--reference", str(folder / "train.json"), "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["scores"]["exact_match"]["score"] == 1.0


def test_a_question_without_an_answer_is_predicted_as_one(folder: Path) -> None:
    overrides = {"data": dict.fromkeys(("train", "validation", "test"), "none.json"), "head.no_answer": True}
    transduce.train(folder / "tiny.toml", folder / "none", overrides=overrides)
    found = Answerer.load(folder / "none").answer(
        [
            ("where lives it", "we know that ada sleeps"),
            ("where lives it", "we know that kurt lives in oslo and likes it"),
        ]
    )
    assert [str(one) for one in found] == ["", "oslo"]


def test_a_question_without_an_answer_needs_the_setting(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"it has no answer; set head\.no_answer"):
        transduce.train(folder / "tiny.toml", tmp_path / "run", overrides={"data.train": "none.json"})


def test_the_command_reads_lines_objects_and_a_passage(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passage = "we know that ada lives in oslo and likes it"
    (tmp_path / "lines").write_text(f"where lives it\t{passage}\n\n", encoding="utf-8")
    (tmp_path / "asked.jsonl").write_text(json.dumps({"question": "where lives it", "passage": passage}))
    (tmp_path / "questions").write_text("where lives it\n", encoding="utf-8")
    (tmp_path / "passage").write_text(passage, encoding="utf-8")
    app(["answer", str(run), str(tmp_path / "lines")])
    app(["answer", str(run), str(tmp_path / "asked.jsonl")])
    app(["answer", str(run), str(tmp_path / "questions"), "--passage", str(tmp_path / "passage")])
    first, blank, second, third = map(json.loads, capsys.readouterr().out.splitlines())
    assert blank is None
    assert first == second == third
    assert first["answers"][0]["text"] == "oslo"


def test_an_answer_has_the_marks_of_its_last_letter() -> None:
    backend = Backend(models.WordPiece({"[UNK]": 0, "the": 1, "cafe": 2}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = Tokenizer(backend)
    passage = "the cafe\u0301"
    question = Question("q", "what", passage, (Answer("cafe\u0301", 4),), "")
    asked = Answering().encode([question], SpanHeadConfig(), tokenizer, 12)
    window = asked.windows[0]
    assert [passage[start:end] for start, end in window.places] == ["the", "cafe\u0301"]
    assert (asked.starts.tolist(), asked.ends.tolist()) == ([window.first + 1], [window.first + 1])


def test_spaces_that_tokens_hold_are_no_part_of_an_answer() -> None:
    passage = "in\tNew  York "
    places = [(0, 2), (2, 6), (6, 7), (7, 12), (12, 13)]  # of "in", "\tNew", " ", " York" and " "
    window = PassageWindow(0, [5], [6] * len(places), places)
    logits = np.zeros((2 + 1 + len(places) + 1, 2), dtype=np.float32)
    logits[window.first + 1, 0] = logits[window.first + 4, 1] = 9
    (found,) = find_answers([("where", passage)], [window], [logits], SpanHeadConfig(), 99)
    assert (found.text, found.answers[0].start) == ("New  York", 3)
    assert all(one.text == one.text.strip() == passage[one.start : one.end] != "" for one in found.answers)
    assert len({(one.start, one.end) for one in found.answers}) == len(found.answers) == 6
    assert sum(one.probability for one in found.answers) == pytest.approx(1)


def test_windows_overlap_and_hold_all_of_a_passage(run: Path) -> None:
    tokenizer = ModelBundle.load(run).tokenizers.target
    passage = " ".join(["we know that ada lives in oslo and likes it"] * 4)
    windows = encode_passages([("where lives it", passage)], tokenizer, 16, 4)
    assert len(windows) > 3
    for one, after in pairwise(windows):
        assert one.places[-4:] == after.places[:4]
        assert len(one.question) + len(one.passage) + 3 == 16
    covered = {place for window in windows for place in window.places}
    assert len(covered) == len(tokenizer.encode(passage))
    for window in windows:
        for token, (start, end) in zip(window.passage, window.places, strict=True):
            assert tokenizer.pieces([token]) == [passage[start:end]]


def test_a_window_points_at_the_whole_answer_or_at_none(run: Path, folder: Path) -> None:
    tokenizer = ModelBundle.load(run).tokenizers.target
    questions = list(question_corpus(folder / "train.json"))[:3]
    asked = Answering().encode(questions, SpanHeadConfig(overlap=2), tokenizer, 12)
    assert len(asked.windows) > 3
    pointing = set()
    for window, start, end in zip(asked.windows, asked.starts.tolist(), asked.ends.tolist(), strict=True):
        answer = questions[window.number].answers[0]
        if (start, end) != (0, 0):
            pointing.add(window.number)
            places = window.places[start - window.first], window.places[end - window.first]
            assert (places[0][0], places[1][1]) == (answer.start, answer.end)
    assert pointing == {0, 1, 2}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("The  Rome!", "rome"), ("an apple a day", "apple day"), ("U.S.", "us"), ("the", "")],
)
def test_answers_are_compared_without_case_articles_and_punctuation(answer: str, expected: str) -> None:
    assert normalized(answer) == expected


def test_f1_is_of_words_and_the_best_of_several_true_answers_counts() -> None:
    assert word_f1("the old city of rome", "rome") == pytest.approx(2 * 1 / (4 + 1))
    told = Texts(["city of Rome", "", "x"], [["oslo", "the city of rome."], [], ["y"]])
    counts = count_all(METRICS["answers"], told)
    assert counts["exact_match"].score == pytest.approx(2 / 3)
    assert counts["f1"].score == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": [{"text": "oslo", "answer_start": 3}]}, "question q: its answer 'oslo' is not in its passage at"),
        ({"answers": [{"text": "oslo"}]}, "no number under 'answer_start'"),
        ({"answers": "oslo"}, "no list under 'answers'"),
        ({"question": " "}, "its question is blank"),
        ({"question": 3}, "no text under 'question'"),
        ({"is_impossible": "no"}, "no true or false under 'is_impossible'"),
    ],
    ids=str,
)
def test_a_file_that_is_not_squads_is_reported(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    asked = {"id": "q", "question": "where", "answers": [{"text": "rome", "answer_start": 3}]} | change
    tree = {"data": [{"paragraphs": [{"context": "in rome", "qas": [asked]}]}]}
    (tmp_path / "bad.json").write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(question_corpus(tmp_path / "bad.json"))


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "not in the form of SQuAD")])
def test_a_file_that_is_no_json_is_reported(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(question_corpus(tmp_path / "bad.json"))
