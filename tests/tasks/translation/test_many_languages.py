"""One model of several directions: what it learns, how it is told which, and that a run of it can be resumed."""

import re
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from safetensors.torch import load_file

from toy_languages import DIRECTIONS, UNSEEN, sentences, settings, spell, write_corpora
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.base.errors import ConfigError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import ParallelCorpus
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.directions import Direction, LanguageTokens
from transduce.corpora.splits import WeightedCorpus, open_splits
from transduce.experiment import load_recipe, train
from transduce.inference.model_documents import DocumentTranslator
from transduce.inference.request import Request
from transduce.inference.scorer import Scorer
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.tasks.translation.corpus_sampling import weights_of

pytestmark = pytest.mark.slow

WORDS = sentences()[:12]


def run_of(folder: Path, place: str, updates: int, name: str = "run", **data: Any) -> Path:
    write_corpora(folder)
    (folder / "recipe.toml").write_text(tomli_w.dumps(settings(place, updates, **data)))
    train(load_recipe(folder / "recipe.toml"), folder / name)
    return folder / name


@pytest.fixture(scope="module", params=["source", "decoder"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each way to tell a model the language."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSDUCE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        return run_of(tmp_path_factory.mktemp(request.param), request.param, 250)


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    return Translator.load(run)


def test_one_model_learns_every_direction(translator: Translator) -> None:
    for direction in map(Direction.parse, DIRECTIONS):
        lines = [spell(words, direction.source) for words in WORDS]
        found = translator.translate(lines, to=direction.target, from_=direction.source)
        right = [one.text == spell(words, direction.target) for one, words in zip(found, WORDS, strict=True)]
        assert sum(right) >= 9, f"{direction}: {sum(right)} of {len(right)}"


def test_a_direction_that_was_not_trained_writes_the_language_that_is_asked_for(translator: Translator) -> None:
    unseen = Direction.parse(UNSEEN)
    found = translator.translate([spell(words, unseen.source) for words in WORDS], to=unseen.target, from_="fr")
    letters = set("".join(one.text for one in found)) - {" "}
    assert letters and sum(letter.isdigit() for letter in letters) >= len(letters) / 2


def test_a_direction_must_be_clear_and_known(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"choose one \(to\): en, fr, de"):
        translator.translate("b")
    with pytest.raises(InputError, match="does not write 'xx'; it writes en, fr, de"):
        translator.translate("b", to="xx")
    with pytest.raises(InputError, match="does not read 'xx'"):
        translator.translate("b", to="en", from_="xx")


def test_blank_lines_stay_blank_and_together_equals_one_by_one(translator: Translator) -> None:
    german, lines = translator.directed("en", "de"), ["", *(spell(words, "de") for words in WORDS[:5]), " "]
    together = german.translate(lines, Beam(size=2))
    assert (together[0].text, together[-1].text) == ("", "")
    assert [one.text for one in together] == [german.translate(line, Beam(size=2)).text for line in lines]


def test_scores_are_those_of_the_search_and_depend_on_the_language(translator: Translator) -> None:
    german, line = translator.directed("en", "de"), spell(WORDS[0], "de")
    found = german.translate(line, Beam(size=2))
    (score,) = german.score([(line, found.text)])
    assert score.log_probability == pytest.approx(found.n_best[0].log_probability, abs=1e-4)
    (other,) = translator.directed("fr", "de").score([(line, found.text)])
    assert other.log_probability < score.log_probability - 1
    bundle = translator.bundle
    assert isinstance(bundle, ModelBundle)
    with pytest.raises(InputError, match="choose one"):
        Scorer(bundle).score([(line, "1")])


def test_no_output_holds_a_token_of_a_language(translator: Translator) -> None:
    tokens = set(translator.bundle.tokenizers.target.marks.values())
    found = translator.directed("fr", "de").translate_chunk([spell(words, "de") for words in WORDS], Beam(size=4))
    pieces = {piece for one in found for piece in one.text.split()}
    assert tokens and not pieces & set(translator.bundle.tokenizers.target.pieces(tokens))


def test_details_and_looks_leave_the_language_out_of_the_words(translator: Translator) -> None:
    german, line = translator.directed("en", "de"), spell(WORDS[2], "de")
    (found,) = german.translate_chunk([line], Beam(size=1), with_details=True)
    assert found.details is not None
    assert found.details.source_words == line.split()
    look = german.look(line)
    assert look.alignment is not None and look.alignment.source_words == line.split()


def test_a_document_is_translated_in_the_direction_with_its_marks(translator: Translator) -> None:
    german, words = translator.directed("en", "de"), [("b",), ("c", "d")]
    page = "<p>b</p><p>c <i>d</i></p>"
    found = DocumentTranslator(german).translate_html(page)
    plain = [german.translate(spell(one, "de")).text for one in words]
    assert re.sub("<.*?>", " ", found).split() == " ".join(plain).split()
    assert "<i>" in found


def test_the_bundle_lists_its_directions_and_is_in_none_of_them(run: Path) -> None:
    config = ModelBundle.load(run).config
    assert config.languages is not None
    assert list(config.languages.directions or ()) == DIRECTIONS
    assert (config.source, config.target) == ("many", "many")
    assert set(config.languages.tokens) == {"de", "en", "fr"}
    assert (
        f"translate . --from {DIRECTIONS[0][:2]} --to {DIRECTIONS[0][3:]}" in (run / "model" / "README.md").read_text()
    )


def test_validation_and_test_tell_each_direction_and_the_mean(run: Path) -> None:
    history = ModelBundle.load(run).history
    scores, test = history["validation"], history["test"]
    each = [scores[f"exact_match/{direction}"] for direction in DIRECTIONS]
    assert scores["exact_match"] == pytest.approx(sum(each) / len(each))
    assert (
        min(scores[f"loss/{d}"] for d in DIRECTIONS) <= scores["loss"] <= max(scores[f"loss/{d}"] for d in DIRECTIONS)
    )
    assert list(test["directions"]) == DIRECTIONS
    assert test["bleu"] == pytest.approx(sum(test["directions"].values()) / len(DIRECTIONS))


@pytest.mark.parametrize("place", ["source", "decoder"])
def test_a_resumed_run_gives_the_same_bits(place: str, tmp_path: Path) -> None:
    whole = run_of(tmp_path, place, 8, "whole", temperature=5.0)
    changes = ["checkpoint.every_updates=4", "validation.every_updates=4"]
    half = tmp_path / "half"
    train(load_recipe(tmp_path / "recipe.toml", [*changes, "training.updates=4"]), half)
    train(load_recipe(tmp_path / "recipe.toml", [*changes, "training.updates=8"]), half, resume=True)
    one, other = (load_file(run / "model" / "weights.safetensors") for run in (whole, half))
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_temperature_evens_out_directions_and_leaves_the_length_of_an_epoch() -> None:
    empty = ParallelCorpus.of_pairs("none", [])
    small, large = Direction("de", "en"), Direction("fr", "en")
    corpora = [WeightedCorpus(empty, 1.0, small), WeightedCorpus(empty, 2.0, large), WeightedCorpus(empty, 1.0, large)]
    sizes = [100, 1000, 700]
    assert weights_of(corpora, sizes, 1.0) == [1.0, 2.0, 1.0]
    weights = weights_of(corpora, sizes, 3.0)
    seen = [weight * size for weight, size in zip(weights, sizes, strict=True)]
    assert sum(seen) == pytest.approx(2800)
    assert (seen[1] + seen[2]) / seen[0] == pytest.approx((2700 / 100) ** (1 / 3))
    assert seen[1] / seen[2] == pytest.approx(2000 / 700)


def test_temperature_evens_out_the_corpora_of_one_direction_each_with_all_its_files() -> None:
    empty = ParallelCorpus.of_pairs("none", [])
    small, large = WeightedCorpus(empty, 1.0), WeightedCorpus(empty, 2.0)
    sizes = [100, 1000, 700]
    weights = weights_of([small, large, large], sizes, 3.0)
    seen = [weight * size for weight, size in zip(weights, sizes, strict=True)]
    assert sum(seen) == pytest.approx(100 + 2 * 1700)
    assert (seen[1] + seen[2]) / seen[0] == pytest.approx((3400 / 100) ** (1 / 3))
    assert seen[1] / seen[2] == pytest.approx(1000 / 700)


def test_each_direction_takes_the_corpora_of_its_languages_from_whichever_side(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    splits = open_splits(DataConfig(**_data(settings("source")["data"])), tmp_path)
    pairs = {str(direction): list(own.validation) for direction, own in splits.directions.items()}
    assert list(pairs) == DIRECTIONS
    assert pairs["de-en"] == [type(pair)(pair.target, pair.source) for pair in pairs["en-de"]]
    assert [(pair.source, pair.target) for pair in pairs["fr-de"]] == [
        (spell(words, "fr"), spell(words, "de")) for words in sentences()[5:9]
    ]


def test_parts_that_are_drawn_hold_the_same_pairs_out_of_both_directions(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    data = {"train": [{"files": ["train.de", "train.en"]}], "directions": ["de-en", "en-de"], "validation_share": 0.3}
    splits = open_splits(DataConfig(**_data(data)), tmp_path)
    one, other = (splits.directions[direction] for direction in splits.directions)
    assert {(p.source, p.target) for p in one.validation} == {(p.target, p.source) for p in other.validation}
    held_out = {pair.source for pair in one.validation}
    assert held_out and not held_out & {pair.target for entry in other.train for pair in entry.corpus}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"directions": ["de-en", "de-en"]}, "named twice"),
        ({"directions": []}, "one at least"),
        ({"directions": ["de"]}, "two different languages"),
        ({"directions": ["de-de"]}, "two different languages"),
        ({"source": "de", "target": "en"}, "leave these out"),
        ({"directions": None}, "only with directions"),
        ({"directions": None, "language_token": "source"}, "name the directions"),
    ],
)
def test_settings_that_do_not_go_together_are_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        DataConfig(**_data(settings("decoder")["data"] | change))


