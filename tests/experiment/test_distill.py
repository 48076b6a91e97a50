"""A student learns what a teacher translates, a model what another translates back; each stage resumes."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from msgspec import Meta

import transduce
from toy_languages import WORDS, settings, spell
from transduce.base import ranges
from transduce.base.errors import CheckpointError, ConfigError, DataError, InputError, TransduceError
from transduce.corpora.cleaning import Duplicates, Identical, Length, Ratio, Repetition, Script
from transduce.corpora.directions import Direction
from transduce.corpora.formats import parallel_files
from transduce.evaluation.translations import sentence_score
from transduce.experiment import HeldOutFiles, Selection, load_recipe, synthetic_stages, translated_shards
from transduce.experiment.synthetic_pairs import (
    BLANK,
    TRUNCATED,
    WORST,
    SyntheticPairs,
    write_synthetic_pairs,
)
from transduce.experiment.synthetic_stages import SyntheticRun
from transduce.experiment.synthetic_texts import Sources, languages_of_direction, open_texts
from transduce.experiment.translated_shards import Translated, read_translations
from transduce.inference.translation import Candidate, Translation
from transduce.training.observers import Observer, Report

QUICK = {"training": {"updates": 12, "report_every": 1}, "checkpoint.every_updates": 4, "validation.every_updates": 4}
SIZES = {"test": 5, "dev": 4, "more": 11, "train": 130}
STAGES = ("translations", "data")


def make_sentences() -> list[tuple[str, ...]]:
    chance = random.Random(7)
    made = {tuple(chance.choices(WORDS, k=chance.randint(2, 5))): None for _ in range(300)}
    return list(made)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files in letters (de) and capital letters (fr), and a recipe and a run of each direction."""
    folder = tmp_path_factory.mktemp("distillation")
    made = iter(make_sentences())
    for name, size in SIZES.items():
        part = [next(made) for _ in range(size)]
        for language in ("de", "fr"):
            (folder / f"{name}.{language}").write_text("".join(f"{spell(words, language)}\n" for words in part))
    for source, target in (("de", "fr"), ("fr", "de")):
        tree = settings("source", updates=150)
        parts = {"train": "train", "validation": "dev", "test": "test"}
        tree["data"] = {name: [f"{stem}.{source}", f"{stem}.{target}"] for name, stem in parts.items()}
        tree["data"] |= {"source": source, "target": target}
        tree["validation"] = {"every_updates": 50, "samples": 0}
        tree["search"] = {"max_ratio": 1.0, "max_extra": 4}
        (folder / f"{source}-{target}.toml").write_text(tomli_w.dumps(tree))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TRANSDUCE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
            print(transduce.train(folder / f"{source}-{target}.toml", folder / f"run-{source}-{target}").test)
    return folder


def distilled(world: Path, out: Path, **changes: Any) -> SyntheticRun:
    """A distillation of pairs and text in shards of 40 sentences."""
    common: dict[str, Any] = {"recipe": world / "de-fr.toml", "overrides": QUICK}
    sources = [world / "run-de-fr", world / "more.de"]
    return transduce.distill(world / "run-de-fr", sources, out, **common | changes)


def shards(folder: Path, part: str) -> list[Path]:
    return sorted((folder / "translations").glob(f"{part}*.zst"))


def contents(folder: Path) -> dict[str, bytes]:
    """The files that a distillation makes, and the weights of its model."""
    files = [file for stage in STAGES for file in sorted((folder / stage).iterdir())]
    files.append(folder / "run/model/weights.safetensors")
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translated_shards, "SHARD", 40)


