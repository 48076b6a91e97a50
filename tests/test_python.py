"""The Python API takes what people write: strings, paths, tuples, dicts."""

import math
from pathlib import Path

import pytest

import transduce
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.base.errors import ConfigError, InputError

TEXTS = ["The dog sleeps.", "A cat."]
PAIRS = [("The dog sleeps.", "Der Hund schläft."), ("A cat.", "Eine Katze.")]
QUICK = {"training": {"updates": 3}, "checkpoint.every_updates": 2, "validation": {"every_updates": 3}}


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> transduce.Translator:
    return transduce.load(tiny_run)


def test_one_string_gives_one_translation_and_a_list_a_list(translator: transduce.Translator) -> None:
    whole = translator.translate(TEXTS)
    assert [one.text for one in whole] == [translator.translate(text).text for text in TEXTS]
    assert translator.translate(transduce.Request(TEXTS[0])) == whole[0]
    assert str(whole[0]) == whole[0].text
    assert translator.translate(text for text in TEXTS) == whole
    assert translator.translate("").text == ""
    assert translator.translate([]) == []


def test_a_string_is_not_a_stream_of_lines(translator: transduce.Translator) -> None:
    with pytest.raises(InputError, match=r"'A cat\.' is one line, not several; give a list"):
        next(translator.stream("A cat."))


def test_pairs_are_tuples_or_sentence_pairs(translator: transduce.Translator) -> None:
    scores = transduce.Scorer(translator.bundle).score(PAIRS)
    assert scores == translator.score([transduce.SentencePair(*pair) for pair in PAIRS])
    one = translator.score(PAIRS[1])
    assert one.log_probability == pytest.approx(scores[1].log_probability, abs=1e-4)


@pytest.mark.parametrize("pairs", ["ab", ["ab", "cd"], [("a",)], [("a", 2)]])
def test_what_is_no_pair_is_named(translator: transduce.Translator, pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(InputError, match=r"is not a pair; expected .*\(source, target\)"):
        translator.score(pairs)


def test_an_ensemble_scores_by_the_mean_of_probabilities(
    tiny_run: Path, recipe_file: Path, translator: transduce.Translator, tmp_path: Path
) -> None:
    transduce.train(recipe_file, tmp_path / "other", overrides={"seed": 2, **QUICK})
    other = transduce.load(tmp_path / "other")
    both = transduce.load(tiny_run, tmp_path / "other").score(PAIRS[0])
    for token, *single in zip(
        both.tokens, translator.score(PAIRS[0]).tokens, other.score(PAIRS[0]).tokens, strict=True
    ):
        mean = sum(math.exp(each.log_probability) for each in single) / 2
        assert math.exp(token.log_probability) == pytest.approx(mean, rel=1e-4)


def test_an_exported_model_says_that_it_cannot_score(tiny_run: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    export_ctranslate2(tiny_run, tmp_path / "fast")
    with pytest.raises(InputError, match="use the original model"):
        transduce.load(tmp_path / "fast").score(PAIRS)


def test_dir_shows_the_public_names_and_each_is_there() -> None:
    assert {"load", "train", "TransduceError", "Translator", "Beam", "Scorer"} <= set(dir(transduce))
    for name in dir(transduce):
        assert getattr(transduce, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        transduce.lode  # noqa: B018


def test_training_takes_strings_paths_and_changes_in_any_form(
    recipe_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["training.updates=3", "checkpoint.every_updates=2", "validation.every_updates=3"]
    as_dict = transduce.train(str(recipe_file), out=str(tmp_path / "a"), overrides=QUICK)
    assert capsys.readouterr().err == ""
    as_texts = transduce.train(recipe_file, tmp_path / "b", overrides=texts, progress=True)
    told = capsys.readouterr().err
    assert "model: " in told
    assert "validation at update 3" in told
    config = transduce.load_recipe(recipe_file).config
    as_settings = transduce.train(
        transduce.load_recipe(recipe_file, {"seed": 1}), tmp_path / "c", overrides={**QUICK, "training.updates": 3}
    )
    assert as_dict.validation == as_texts.validation == as_settings.validation
    assert config.training.updates == 30, "a change must not reach the recipe"


def test_resume_and_overwrite_exclude_each_other(recipe_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="resume and overwrite exclude each other"):
        transduce.train(recipe_file, tmp_path / "run", resume=True, overwrite=True)
    assert not (tmp_path / "run").exists()


def test_a_run_is_overwritten_if_asked_for_once_the_new_one_begins(recipe_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    transduce.train(recipe_file, run, overrides=QUICK)
    (run / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"replace it \(overwrite\)"):
        transduce.train(recipe_file, run, overrides=QUICK)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(transduce.TransduceError, match="nowhere"):
        transduce.train(recipe_file, run, overwrite=True, overrides={"data.train": ["nowhere.en", "nowhere.de"]})
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}, "nothing may be lost yet"
    result = transduce.train(recipe_file, run, overwrite=True, overrides={**QUICK, "training.updates": 2, "seed": 5})
    assert (result.updates, (run / "notes.txt").read_text()) == (2, "mine")
    assert [path.name for path in sorted((run / "checkpoints").iterdir())] == ["000002"]
    assert transduce.load_recipe(run).config.seed == 5


def test_only_a_run_is_overwritten(recipe_file: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(transduce.TransduceError, match="is not the folder of a run"):
        transduce.train(recipe_file, tmp_path, overwrite=True)
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_the_folder_of_a_run_is_a_recipe_and_where_it_goes_on(recipe_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    transduce.train(recipe_file, run, overrides=QUICK)
    assert transduce.train(run, resume=True, overrides={"training.updates": 4}).updates == 4
    with pytest.raises(ConfigError, match="run exists; resume it"):
        transduce.train(run)
    again = transduce.train(run, tmp_path / "again", overrides={"training.updates": 3})
    assert (again.run, again.updates) == (tmp_path / "again", 3)