def test_what_a_model_of_several_directions_is_to_learn_further_must_be_said(run: Path) -> None:
    recipe = {
        "data": {"train": ["train.de", "train.en"], "validation": ["dev.de", "dev.en"]},
        "training": {"start_from": str(run), "updates": 1},
    }
    (run.parent / "further.toml").write_text(tomli_w.dumps(recipe))
    with pytest.raises(ConfigError, match=r"say by data.source and data.target, or by data.directions"):
        train(load_recipe(run.parent / "further.toml"), run.parent / "further")


def test_a_direction_without_a_corpus_is_named(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    for part, setting in (("train", "data.train"), ("validation", "data.validation")):
        data = settings("source")["data"]
        data[part] = data[part][:1]
        with pytest.raises(ConfigError, match=f"de-fr: no corpus of {setting}"):
            open_splits(DataConfig(**_data(data)), tmp_path)


def test_the_tokens_of_languages_are_those_that_directions_need() -> None:
    directions = [Direction("de", "en"), Direction("fr", "en")]
    assert LanguageTokens.of(directions, "source").tokens == {"en": "<2en>"}
    assert LanguageTokens.of(directions, "decoder").tokens == {"de": "__de__", "en": "__en__", "fr": "__fr__"}
    assert LanguageTokens.of(directions, "source").find(None, None) == Direction("source", "en")


def _data(tree: dict[str, Any]) -> dict[str, Any]:
    """Settings from plain tables, as a recipe's are."""
    from msgspec import convert, structs

    found = convert({name: value for name, value in tree.items() if value is not None}, DataConfig)
    return structs.asdict(found)


def test_an_exported_model_knows_the_directions(run: Path, translator: Translator, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    line, beam = spell(WORDS[1], "de"), Beam(size=2)
    expected = translator.translate(line, beam, to="fr", from_="de").text
    parity = export_ctranslate2(run, tmp_path / "exported").parity
    assert parity.largest_difference < 1e-3 and parity.identical == parity.sentences
    exported = Translator.load(tmp_path / "exported")
    ours = translator.translate(line, beam, to="fr", from_="de")
    theirs = exported.translate(line, beam, to="fr", from_="de")
    assert theirs.text == ours.text == expected
    assert theirs.n_best[0].score == pytest.approx(ours.n_best[0].score, abs=1e-4)
    with pytest.raises(InputError, match="choose one"):
        exported.translate(line)


def test_a_server_has_the_trained_directions_of_a_model_and_batches_them_in_one_thread(
    run: Path, translator: Translator
) -> None:
    pytest.importorskip("prometheus_client")
    from transduce.apps.serving.models import Models
    from transduce.apps.serving.prometheus import Metrics

    models = Models([str(run)], Translator.load, Metrics())
    assert [f"{model.source}-{model.target}" for model in models.all] == DIRECTIONS
    assert len({id(model.batcher) for model in models.all}) == 1
    waiting = []
    for direction in map(Direction.parse, DIRECTIONS):
        model = models.find(direction.source, direction.target)
        requests = [Request(spell(words, direction.source)) for words in WORDS[:3]]
        futures = model.batcher.submit(requests, Beam(size=2), translator=model.translator)
        waiting.append((direction, requests, futures))
    for direction, requests, futures in waiting:
        found = translator.translate(requests, Beam(size=2), to=direction.target, from_=direction.source)
        assert [future.result(60).text for future in futures] == [one.text for one in found]
    models.reload()
    assert [f"{model.source}-{model.target}" for model in models.all] == DIRECTIONS
