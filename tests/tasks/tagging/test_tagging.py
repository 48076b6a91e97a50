"""From tagged sentences to a tagger: trained, measured, and asked for entities and their places."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

import transduce
from transduce.apps.cli.main import app
from transduce.base.errors import DataError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.tagged_sentences import TagColumns, entities_of, tagged_corpus
from transduce.data.word_rows import encode_words
from transduce.evaluation.metric import Texts
from transduce.evaluation.metrics import METRICS, count_all
from transduce.inference.tagger import WORD, Tagger
from transduce.tasks.tagging import TAGGING
from transduce.tasks.task import Wanted

NAMES, PLACES = ("ada", "noam", "grace"), ("new york", "rome", "oslo")
SENTENCES = [
    [*[(word, "O") for word in start], (name, "B-person"), ("is", "O"), ("in", "O")]
    + [(word, f"{'I' if i else 'B'}-place") for i, word in enumerate(place.split())]
    for name in NAMES
    for place in PLACES
    for start in (["today"], ["and", "now"], [])
]
SETTINGS: dict[str, Any] = {
    "task": "tagging",
    "data": {"train": "train.conll", "validation": "train.conll", "test": "train.conll"},
    "tokenizer": {"kind": "characters", "min_frequency": 1},
    "model": {"kind": "bert", "layers": 1, "dim": 24, "heads": 3, "max_positions": 48, "dropout": 0.0},
    "batching": {"examples": 9, "max_tokens": 40},
    "training": {"updates": 80, "precision": "float32", "report_every": 20, "label_smoothing": 0.0},
    "optimizer": {"learning_rate": 0.01, "schedule": {"kind": "linear", "warmup": 5}},
    "validation": {"every_updates": 40, "best_by": "entity_f1"},
}


def conll(sentences: list[list[tuple[str, str]]]) -> str:
    return "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in words) for words in sentences) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tagging")
    (folder / "train.conll").write_text(conll(SENTENCES), encoding="utf-8")
    (folder / "tiny.toml").write_text(tomli_w.dumps(SETTINGS), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    transduce.train(folder / "tiny.toml", folder / "run")
    return folder / "run"


def test_a_tagger_finds_entities_and_their_places(run: Path) -> None:
    tagger = transduce.load(run)
    assert isinstance(tagger, Tagger)
    text = "and now  grace is in new york"
    found = tagger.tag(text)
    assert [(one.kind, one.text) for one in found.entities] == [("person", "grace"), ("place", "new york")]
    for one in (*found.words, *found.entities):
        assert text[one.start : one.end] == one.text
        assert 0 < one.probability <= 1
    assert [one.tag for one in found.words] == ["O", "O", "B-person", "O", "O", "B-place", "I-place"]


def rare(outputs: list[list[str]], references: list[list[str]]) -> list[float]:
    """The share of the tags other than O that are right."""
    return [
        sum(a == b != "O" for a, b in zip(one, true, strict=True)) / max(1, sum(b != "O" for b in true))
        for one, true in zip(outputs, references, strict=True)
    ]


@pytest.mark.slow
def test_a_metric_of_one_s_own_chooses_the_best_tagger_and_scores_it(folder: Path, tmp_path: Path) -> None:
    settings = {"training": {"updates": 4}, "validation": {"every_updates": 2, "metrics": [rare], "best_by": rare}}
    result = transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=settings)
    bundle = ModelBundle.load(tmp_path / "run")
    data = TAGGING.test_data(Wanted(bundle.config, None, tmp_path, str(folder / "train.conll")))
    found = TAGGING.score(bundle, data, [rare])
    expected = np.mean(rare(found.outcome.outputs, found.outcome.references))
    assert found.counts["rare"].score == pytest.approx(expected)
    assert result.validation["rare"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "words",
    [
        ["Jose\u0301-Mari\u0301a", "de", "Sa\u0303o", "Paulo", "."],
        ["हिन्दी", "दिल्ली", "में", ",", "है"],
        ["می\u200cخواهم", "👨\u200d👩\u200d👧", "👍🏽", "❤\ufe0f", "!"],
        ["@ada_l", "#oslo", "O'Brien", "3.5", "(", "x", ")"],
    ],
)
def test_a_word_keeps_its_marks(words: list[str]) -> None:
    assert WORD.findall(" ".join(words)) == words


def test_batched_is_one_by_one_and_long_texts_are_read_in_parts(run: Path) -> None:
    tagger = Tagger.load(run)
    texts = ["today ada is in rome", " and ".join(["noam is in oslo"] * 9), "", "x"]
    together = tagger.tag(texts)
    assert together[2].words == together[2].entities == []
    assert len(together[1].words) == 9 * 4 + 8
    for text, found in zip(texts, together, strict=True):
        alone = tagger.tag(text)
        assert [one.tag for one in alone.words] == [one.tag for one in found.words]


def test_the_history_has_the_test_and_evaluate_finds_the_same(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = ModelBundle.load(run).history["test"]
    assert test["entity_f1"] == 1.0
    app(["evaluate", str(run), "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["scores"]["entity_f1"]["score"] == test["entity_f1"]
    assert facts["sentences"] == len(SENTENCES)


def test_the_command_gives_entities(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "texts.jsonl").write_text('{"text": "ada is in oslo"}\n\n', encoding="utf-8")
    app(["tag", str(run), str(tmp_path / "texts.jsonl"), "--entities"])
    first, blank = map(json.loads, capsys.readouterr().out.splitlines())
    assert [one["kind"] for one in first["entities"]] == ["person", "place"]
    assert blank is None


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O B-x I-x O", [(1, 3, "x")]),
        ("B-x B-x I-y I-y", [(0, 1, "x"), (1, 2, "x"), (2, 4, "y")]),
        ("I-x I-x O I-y", [(0, 2, "x"), (3, 4, "y")]),
        ("O O", []),
        ("B-x", [(0, 1, "x")]),
    ],
)
def test_entities_are_those_that_conlls_scorer_sees(tags: str, expected: list[tuple[int, int, str]]) -> None:
    assert entities_of(tags.split()) == expected


def test_f1_counts_whole_entities() -> None:
    told = [["B-x", "I-x", "O", "B-y"], ["O", "B-x"]]
    truth = [["B-x", "I-x", "O", "B-x"], ["B-x", "B-x"]]
    counts = count_all(METRICS["tags"], Texts(told, truth))
    assert counts["entity_precision"].score == pytest.approx(2 / 3)
    assert counts["entity_recall"].score == pytest.approx(2 / 4)
    assert counts["entity_f1"].score == pytest.approx(2 * 2 / 7)
    assert counts["tag_accuracy"].score == pytest.approx(4 / 6)


def test_rows_hold_whole_words_and_every_word_once(run: Path) -> None:
    tokenizer = ModelBundle.load(run).tokenizers.target
    sentences = [["ada", "is", "in", "oslo"] * 5, ["rome"], ["new"]]
    rows = encode_words(sentences, tokenizer, 12)
    assert int(rows.lengths.max()) <= 12
    found: dict[int, list[str]] = {}
    for (sentence, first, stop), ids, begins in zip(rows.words, rows.ids, rows.first_pieces, strict=True):
        assert stop - first == len(begins)
        pieces = [ids[begin:end] for begin, end in zip(begins, [*begins[1:], len(ids)], strict=True)]
        found.setdefault(sentence, []).extend(tokenizer.decode(piece) for piece in pieces)
    assert [found[i] for i in range(3)] == sentences


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ada\tB-x\nis\n", "line 2 has 1 column, but the first has 2"),
        ("ada\nis\n", "a word and its tag are expected"),
        ("ada\tperson\n", "'person' is no tag; expected O, B-kind or I-kind"),
        ("ada\tB-\n", "'B-' is no tag"),
        ("\tO\n", "its word is blank"),
    ],
)
def test_a_file_that_is_not_conll_is_reported(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.conll").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(tagged_corpus(tmp_path / "bad.conll", TagColumns()))


def test_columns_are_chosen_and_documents_skipped(tmp_path: Path) -> None:
    (tmp_path / "four.conll").write_text("-DOCSTART- -X- O O\n\nU.N. NNP I-NP I-org\nsays VBZ I-VP O\n\n\nx X O O\n")
    first, second = tagged_corpus(tmp_path / "four.conll", TagColumns())
    assert (first.words, first.tags, second.words) == (("U.N.", "says"), ("I-org", "O"), ("x",))
    (chosen, _) = tagged_corpus(tmp_path / "four.conll", TagColumns(word=1, tag=3))
    assert chosen.tags == ("I-NP", "I-VP")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"words": ["a"], "tags": ["O", "O"]}', "1 words, but 2 tags"),
        ('{"words": "a", "tags": ["O"]}', "no list of texts under 'words'"),
    ],
)
def test_an_object_that_does_not_fit_is_reported(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(tagged_corpus(tmp_path / "bad.jsonl", TagColumns()))


def test_a_tag_that_training_has_not_is_reported(folder: Path, tmp_path: Path) -> None:
    (folder / "other.conll").write_text("ada\tB-animal\n", encoding="utf-8")
    with pytest.raises(DataError, match="'B-animal' does not occur in the training data"):
        transduce.train(folder / "tiny.toml", tmp_path / "run", overrides={"data.validation": "other.conll"})