@pytest.fixture(scope="module")
def uninterrupted(world: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SyntheticRun]:
    out = tmp_path_factory.mktemp("uninterrupted") / "student"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translated_shards, "SHARD", 40)
        patch.setenv("TRANSDUCE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        return out, distilled(world, out)


@pytest.mark.slow
def test_a_student_learns_the_hypotheses_nearest_the_references(uninterrupted: tuple[Path, SyntheticRun]) -> None:
    out, result = uninterrupted
    made = list(read_translations(shards(out, "pairs")))
    assert len(made) == SIZES["train"]
    assert all(each.similarity >= each.similarity_of_best for each in made)
    agreement = result.pairs.agreement
    assert agreement is not None and agreement.best < agreement.kept
    learned = list(parallel_files([out / "data/translated.jsonl.zst"]))
    total = SIZES["train"] + SIZES["more"]
    assert len(learned) == result.pairs.kept == total - sum(result.pairs.dropped.values())
    assert WORST not in result.pairs.dropped
    translations = {each.source: each.translation for each in read_translations(shards(out, ""))}
    assert all(translations[pair.source] == pair.target for pair in learned)


def test_held_out_data_are_real_and_both_models_are_scored_on_them(
    world: Path, uninterrupted: tuple[Path, SyntheticRun]
) -> None:
    out, result = uninterrupted
    for name, stem in (("validation", "dev"), ("test", "test")):
        kept = list(parallel_files([out / f"data/{name}.jsonl.zst"]))
        assert kept == list(parallel_files([world / f"{stem}.de", world / f"{stem}.fr"]))
    assert result.comparison is not None and result.run.test is not None
    assert result.comparison.student.score == pytest.approx(result.run.test["bleu"])
    outputs = [each.translation for each in read_translations([out / "translations/test-00000.jsonl.zst"])]
    best = transduce.load(world / "run-de-fr").translate(
        (world / "test.de").read_text().splitlines(), transduce.Beam(size=5)
    )
    assert outputs == [translation.text for translation in best]
    assert json.loads((out / "report.json").read_text()) == json.loads(json.dumps(result.to_dict()))


def stopped_in_translations(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    write, written = translated_shards._write, []

    def stopping(path: Path, translations: Iterator[Translated]) -> None:
        if len(written) == 3:
            raise KeyboardInterrupt
        write(path, translations)
        written.append(path)

    patch.setattr(translated_shards, "_write", stopping)
    return {}


def stopped_in_data(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    def stopping(*_: object) -> None:
        raise KeyboardInterrupt

    patch.setattr(synthetic_stages, "write_pairs", stopping)
    return {}


def stopped_in_run(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    class Stopping(Observer):
        def report(self, report: Report) -> None:
            if report.update > 5:
                raise KeyboardInterrupt

    return {"observers": [Stopping()]}


def stopped_in_comparison(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    patch.setattr(synthetic_stages, "compare_counts", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("stop", [stopped_in_translations, stopped_in_data, stopped_in_run, stopped_in_comparison])
def test_a_distillation_that_is_stopped_goes_on_to_the_same_student(
    world: Path,
    uninterrupted: tuple[Path, SyntheticRun],
    tmp_path: Path,
    stop: Callable[[pytest.MonkeyPatch], dict[str, Any]],
) -> None:
    out = tmp_path / "student"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        distilled(world, out, **stop(patch))
    finished = {file: file.stat().st_mtime_ns for stage in STAGES for file in out.glob(f"{stage}/*")}
    assert len(finished) > 3
    result = distilled(world, out)
    assert {file: file.stat().st_mtime_ns for file in finished} == finished
    assert contents(out) == contents(uninterrupted[0])
    assert result.pairs == uninterrupted[1].pairs
    assert result.comparison is not None
    assert result.comparison.student == uninterrupted[1].comparison.student  # type: ignore[union-attr]


def test_the_student_learns_in_the_minutes_that_translating_leaves(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[float] = []

    def stopped(*_: Any, minutes: float, **others: Any) -> None:
        left.append(minutes)
        raise KeyboardInterrupt

    monkeypatch.setattr(synthetic_stages, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        distilled(world, tmp_path / "student", minutes=30.0)
    assert 25 < left.pop() < 30
    monkeypatch.setattr(synthetic_stages, "MINUTES", ranges.Number(float, Meta(ge=1000)))
    with pytest.raises(InputError, match="translating took all of the minutes; repeat it with more"):
        distilled(world, tmp_path / "student", minutes=30.0)
    assert not left
    assert shards(tmp_path / "student", "pairs")


@pytest.fixture
def finished(uninterrupted: tuple[Path, SyntheticRun], tmp_path: Path) -> Path:
    """A copy of the folder of a distillation."""
    return Path(shutil.copytree(uninterrupted[0], tmp_path / "student"))


def test_repeated_it_neither_translates_nor_trains(
    world: Path, finished: Path, uninterrupted: tuple[Path, SyntheticRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translated_shards, "_translate", None)
    lines: list[str] = []
    result = distilled(world, finished, tell=lines.append)
    assert any("nothing is left to train" in line for line in lines)
    assert (result.pairs, result.run.updates) == (uninterrupted[1].pairs, 12)
    assert contents(finished) == contents(uninterrupted[0])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"selection": Selection(metric="bleu")}, "was begun with other metric"),
        (
            {"selection": Selection(drop_worst=0.1)},
            r"begun with other drop_worst; use the same to go on, or remove .*data and .*run",
        ),
        ({"sources": ["run-de-fr", "dev.de"]}, "dev.de: the contents have changed since .*translations was begun"),
    ],
)
def test_what_was_begun_otherwise_is_refused_and_stays(
    world: Path, finished: Path, changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    before = contents(finished)
    arguments = {"teacher": "run-de-fr", "sources": ["run-de-fr", "more.de"], "out": finished}
    common = {"recipe": "de-fr.toml", "overrides": QUICK}
    with pytest.raises(TransduceError, match=words):
        transduce.distill(**arguments | common | changes)  # type: ignore[arg-type]
    assert contents(finished) == before


def test_other_pairs_are_chosen_of_translations_that_are_there(
    world: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translated_shards, "_translate", None)
    for stage in ("data", "run"):
        shutil.rmtree(finished / stage)
    selection = Selection(drop_worst=0.0, cleaning=(Length(max_words=3),))
    result = distilled(world, finished, selection=selection, pairs_weight=0.5)
    assert set(result.pairs.dropped) == {"with a side not of 1 to 3 words"}
    pairs = list(parallel_files([finished / "data/pairs.jsonl.zst"]))
    assert result.pairs.true_pairs == len(pairs) == SIZES["train"] - result.pairs.dropped_true_pairs
    assert {len(pair.source.split()) for pair in pairs} == {2, 3}
    train = load_recipe(finished / "run").config.data.train
    assert [(corpus.files, corpus.weight) for corpus in train] == [
        ("../data/translated.jsonl.zst", 1.0),
        ("../data/pairs.jsonl.zst", 0.5),
    ]


def test_a_damaged_shard_is_named_and_made_again_once_removed(
    world: Path, finished: Path, uninterrupted: tuple[Path, SyntheticRun]
) -> None:
    shard = finished / "translations/pairs-00001.jsonl.zst"
    shard.write_bytes(shard.read_bytes()[:-9])
    shutil.rmtree(finished / "data")
    with pytest.raises(CheckpointError, match=r"pairs-00001.*damaged.*remove it, and its sentences are translated"):
        distilled(world, finished)
    shard.unlink()
    distilled(world, finished)
    assert contents(finished) == contents(uninterrupted[0])


WRONG = [
    ("a b", "X Y Z", -0.1, False, None),
    ("a c", "X Y", -0.2, True, TRUNCATED),
    ("a d", " ", -0.2, False, BLANK),
    ("a e", "A  e", -0.2, False, "with equal sides"),
    ("a f", "Q R S T U", -0.2, False, "with more than 2 times the words on a side"),
    ("a g h", "no no no no", -0.2, False, "with a phrase more than 3 times in a row"),
    ("a h", "Ж Щ", -0.2, False, "whose target is not in Latin script"),
    ("a b", "X Y Z", -0.1, False, "whose pair came before"),
    ("a i", "V W", -2.0, False, WORST),
    ("a j", "V X", -0.3, False, None),
]
STEPS = (
    Identical(),
    Ratio(most=2),
    Repetition(),
    Script(side="target", scripts=["Latin"]),
    Duplicates(),
)


def test_each_wrong_translation_is_left_out_and_counted_by_its_reason(tmp_path: Path) -> None:
    shard = tmp_path / "shard.jsonl.zst"
    translated_shards._write(
        shard,
        (Translated(source=s, translation=t, score=score, truncated=cut) for s, t, score, cut, _ in WRONG),
    )
    kept = [(source, translation) for source, translation, *_, reason in WRONG if reason is None]
    file = tmp_path / "kept.jsonl"
    pairs = write_synthetic_pairs(file, [shard], STEPS, Selection(drop_worst=0.4))
    assert [(pair.source, pair.target) for pair in parallel_files([file])] == kept
    assert pairs == SyntheticPairs(10, 2, {reason: 1 for *_, reason in WRONG if reason is not None})
    back = write_synthetic_pairs(file, [shard], STEPS[:1], Selection(drop_worst=0.0), True, "<B>")
    assert next(iter(parallel_files([file]))).source == "<B> X Y Z"
    assert back.dropped == {TRUNCATED: 1, BLANK: 1, "with equal sides": 1}
    with pytest.raises(DataError, match=r"no sentence pairs are left \(.*with fewer than 9 words on a side"):
        write_synthetic_pairs(file, [shard], [Length(min_words=9)], Selection())


@pytest.mark.parametrize("metric", ["chrf", "bleu"])
def test_the_hypothesis_nearest_the_reference_is_kept(metric: Any) -> None:
    candidates = [Candidate(text, 0.0, -float(i)) for i, text in enumerate(("a dog", "the cat sits", "the cat sat"))]
    translation = Translation("a dog", candidates)
    score = sentence_score(metric, ["the cat sat"])
    chosen, scores = translated_shards._choose(translation, ("die Katze saß", "the cat sat"), score)
    assert chosen == candidates[2]
    assert scores[2] == max(scores) == pytest.approx(100)
    assert translated_shards._choose(translation, ("die Katze saß", None), score) == (candidates[0], [])


def test_text_that_is_translated_back_is_tagged_and_learned_beside_true_pairs(world: Path, tmp_path: Path) -> None:
    result = transduce.backtranslate(world / "run-fr-de", [world / "more.fr"], tmp_path / "out", overrides=QUICK)
    made = list(parallel_files([tmp_path / "out/data/translated.jsonl.zst"]))
    assert {pair.target for pair in made} <= set((world / "more.fr").read_text().splitlines())
    assert len(made) == result.pairs.kept > 5
    assert all(pair.source.startswith("⮌ ") for pair in made)
    translated = transduce.load(world / "run-fr-de").translate([pair.target for pair in made])
    assert [pair.source for pair in made] == [f"⮌ {translation.text}" for translation in translated]
    config = load_recipe(tmp_path / "out/run").config
    assert (config.data.source, config.data.target) == ("de", "fr")
    true = list(parallel_files([tmp_path / "out/data/pairs.jsonl.zst"]))
    assert true == list(parallel_files([world / "train.de", world / "train.fr"]))
    assert [corpus.weight for corpus in config.data.train] == [1.0, 1.0]
    tokenizer = transduce.load(tmp_path / "out/run").bundle.tokenizers.source
    assert len(tokenizer.encode("⮌ b")) == 2
    assert result.comparison is None
    assert result.run.test is not None


@pytest.mark.slow
def test_samples_are_drawn_anew_with_another_seed_alone(world: Path, tmp_path: Path) -> None:
    made = []
    for number, seed in enumerate((1, 1, 2)):
        transduce.backtranslate(
            world / "run-fr-de",
            [world / "more.fr"],
            tmp_path / f"{number}",
            pairs=[f"{world}/train.de,{world}/train.fr"],
            search=transduce.Sampling(temperature=3.0, seed=seed, max_ratio=1.0, max_extra=2),
            selection=Selection(drop_worst=0.0),
            recipe=world / "de-fr.toml",
            overrides={"training.updates": 1, "tokenizer.kind": "characters"},
            tag="",
        )
        made.append([each.translation for each in read_translations(shards(tmp_path / f"{number}", "text"))])
    assert made[0] == made[1] != made[2]
    sources = [pair.source for pair in parallel_files([tmp_path / "0/data/translated.jsonl.zst"])]
    assert set(sources) <= set(made[0])


@pytest.mark.slow
def test_an_ensemble_and_an_exported_model_teach(world: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2

    export_ctranslate2(world / "run-de-fr", tmp_path / "fast")
    teachers = {"ensemble": [world / "run-de-fr"] * 2, "exported": [tmp_path / "fast"]}
    made = {}
    for name, teacher in teachers.items():
        transduce.distill(
            teacher,
            [f"{world}/train.de,{world}/train.fr"],
            tmp_path / name,
            recipe=world / "de-fr.toml",
            overrides={"training.updates": 1},
            held_out=HeldOutFiles([world / "dev.de", world / "dev.fr"]),
        )
        made[name] = [each.translation for each in read_translations(shards(tmp_path / name, "pairs"))]
    assert made["ensemble"] == made["exported"]


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"teacher": []}, InputError, "no model to translate with"),
        ({"sources": ["english.toml"]}, InputError, "english has data of en-de, but de-fr is learned"),
        ({"overrides": {"data.max_tokens": 9, "data.target": "en"}}, ConfigError, "data.target: the data are those"),
        ({"overrides": {"model.dim": 33}}, ConfigError, "33"),
        ({"pairs_weight": -1.0}, ConfigError, "weight"),
    ],
)
def test_a_mistake_is_told_before_anything_is_written(
    world: Path, changes: dict[str, Any], error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    tree = settings("source")
    tree["data"] = {"train": ["train.de", "train.fr"], "source": "en", "target": "de"}
    Path("english.toml").write_text(tomli_w.dumps(tree))
    before = sorted(world.iterdir())
    arguments: dict[str, Any] = {"teacher": "run-de-fr", "out": "new", "recipe": "de-fr.toml", "overrides": QUICK}
    with pytest.raises(error, match=words):
        transduce.distill(**arguments | changes)
    assert sorted(world.iterdir()) == before


def test_texts_of_languages_without_names_are_read_in_their_direction(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{name} 1\n{name} 2\n")
    (tmp_path / "table.tsv").write_text("source\ttarget\nb 3\ta 3\n")
    tree = settings("source")
    tree["data"] = {"train": ["a.txt", "b.txt"], "validation": ["a.txt", "b.txt"]}
    (tmp_path / "own.toml").write_text(tomli_w.dumps(tree))
    own = load_recipe(tmp_path / "own.toml")
    reverse = Direction("target", "source")
    texts = open_texts(Sources.named([tmp_path / "table.tsv"]), reverse, own, HeldOutFiles())
    assert [(pair.source, pair.target) for corpus in texts.pairs for pair in corpus] == [("b 3", "a 3")]
    assert [pair.source for pair in texts.validation] == ["b 1", "b 2"]
    assert languages_of_direction(reverse) == languages_of_direction(reverse.reversed) == ("source", "target")
    assert languages_of_direction(Direction("de", "fr")) == ("de", "fr")


def test_a_model_without_a_run_needs_texts_and_a_recipe(world: Path, tmp_path: Path) -> None:
    for language in ("de-fr", "fr-de"):
        shutil.copytree(world / f"run-{language}/model", tmp_path / language)
    with pytest.raises(InputError, match="training data are unknown; name texts"):
        transduce.distill(tmp_path / "de-fr", out=tmp_path / "new", recipe=world / "de-fr.toml")
    with pytest.raises(InputError, match="no validation data"):
        transduce.distill(tmp_path / "de-fr", [world / "more.de"], tmp_path / "new", recipe=world / "de-fr.toml")
    with pytest.raises(InputError, match="settings are unknown; name a recipe"):
        transduce.backtranslate(
            tmp_path / "fr-de", [world / "more.fr"], pairs=[f"{world}/train.de,{world}/train.fr"], out=tmp_path / "new"
        )
    assert not (tmp_path / "new").exists()
