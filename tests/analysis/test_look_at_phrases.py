"""A look at a phrase-based model: the phrases of a translation, as lines, numbers, a page and a figure."""

import json
from pathlib import Path

import pytest

import transduce
from small_corpus import small_corpus
from transduce.analysis.look_at_phrases import PhraseLook
from transduce.apps.cli.main import app, run
from transduce.base.errors import InputError
from transduce.inference.sentence_model import SentenceModel

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("phrases")
    for side in ("source", "target"):
        lines = [getattr(pair, side) for pair in small_corpus()]
        (folder / f"mine.{side[:2]}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(folder / "mine.so"), str(folder / "mine.ta")]
    transduce.train(files, folder / "run", overrides={"model.kind": "phrases"})
    return folder


@pytest.fixture(scope="module")
def translator(folder: Path) -> transduce.Translator:
    loaded = transduce.load(folder / "run")
    assert isinstance(loaded, transduce.Translator)
    return loaded


def test_phrases_make_up_the_sentence_and_its_translation(translator: transduce.Translator) -> None:
    sentence = "What does Anna open?"
    look = translator.look(sentence)
    assert isinstance(look, PhraseLook)
    assert (look.source, look.target) == (sentence, translator.translate(sentence).text)
    assert sorted(place for used in look.phrases for place in range(*used.span)) == [0, 1, 2, 3, 4]
    assert " ".join(used.target for used in look.phrases).split()[0].lower() == look.target.split()[0].lower()
    assert all(used.probability is None or 0 < used.probability <= 1 for used in look.phrases)
    assert look.score == pytest.approx(sum(total * weight for _, total, weight in look.features))
    assert len(str(look).splitlines()) == len(look.phrases)


def test_phrases_are_not_asked_why(translator: transduce.Translator) -> None:
    with pytest.raises(InputError, match="a phrase-based model has no layers to ask"):
        transduce.why(translator, "What does Anna open?", "Anna")


def test_a_given_translation_is_explained_as_far_as_phrases_go(translator: transduce.Translator) -> None:
    look = translator.look("What does Anna open?", "Was zwampt Anna?")
    assert isinstance(look, PhraseLook)
    assert look.target == "Was zwampt Anna?"
    assert any("zwampt" in used.target and used.probability is None for used in look.phrases)
    constrained = translator.look(transduce.Request("What does Anna open?", required=("Dose",)))
    assert isinstance(constrained, PhraseLook)
    assert any("Dose" in used.target for used in constrained.phrases)


@pytest.mark.parametrize("text", ["", "  "])
def test_there_must_be_a_text(translator: transduce.Translator, text: str) -> None:
    with pytest.raises(InputError, match="no text to look at"):
        translator.look(text)
    with pytest.raises(InputError, match="no text to look at"):
        translator.look("What does Anna open?", text)


def test_the_command_prints_phrases_and_writes_each_form(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, sentence = str(folder / "run"), "What does Anna open?"
    for form in ("html", "json", "svg"):
        assert run(lambda form=form: app(["look", model, sentence, "-o", str(folder / f"look.{form}")])) == 0
    facts = json.loads((folder / "look.json").read_bytes())
    assert (facts["model"], facts["source"]) == (model, sentence)
    page = (folder / "look.html").read_text(encoding="utf-8")
    assert "What does Anna open?" in page and all(used["target"] in page for used in facts["phrases"])
    assert "<svg" in (folder / "look.svg").read_text(encoding="utf-8")
    capsys.readouterr()


def test_words_are_aligned_by_the_phrases(
    folder: Path, translator: transduce.Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "few.tsv").write_text("What does Anna open?\tWas öffnet Anna?\n\t\n", encoding="utf-8")
    assert run(lambda: app(["align", str(folder / "run"), "--pairs", str(folder / "few.tsv")])) == 0
    line, blank = capsys.readouterr().out.split("\n")[:2]
    assert {"0-0", "2-2"} <= set(line.split())
    assert blank == ""
    model = SentenceModel(translator)
    assert model.can_align and model.can_require
    links, none, too_long = model.align(
        [("What does Anna open?", "Was öffnet Anna?"), ("", "a"), ("Anna " * 300, "Anna " * 300)]
    )
    assert links is not None and (2, 2) in links
    assert (none, too_long) == (set(), None)


def test_tags_of_documents_follow_their_words(folder: Path) -> None:
    (folder / "page.html").write_text("<p>What does <b>Anna</b> open?</p>", encoding="utf-8")
    assert (
        run(lambda: app(["translate", str(folder / "run"), str(folder / "page.html"), "-o", str(folder / "out.html")]))
        == 0
    )
    assert "<b>Anna</b>" in (folder / "out.html").read_text(encoding="utf-8")
