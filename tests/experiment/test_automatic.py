"""Two files are enough: a command trains on them, and what was chosen can be seen, changed and gone on with."""

import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import transduce
from transduce.apps.cli.main import app, run
from transduce.base.config import convert, flatten, to_tree
from transduce.base.errors import ConfigError, DataError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.splits import open_splits
from transduce.experiment import Files, Recipe, from_words, load_recipe
from transduce.experiment.automatic import recipe_for
from transduce.experiment.automatic_settings import choose_language_model
from transduce.experiment.machine import Machine, measure_machine, rounded
from transduce.experiment.recipe import find_recipe
from transduce.tasks.language.language_settings import LanguageConfig

pytestmark = pytest.mark.slow

TINY = (
    "training.updates=12",
    "model.dim=24",
    "model.heads=3",
    "model.feed_forward_dim=40",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "batching.target_tokens=128",
    "search.size=1",
)


def processor() -> Machine:
    return Machine("cpu", 1e11)


@pytest.fixture
def files(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two aligned files in the working folder, a duplicate and an empty side among them."""
    monkeypatch.chdir(tmp_path)
    for language, last in (("en", ""), ("de", "Leer.")):
        lines = (corpus / f"train.{language}").read_text(encoding="utf-8").splitlines()
        Path(f"mine.{language}").write_text("\n".join([*lines, lines[0], last]) + "\n", encoding="utf-8")
    return "mine.en", "mine.de"


def test_two_files_become_a_translator_by_one_command(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(lambda: app(["train", *files, *TINY])) == 0
    printed, told = capsys.readouterr()
    assert "the model is in runs/mine/model" in printed
    assert "test BLEU" in printed and ", with 95 % certainty " in printed
    assert "this is not a translator yet; more pairs help most" in printed
    assert len(transduce.load("runs/mine").translate(["The dog sleeps."])) == 1
    lines = told.splitlines()
    starts = [line.partition(":")[0] for line in lines]
    for choice in ("languages", "data", "cleaning", "held out", "vocabulary", "model", "training", "validation"):
        assert choice in starts
    assert "languages: from en to de" in lines
    assert "all settings go into runs/mine/experiment.toml, a recipe that you can edit and train again" in lines
    assert any(line.startswith("  left out: 1 whose pair came before") for line in lines)
    estimated = next(number for number, line in enumerate(lines) if " updates of about " in line)
    assert estimated < next(number for number, line in enumerate(lines) if line.startswith("validation at update"))


def test_where_no_line_has_four_words_bleu_is_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{adjective} {noun}\t{noun} {adjective}" for adjective in "abcdefghij" for noun in "klmnopqrst"]
    Path(tmp_path, "short.tsv").write_text("source\ttarget\n" + "\n".join(lines) + "\n", encoding="utf-8")
    assert run(lambda: app(["train", f"{tmp_path}/short.tsv", *TINY, "-o", f"{tmp_path}/run"])) == 0
    printed = capsys.readouterr().out
    assert "see chrF for lines so short" in printed and "not a translator yet" not in printed


@pytest.mark.parametrize("names", [("mine.en", "mine.de"), ("mine.1", "mine.2")])
def test_two_files_and_a_model_adapt_it_at_a_lower_rate_for_fewer_passes(
    files: tuple[str, str], tiny_run: Path, names: tuple[str, str]
) -> None:
    for file, name in zip(files, names, strict=True):
        Path(file).rename(name)
    told: list[str] = []
    adapting = Files(names, {"training.start_from": str(tiny_run), "search.size": 1})
    recipe = recipe_for(adapting, tell=told.append, machine=processor)
    start, fresh = ModelBundle.load(tiny_run), recipe_for(Files(names), machine=processor).config
    assert recipe.config.model == start.config.model
    assert (recipe.config.data.source, recipe.config.data.target) == ("en", "de")
    assert f"model: that of {tiny_run} with its vocabulary of {len(start.tokenizers.target)} tokens" in "\n".join(told)
    assert not any(line.startswith("vocabulary") for line in told)
    assert recipe.config.optimizer.learning_rate <= 0.1 * fresh.optimizer.learning_rate
    assert recipe.config.training.updates < fresh.training.updates / 5
    adapters = recipe_for(replace(adapting, overrides={**adapting.overrides, "training.adapters.rank": 4})).config
    assert adapters.optimizer.learning_rate == pytest.approx(10 * recipe.config.optimizer.learning_rate)
    told.clear()
    result = transduce.train(recipe, tell=told.append)
    assert result.before
    assert result.validation["loss"] <= result.before["loss"]
    assert not any("no effect" in line for line in told)


@pytest.mark.parametrize(
    "settings",
    [
        ("model.dim=100",),
        ("model.heads=3",),
        ("optimizer.schedule.kind=noam", "optimizer.schedule.dim=64"),
        ("tokenizer.source.kind=words", "tokenizer.source.min_frequency=1", "tokenizer.target.kind=bpe"),
        ("batching.sentences=16",),
        ("validation.every_epochs=1", "training.epochs=2"),
    ],
    ids=lambda settings: settings[0],
)
def test_whatever_is_asked_for_the_chosen_settings_train(files: tuple[str, str], settings: tuple[str, ...]) -> None:
    small = ["model.feed_forward_dim=8", "model.encoder_layers=1", "model.decoder_layers=1", "search.size=1"]
    asked = (*settings, *small, *([] if "training.epochs=2" in settings else ["training.updates=2"]))
    recipe = recipe_for(Files(files, asked), machine=processor)
    kept = flatten(to_tree(recipe.config))
    assert {key: str(kept[key]) for key, _, _ in (one.partition("=") for one in asked)} == {
        key: value for key, _, value in (one.partition("=") for one in asked)
    }
    assert transduce.train(recipe).updates > 0


def test_a_list_of_paths_is_as_good(files: tuple[str, str]) -> None:
    with pytest.raises(DataError, match=r"nowhere\.de: cannot be opened"):
        transduce.train([Path("mine.en"), Path("nowhere.de")])
    assert not Path("runs").exists()


def test_the_recipe_beside_the_run_repeats_the_split_and_the_settings(files: tuple[str, str]) -> None:
    recipe = recipe_for(Files(files, TINY), machine=processor)
    transduce.train(recipe)
    again = load_recipe("runs/mine/experiment.toml")
    before, after = (open_splits(each.config.data, each.folder) for each in (recipe, again))
    assert before.test is not None
    assert after.test is not None
    assert list(before.test) == list(after.test)
    assert list(before.validation) == list(after.validation)
    tree = to_tree(again.config)
    assert tree.pop("data") != to_tree(recipe.config).pop("data"), "files are named from the run's folder"
    assert tree == {name: table for name, table in to_tree(recipe.config).items() if name != "data"}


def test_a_resumed_run_keeps_what_was_chosen_whatever_the_machine_does_now(files: tuple[str, str]) -> None:
    begun = recipe_for(Files(files, TINY), machine=processor)
    transduce.train(begun)
    longer = Files(files, ("training.updates=15",))
    result = transduce.train(longer, resume=True)
    assert result.updates == 15
    kept = load_recipe("runs/mine/experiment.toml").config
    assert kept.optimizer == begun.config.optimizer
    assert kept.model == begun.config.model
    Path("other.en").write_text("a\n")
    with pytest.raises(ConfigError, match="was started with other files"):
        transduce.train(Files(("other.en", "mine.de")), out=Path("runs/mine"), resume=True)


def test_the_same_command_resumes_a_run_whose_changes_name_files(files: tuple[str, str], tiny_run: Path) -> None:
    start = os.path.relpath(tiny_run)
    changes = {"training.start_from": start, "data.general_validation": list(files), "search.size": 1}
    for updates in (1, 2):
        asked = Files(files, {**changes, "training.updates": updates})
        assert transduce.train(asked, resume=updates > 1).updates == updates


def test_a_run_that_exists_is_reported_before_anything_is_read(files: tuple[str, str]) -> None:
    Path("runs/mine").mkdir(parents=True)
    Path("runs/mine/experiment.toml").write_text("")
    Path("runs/mine/log.jsonl").write_text("{}\n")
    told: list[str] = []
    with pytest.raises(ConfigError, match="exists; resume it"):
        transduce.train(Files(files), tell=told.append)
    assert told == []


@pytest.mark.parametrize("setting", ["validation", "test"])
def test_a_mistake_in_the_other_files_is_reported_before_the_machine_is_measured(
    files: tuple[str, str], setting: str
) -> None:
    def never() -> Machine:
        raise AssertionError("measured")

    with pytest.raises(DataError, match=r"no\.en: cannot be opened"):
        recipe_for(Files(files, {f"data.{setting}": ["no.en", "no.de"]}), machine=never)


@pytest.mark.parametrize("name", ["pairs.en-de.tsv", "pairs.en-de.tsv.gz"])
def test_one_file_of_pairs_is_enough(files: tuple[str, str], name: str) -> None:
    sides = [Path(file).read_text(encoding="utf-8").splitlines() for file in files]
    text = "".join(f"{source}\t{target}\n" for source, target in zip(*sides, strict=True)).encode()
    Path(name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    recipe = recipe_for(Files((name,)), machine=processor)
    assert (recipe.name, recipe.config.data.source, recipe.config.data.target) == ("pairs.en-de", "en", "de")
    assert recipe.config.data.train == name
    assert list(open_splits(recipe.config.data, recipe.folder).validation)


def test_a_command_line_names_a_recipe_or_files(files: tuple[str, str]) -> None:
    assert from_words([*files, "training.updates=3"]) == Files(files, ("training.updates=3",))
    assert from_words(["pairs.tsv", "seed=2"]) == Files(("pairs.tsv",), ("seed=2",))
    found = from_words(["quickstart", "seed=2"])
    assert isinstance(found, Recipe)
    assert found.config.seed == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["mine.en", "seed=3"], "mine.en: give the file of its translations too"),
        (["mine.en", "mine.de", "mine.fr"], "expected two line-aligned files or one file of pairs, found 3"),
        (["quickstart", "seed"], "expected key=value"),
    ],
)
def test_what_is_neither_says_what_is_expected(files: tuple[str, str], words: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        from_words(words)


def test_files_with_too_little_in_them_say_how_much_is_left(tmp_path: Path) -> None:
    pairs = tmp_path / "few.tsv"
    pairs.write_text("".join(f"Satz {n}\tsentence {n}\n" for n in range(7)) + "gleich\tgleich\n")
    with pytest.raises(DataError, match=r"7 of 8 sentence pairs are left after cleaning, too few"):
        recipe_for(Files((str(pairs),)), machine=processor)
    with pytest.raises(DataError, match=r"8 of 8 sentence pairs are left"):
        recipe_for(Files((str(pairs),), ("data.cleaning=[]",)), machine=processor)
    pairs.write_text("")
    with pytest.raises(DataError, match="no sentence pairs"):
        recipe_for(Files((str(pairs),)), machine=processor)


def test_a_machine_that_is_measured_a_little_faster_or_slower_is_the_same() -> None:
    for speed in (rounded(3e9), rounded(6.65e10), rounded(1e13)):
        assert rounded(0.9 * speed) == rounded(1.1 * speed) == pytest.approx(speed)
        assert rounded(1.3 * speed) > speed > rounded(0.7 * speed)


def test_measuring_the_machine_moves_no_random_generator() -> None:
    before = torch.get_rng_state()
    machine = measure_machine(torch.device("cpu"))
    assert machine.operations > 0
    assert machine.kind == "cpu"
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("change", ["model.kind=recurrent", "optimizer.kind=muon", "tokenizer.kind=words"])
def test_settings_chosen_for_one_kind_give_way_where_another_kind_is_swept(files: tuple[str, str], change: str) -> None:
    recipe = recipe_for(Files(files), machine=processor)
    key, _, kind = change.partition("=")
    swept = flatten(to_tree(find_recipe(recipe, [change]).config))
    assert swept[key] == kind
    chosen = flatten(to_tree(recipe.config))
    assert all(swept[name] == chosen[name] for name in ("batching.target_tokens", "training.updates", "model.dropout"))


@pytest.mark.parametrize("names", [("dev.de", "dev.en"), ("dev.1", "dev.2")], ids=["names", "content"])
@pytest.mark.parametrize("part", ["validation", "test"])
def test_held_out_files_in_the_other_order_are_refused(
    files: tuple[str, str], names: tuple[str, str], part: str
) -> None:
    lines = [Path(file).read_text(encoding="utf-8").splitlines()[:20] for file in reversed(files)]
    for name, side in zip(names, lines, strict=True):
        Path(name).write_text("\n".join(side) + "\n", encoding="utf-8")
    for order, is_right in ((names, False), (names[::-1], True)):
        asked = from_words([*files], {part: order})
        if is_right:
            assert recipe_for(asked, machine=processor)
            continue
        with pytest.raises(DataError, match=r"name them in the other order|name source and target in the order"):
            recipe_for(asked, machine=processor)


def test_running_text_becomes_a_language_model_by_one_command(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    Path("notes.txt").write_text(text, encoding="utf-8")
    assert run(lambda: app(["train", "notes.txt"])) == 2
    assert "for a language model of running text add task=language" in capsys.readouterr().err
    small = ["training.updates=12", "model.dim=24", "model.heads=3", "model.layers=1", "model.feed_forward_dim=32"]
    assert run(lambda: app(["train", "notes.txt", "task=language", *small])) == 0
    told = capsys.readouterr().err.splitlines()
    starts = [line.partition(":")[0] for line in told]
    for choice in ("data", "vocabulary", "model", "training", "validation"):
        assert choice in starts
    assert len(transduce.load("runs/notes").generate("The", search=transduce.Sampling(seed=1), max_tokens=5).text) > 0
    assert run(lambda: app(["train", "notes.txt", "task=language", "training.updates=14", "--resume"])) == 0


@pytest.mark.parametrize("words", [300, 40_000, 3_000_000])
@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_settings_for_running_text_fit_its_length(words: int, kind: str) -> None:
    more = choose_language_model(10 * words, Machine(kind, 1e11)).tables
    less = choose_language_model(words, Machine(kind, 1e11)).tables
    for tables in (less, more):
        convert({"task": "language", "data": {"train": ["x"]}, **tables}, LanguageConfig, "chosen")
    sizes = [(each["model"]["dim"], each["tokenizer"]["max_size"]) for each in (less, more)]
    assert sizes == sorted(sizes)
    read = [each["training"]["updates"] * each["batching"]["target_tokens"] for each in (less, more)]
    assert read[0] / words >= 0.95 * read[1] / (10 * words)
