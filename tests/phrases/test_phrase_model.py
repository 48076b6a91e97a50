"""A phrase-based translator of a toy language, from sentences to a folder and back."""

import random
from pathlib import Path

import pytest

from transduce.base.errors import CheckpointError, DataError
from transduce.phrases.demands import Demands, Required
from transduce.phrases.phrase_model import PhraseModel
from transduce.phrases.phrase_words import text_of, words_of
from transduce.phrases.stack_decoder import WEIGHTS

NOUNS = {"Hund": "dog", "Katze": "cat", "Garten": "garden", "Zaun": "fence", "Schnee": "snow", "Ball": "ball"}
VERBS = {"sieht": "sees", "sucht": "seeks", "findet": "finds", "meidet": "avoids"}
ADJECTIVES = {"rote": "red", "alte": "old", "kleine": "small", "schnelle": "fast"}


def pairs(count: int = 150) -> list[tuple[str, str]]:
    chance = random.Random(1)
    made = []
    for _ in range(count):
        (a, x), (b, y) = chance.choices(list(NOUNS.items()), k=2)
        (verb, does), (how, like) = chance.choice(list(VERBS.items())), chance.choice(list(ADJECTIVES.items()))
        made.append((f"Der {how} {a} {verb} den {b}.", f"The {like} {x} {does} the {y}."))
    return made


@pytest.fixture(scope="module")
def model() -> PhraseModel:
    return PhraseModel.learn(pairs())


def test_sentences_that_were_not_seen_are_translated(model: PhraseModel) -> None:
    known, new = {source for source, _ in pairs()}, dict(pairs(400)[150:])
    right = [model.translate(source)[0][0] == target for source, target in new.items() if source not in known]
    assert len(right) > 50
    assert sum(right) >= 0.95 * len(right)


def test_unknown_words_are_copied_divided_or_taken_for_similar_ones(model: PhraseModel) -> None:
    assert model.translate("Der alte Wombat sieht den Ball.")[0][0] == "The old Wombat sees the ball."
    assert model.read("der Gartenzaun") == ["der", "Garten", "Zaun"]
    assert model.translate("Der alten Hund sieht den Ball.")[0][0] == "The old dog sees the ball."


def test_lists_are_of_different_outputs_best_first(model: PhraseModel) -> None:
    outputs = model.translate("Der kleine Hund sucht den Schnee.", 5)
    assert 1 < len({text for text, *_ in outputs}) == len(outputs) <= 5
    assert [output.score for _, output, _ in outputs] == sorted(
        (output.score for _, output, _ in outputs), reverse=True
    )


def required(*phrases: str, of: tuple[str, ...] = ()) -> Demands:
    return Demands(required=[Required(of, phrases)])


@pytest.mark.parametrize(
    ("demands", "translation"),
    [
        (required("hound", of=("Hund",)), "The small hound seeks the snow."),
        (required("hound", of=("hund",)), "The small hound seeks the snow."),
        (required("tiny pup", of=("kleine Hund",)), "The tiny pup seeks the snow."),
        (required("dog", of=("Hund",)), "The small dog seeks the snow."),
        (required("snow"), "The small dog seeks the snow."),
        (required("the snow"), "The small dog seeks the snow."),
        (Demands("A little"), "A little dog seeks the snow."),
        (Demands("The small dog seeks the"), "The small dog seeks the snow."),
        (Demands("The small dog", [Required(("Schnee",), ("ice",))], ["seeks"]), "The small dog the ice."),
        (Demands(banned=["small"]), "The dog seeks the snow."),
    ],
)
def test_demands_are_met(model: PhraseModel, demands: Demands, translation: str) -> None:
    ((text, *_),) = model.translate("Der kleine Hund sucht den Schnee.", 1, demands)
    assert text == translation


def test_what_no_word_translates_has_a_place_and_what_is_banned_has_none(model: PhraseModel) -> None:
    ((text, *_),) = model.translate("Der kleine Hund sucht den Schnee.", 1, required("la"))
    assert "la" in words_of(text)
    outputs = model.translate("Der kleine Hund sucht den Schnee.", 5, Demands(banned=["small dog"]))
    assert outputs and not any("small dog" in text for text, *_ in outputs)


def test_a_term_is_met_at_each_of_its_places_in_the_form_that_fits(model: PhraseModel) -> None:
    ((text, *_),) = model.translate("Der rote Ball sucht den Ball.", 1, required("sphere", "orb", of=("Ball",)))
    assert sum(text.count(form) for form in ("sphere", "orb")) == 2
    two = Demands(required=[Required(("Hund",), ("hound",)), Required(("alte Hund",), ("old boy",))])
    ((text, *_),) = model.translate("Der alte Hund sieht den Ball.", 1, two)
    assert "hound" in text and "old boy" in text


def test_what_is_demanded_is_written_letter_by_letter(model: PhraseModel) -> None:
    ((text, *_),) = model.translate("Hund sieht den Ball.", 1, required("iPup", of=("Hund",)))
    assert text.startswith("iPup ")
    ((text, *_),) = model.translate("Der Hund sieht den Ball.", 1, Demands("the hound , "))
    assert text.startswith("the hound ,")


def test_a_model_that_was_kept_translates_alike(model: PhraseModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    again = PhraseModel.load(tmp_path)
    for source, _ in pairs(30):
        assert again.translate(source, 3) == model.translate(source, 3)
    content = (tmp_path / "phrases.safetensors").read_bytes()
    (tmp_path / "phrases.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match="damaged"):
        PhraseModel.load(tmp_path)


@pytest.mark.slow
def test_learning_twice_gives_the_same(model: PhraseModel) -> None:
    assert PhraseModel.learn(pairs()).weights == model.weights


def test_weights_are_tuned_while_there_is_time(model: PhraseModel) -> None:
    assert PhraseModel.learn(pairs(), tuned_until=0.0).weights == WEIGHTS != model.weights


def test_text_of_the_target_language_decides_between_translations() -> None:
    two = [("Der Hund bellt.", "The dog barks."), ("Die Katze bellt.", "The cat woofs.")] * 12
    assert PhraseModel.learn(two, ["The ball woofs."] * 30).translate("Der Ball bellt.")[0].text.endswith("woofs.")
    assert PhraseModel.learn(two, ["The Ball barks."] * 30).translate("Der Ball bellt.")[0].text.endswith("barks.")


def test_words_that_are_copied_are_not_remembered(model: PhraseModel) -> None:
    before = len(model.target.words)
    outputs = model.translate("Der Wombat sieht den Wombat und die Quokkas.", 5)
    assert all("Wombat" in text and "Quokkas" in text for text, *_ in outputs)
    assert len(model.target.words) == before


def test_without_usable_pairs_there_is_one_line() -> None:
    with pytest.raises(DataError, match="1 to 60 words"):
        PhraseModel.learn([("", "a"), ("a " * 70, "b")])


@pytest.mark.parametrize(
    "text", ["A dog, isn't it?", "我们在公园里看见一只狗。", "Er sagte: „Ja!“", "犬が走る", "l'herbe verte"]
)
def test_words_become_the_text_again(text: str) -> None:
    assert text_of(words_of(text)) == text
