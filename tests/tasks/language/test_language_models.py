"""A language model from text to text: trained, gone on with, measured, and written with."""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli_w
import torch

import transduce
from transduce.apps.cli.machine_options import MachineOptions
from transduce.apps.cli.main import app
from transduce.apps.cli.main import run as command
from transduce.apps.cli.options import DataOptions
from transduce.apps.cli.scored import compare_models, evaluate_text
from transduce.base.errors import ConfigError, DataError, InputError
from transduce.base.task_table import find_task
from transduce.bundle.model_bundle import ModelBundle
from transduce.bundle.probe import read_probe
from transduce.corpora.formats import text_file
from transduce.data.batch import Batch
from transduce.data.text_store import TextStore, open_text_store
from transduce.data.windows import WindowsConfig, windows_in_order
from transduce.evaluation import perplexity
from transduce.evaluation.metrics import METRICS, count_all
from transduce.evaluation.perplexity import count_text
from transduce.experiment.recipe import load_recipe
from transduce.experiment.sweep import sweep
from transduce.inference.generator import Generator
from transduce.inference.request import Request
from transduce.inference.scorer import Scorer
from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.sampling import Sampling
from transduce.tasks.language.language_validation import measure_text
from transduce.training.distributed import Processes
from transduce.training.run_summary import summarize_run

pytestmark = pytest.mark.slow

LINES = [f"the {animal} sees  the {other}\n\n" for animal in ("dog", "cat", "cow") for other in ("sun", "moon")]
TEXT = "".join(LINES) * 20
SETTINGS: dict[str, Any] = {
    "task": "language",
    "data": {"train": "text", "validation_share": 0.1, "language": "en"},
    "tokenizer": {"kind": "characters", "min_frequency": 1},
    "model": {"kind": "causal-transformer", "layers": 1, "dim": 16, "heads": 2, "feed_forward_dim": 24, "dropout": 0.1},
    "batching": {"window": 12, "target_tokens": 48},
    "training": {"updates": 40, "precision": "float32", "report_every": 5, "label_smoothing": 0.0},
    "optimizer": {"learning_rate": 0.01, "schedule": {"kind": "inverse_square_root", "warmup": 5}},
    "checkpoint": {"every_updates": 20},
    "validation": {"every_updates": 20},
}
DRAWS = Sampling(temperature=0.9, seed=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a text, and a recipe for it."""
    folder = tmp_path_factory.mktemp("language")
    (folder / "text").write_text(TEXT, encoding="utf-8")
    (folder / "test").write_text("the dog sees the moon\n", encoding="utf-8")
    (folder / "tiny.toml").write_text(tomli_w.dumps(SETTINGS), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSDUCE_CACHE", str(folder / "cache"))
        transduce.train(folder / "tiny.toml", folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def generator(run: Path) -> Generator:
    loaded = transduce.load(run)
    assert isinstance(loaded, Generator)
    return loaded


def log(run: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]


def test_it_learns(run: Path) -> None:
    first, *_, last = [line["validation"]["loss"] for line in log(run) if "validation" in line]
    assert last < first < math.log(300)
    (samples, *_) = [line["samples"] for line in log(run) if "samples" in line]
    assert all(TEXT.count(sample["source"] + sample["reference"]) for sample in samples)


def test_a_stopped_run_goes_on_bit_for_bit(folder: Path, run: Path) -> None:
    transduce.train(folder / "tiny.toml", folder / "stopped", overrides={"training.updates": 20})
    transduce.train(folder / "tiny.toml", folder / "stopped", resume=True)
    expected, found = ([line["loss"] for line in log(one) if "loss" in line] for one in (run, folder / "stopped"))
    assert found == expected


def test_parts_of_a_batch_give_the_losses_of_the_whole(folder: Path, tmp_path: Path) -> None:
    still = {"model.dropout": 0.0, "training.updates": 10}
    for name, parts in (("whole", 1), ("parts", 3)):
        transduce.train(folder / "tiny.toml", tmp_path / name, overrides={**still, "training.accumulate": parts})
    losses = [[line["loss"] for line in log(tmp_path / name) if "loss" in line] for name in ("whole", "parts")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_changed_text_is_an_error_that_names_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(tomli_w.dumps(SETTINGS), encoding="utf-8")
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    transduce.train(tmp_path / "tiny.toml", tmp_path / "run", overrides={"training.updates": 20})
    (tmp_path / "text").write_text(TEXT.replace("dog", "pig"), encoding="utf-8")
    with pytest.raises(DataError, match=r"text \(data\.(validation|train)\): the contents have changed since"):
        transduce.train(tmp_path / "tiny.toml", tmp_path / "run", resume=True)


def test_scores_of_a_test_text_compare_across_tokenizers(folder: Path, tmp_path: Path) -> None:
    overrides = {"training.updates": 5, "data.test": "test"}
    result = transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=overrides)
    assert result.test is not None
    bundle = ModelBundle.load(tmp_path / "run")
    line = "the dog sees the moon"
    assert summarize_run(tmp_path / "run").test == result.test
    ids = [*bundle.tokenizers.target.encode(line), bundle.tokenizers.target.eos]
    assert len(ids) == len(line) + 1
    nats = result.test["loss"] * (len(ids) - 1)
    assert result.test["perplexity"] == pytest.approx(math.exp(result.test["loss"]))
    assert result.test["word_perplexity"] == pytest.approx(math.exp(nats / 6))  # five words and the end of the line
    assert result.test["bits_per_character"] == pytest.approx(nats / math.log(2) / (len(ids) - 1))


@pytest.mark.parametrize("search", [Beam(size=1), DRAWS, Sampling(top_k=3, seed=9)], ids=["greedy", "draws", "top k"])
@pytest.mark.parametrize("stop", [(), ("\n",), ("sees", "moon")], ids=str)
def test_a_stream_is_what_is_generated(generator: Generator, search: Any, stop: tuple[str, ...]) -> None:
    for prompt in ("the ", "", "the dog\nthe"):
        pieces = list(generator.stream(prompt, search, 50, stop))
        generation = generator.generate(prompt, search, 50, stop)
        assert "".join(pieces) == generation.continuation
        assert len(pieces) > 3 or stop
        assert not any(end in generation.continuation for end in stop)


@pytest.mark.parametrize(
    "search", [Beam(size=1), DRAWS, Beam(size=3, n_best=2), DiverseBeam(size=4, groups=2, n_best=2)], ids=str
)
def test_many_prompts_give_what_each_alone_gives(generator: Generator, search: Any) -> None:
    prompts = ["the ", "the cow sees", "a", "", "the ", "the cat sees the moon\nthe dog"]
    together = generator.generate(prompts, search, 30)
    for prompt, found in zip(prompts, together, strict=True):
        alone = generator.generate(prompt, search, 30)
        assert [draft.text for draft in found.n_best] == [draft.text for draft in alone.n_best]
        assert found.text.startswith(prompt)


def test_greedy_takes_the_likeliest_token_each_time(generator: Generator) -> None:
    """The slow and obvious way: the whole text anew for each token."""
    tokenizer, model = generator.bundle.tokenizers.target, generator.model
    ids = generator.encode("the")
    for _ in range(generator.window - len(ids) + 1):
        tokens = torch.tensor([ids])
        logits, _ = model.decoder(tokens, model.start(model.encode(tokens[:, :0], tokens[:, :0].bool())))
        logits[0, -1, [tokenizer.pad, tokenizer.bos, tokenizer.unknown]] = -torch.inf
        ids.append(int(logits[0, -1].argmax()))
    found = generator.generate("the", max_tokens=generator.window - 2)
    assert found.text == generator.text_of(ids)


def test_text_goes_on_beyond_the_window(generator: Generator) -> None:
    (draft,) = generator.generate("the", DRAWS, 3 * generator.window).n_best
    assert draft.tokens == 3 * generator.window == len(draft.text) - 3
    assert not draft.stopped


def test_a_model_and_itself_write_what_it_writes_alone(run: Path, generator: Generator) -> None:
    both = Generator.load(run, run)
    assert both.generate("the ", DRAWS, 20).text == generator.generate("the ", DRAWS, 20).text


def test_required_and_banned_phrases_are_followed(generator: Generator) -> None:
    request = Request("the ", required=("moon",))
    assert "moon" in generator.generate(request, Beam(size=8), 10).continuation
    longer = generator.generate(request, Beam(size=8), 2 * generator.window)
    assert "moon" in longer.continuation
    banned = generator.generate(Request("the dog sees the ", banned=("sun", "moon", "the")), Beam(size=2), 10)
    assert not {"sun", "moon", "the"} & set(banned.continuation.split())


def test_a_stop_that_never_comes_changes_nothing(generator: Generator) -> None:
    for search in (Beam(size=1), Beam(size=3, n_best=2), DRAWS):
        plain = generator.generate("the dog", search, 40)
        assert generator.generate("the dog", search, 40, stop=("zzz",)) == plain


def test_outputs_that_are_alike_before_a_stop_are_given_once(generator: Generator) -> None:
    found = generator.generate("the dog", Beam(size=4, n_best=4), 10, stop=(" ",))
    assert len({one.text for one in found.n_best}) == len(found.n_best)


def test_draws_are_all_given_though_some_are_alike(generator: Generator) -> None:
    drafts = generator.generate("the ", Sampling(seed=3, n_best=60), 1).n_best
    assert len(drafts) == 60 > len({draft.text for draft in drafts})


def test_rules_see_the_prompt(generator: Generator) -> None:
    text = generator.generate("the dog ", Beam(size=1, no_repeat_ngram=3), 30, stop=("zzz",)).text
    ids = generator.encode(text)[:13]  # of one window
    trigrams = list(zip(ids, ids[1:], ids[2:], strict=False))
    assert len(set(trigrams)) == len(trigrams)
    greedy = generator.generate("the", Beam(size=1), 1).continuation
    assert greedy == " "
    for prompt in ("the", "the\nthe"):
        banned = generator.generate(Request(prompt, banned=("the  ",)), Beam(size=1), 12).text
        assert "the  " not in banned


@pytest.mark.parametrize("search", [Sampling(), DiverseBeam(size=4, groups=2)])
def test_required_phrases_are_never_dropped_in_silence(generator: Generator, search: Any) -> None:
    with pytest.raises(InputError, match="required phrases go with a plain beam"):
        generator.generate(Request("the", required=("moon",)), search, 20)
    with pytest.raises(InputError, match="without required phrases"):
        generator.stream(Request("the", required=("moon",)), Beam(size=1), 20)


def test_learned_positions_suffice_for_texts_of_any_length(folder: Path, tmp_path: Path) -> None:
    overrides = ["model.positions=learned", "model.max_positions=12", "training.updates=20"]
    transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=overrides)
    generator = transduce.load(tmp_path / "run")
    assert isinstance(generator, Generator)
    for prompt in ("", "the dog see", "the dog sees", "the dog sees  the sun"):
        for search in (Beam(size=1), Beam(size=2), DRAWS):
            assert generator.generate(prompt, search, 30).n_best[0].tokens == 30
        assert "".join(generator.stream(prompt, DRAWS, 30)) == generator.generate(prompt, DRAWS, 30).continuation


def test_words_are_streamed_once_their_spaces_are_known(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("he said ' go , now ' and l ' air ( \" x \" ) .\n" * 60, encoding="utf-8")
    overrides = ["tokenizer.kind='words'", f"data.train='{tmp_path / 'text'}'", "training.updates=10"]
    transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=overrides)
    generator = transduce.load(tmp_path / "run")
    assert isinstance(generator, Generator)
    for seed in range(20):
        search = Sampling(seed=seed, temperature=2.0)
        streamed = "".join(generator.stream("he said", search, 20))
        assert streamed == generator.generate("he said", search, 20).continuation


def test_an_empty_prompt_is_no_part_of_the_text(generator: Generator) -> None:
    found = generator.generate("", Beam(size=1), 9)
    assert found.prompt == ""
    assert found.text == found.continuation == "".join(generator.stream("", Beam(size=1), 9))
    assert len(found.text) == 9


@pytest.mark.parametrize("precision", ["int8", "bfloat16"])
def test_other_precisions_write_too(run: Path, precision: Any) -> None:
    loaded = transduce.load(run, precision=precision)
    assert isinstance(loaded, Generator)
    assert loaded.generate("the dog", max_tokens=12).n_best[0].tokens == 12


def test_lines_are_scored_as_running_text_is(run: Path) -> None:
    bundle = ModelBundle.load(run)
    (score,) = Scorer(bundle).score([("", "the dog")])
    tokenizer = bundle.tokenizers.target
    ids = torch.tensor([[tokenizer.eos, *tokenizer.encode("the dog"), tokenizer.eos]])
    model: Any = bundle.model
    logits, _ = model.decoder(ids[:, :-1], model.start(model.encode(ids[:, :0], ids[:, :0].bool())))
    expected = logits.log_softmax(-1).gather(2, ids[:, 1:, None]).sum()
    assert score.log_probability == pytest.approx(float(expected.detach()), abs=1e-4)


def test_what_each_line_costs_adds_up_to_the_whole_text(run: Path, tmp_path: Path) -> None:
    lines = ["the dog sees  the sun", "", "the cow"]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    bundle, text = ModelBundle.load(run), text_file(tmp_path / "text")
    store = open_text_store(text, bundle.tokenizers.target, tmp_path / "cache")
    for window in (5, 100):
        config = WindowsConfig(window=window, target_tokens=10)
        counts = count_text(bundle.model, bundle.tokenizers.target, store, text, config)
        assert counts.counts[:, 1].tolist() == [6, 1, 3]
        assert counts.counts[:, 2].tolist() == [len(lines[0]), len(lines[1]) + 1, len(lines[2]) + 1]
        whole = measure_text(bundle.model, store, config)
        for name, counted in count_all(METRICS["lines"], counts).items():
            assert counted.score == pytest.approx(whole[name])
    (score,) = Scorer(bundle).score([("", lines[0])])
    after_its_first = -sum(token.log_probability for token in score.tokens)  # of a line that begins the text
    counts = count_text(bundle.model, bundle.tokenizers.target, store, text, WindowsConfig(window=100)).counts
    assert counts[0, 0] < after_its_first
    assert counts[:, 0].min() > 0


def test_models_of_different_tokenizers_are_compared_line_by_line(folder: Path, run: Path, tmp_path: Path) -> None:
    words = ["tokenizer.kind='words'", "training.updates=5"]
    transduce.train(folder / "tiny.toml", tmp_path / "words", overrides=words)
    found = compare_models(
        [str(run), str(tmp_path / "words")],
        DataOptions(reference=[str(folder / "text")]),
        (),
        MachineOptions("cpu"),
        lambda line: None,
    )
    first, second = found.systems
    assert (found.size, first.against_baseline) == (TEXT.count("\n"), None)
    assert second.against_baseline is not None
    for metric, difference in second.against_baseline.items():
        assert difference.difference == pytest.approx(second.scores[metric].score - first.scores[metric].score)
        assert difference.randomization_p < 0.01
    spans = [abs(line.nats[str(run)] - line.nats[str(tmp_path / "words")]) for line in found.most_different]
    assert spans == sorted(spans, reverse=True)
    assert found.most_different[0].text == TEXT.splitlines()[found.most_different[0].line - 1]
    with pytest.raises(InputError, match="different test sets"):
        (tmp_path / "other").write_text(TEXT[: len(TEXT) // 2], encoding="utf-8")
        other = [f"data.train='{tmp_path / 'other'}'", "training.updates=2"]
        transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=other)
        compare_models([str(run), str(tmp_path / "run")], DataOptions(), (), MachineOptions("cpu"), print)


def test_settings_are_swept_by_bits_per_character(folder: Path, tmp_path: Path) -> None:
    found = sweep(
        str(folder / "tiny.toml"), {"training.updates": ["2", "20"]}, out=tmp_path, overrides=["data.test='test'"]
    )
    assert (found.metric, found.size, found.unit) == ("bits_per_character", 1, "lines")
    for cell in found.cells:
        (trained,) = cell.trained
        assert trained.score == pytest.approx(
            msgspec.json.decode((trained.run / "model" / "history.json").read_bytes())["test"]["bits_per_character"]
        )
    difference = found.cells[1].against_first
    assert difference is not None and difference.difference < 0
    with pytest.raises(InputError, match="no metric 'bleu' of language models; there are bits_per_character"):
        sweep(str(folder / "tiny.toml"), {}, out=tmp_path / "other", metric="bleu")


def test_checkpoints_are_averaged(run: Path, tmp_path: Path) -> None:
    from transduce.experiment import average

    found = average(run, out=tmp_path / "mean")
    assert len(found.checkpoints) == 2
    assert isinstance(transduce.load(tmp_path / "mean"), Generator)


def test_a_model_is_saved_whose_positions_end_before_the_lines_by_which_it_is_probed(
    folder: Path, tmp_path: Path
) -> None:
    changes = ["model.positions=learned", "model.max_positions=13", "training.updates=2", "tokenizer.kind=bytes"]
    result = transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=changes)
    probe = read_probe(result.model)
    assert max(map(len, probe.target)) == 12
    assert all(LINES[0].startswith(text) or TEXT.count(text) for text in probe.text)
    assert isinstance(transduce.load(result.model), Generator)


def test_a_validation_text_of_blank_lines_does_not_keep_a_model_from_being_saved(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "blank").write_text("\n \n\n", encoding="utf-8")
    overrides = {"data": {"validation_share": None, "validation": str(tmp_path / "blank")}, "training.updates": 2}
    result = transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=overrides)
    assert read_probe(result.model).text[0] == LINES[0].rstrip("\n")


class Unconnected(Processes):
    """Several processes of which only this one is there, so that it waits for none."""

    def broadcast(self, make: Callable[[], Any]) -> Any:
        return make()

    def first_process_first(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("accumulate", [1, 2, 3])
def test_neither_validation_nor_test_reads_more_windows_at_once_than_a_part_of_a_training_batch(
    folder: Path, run: Path, monkeypatch: pytest.MonkeyPatch, accumulate: int, processes: int
) -> None:
    config = load_recipe(folder / "tiny.toml", {"training.accumulate": accumulate, "data.test": "text"}).config
    experiment, bundle, read = find_task("language").open(config, folder), ModelBundle.load(run), []

    def remember(store: TextStore, windows: WindowsConfig) -> Iterator[Batch]:
        for batch in windows_in_order(store, windows):
            read.append(len(batch.target_in))
            yield batch

    monkeypatch.setattr(perplexity, "windows_in_order", remember)
    several = Unconnected(count=processes)
    prepared = experiment.prepare(None, several, lambda: 1.0, lambda line: None)
    (part,) = prepared.data.largest(accumulate, processes).parts
    for measure in (lambda: prepared.validator(bundle.model), lambda: experiment.test(bundle, several)):
        read.clear()
        measure()
        assert max(read) == len(part)
    assert experiment.validator(bundle)(bundle.model).scores["loss"] > 0


def test_a_run_and_evaluate_give_a_test_text_the_same_scores_however_short_the_training_text_was(
    tmp_path: Path,
) -> None:
    for name, times in (("text", 2), ("test", 5)):
        (tmp_path / name).write_text("".join(LINES) * times, encoding="utf-8")
    (tmp_path / "tiny.toml").write_text(tomli_w.dumps(SETTINGS), encoding="utf-8")
    overrides = {"batching.window": 500, "data.test": "test", "training.updates": 2}
    result = transduce.train(tmp_path / "tiny.toml", tmp_path / "run", overrides=overrides)
    options = DataOptions()
    _, scores = evaluate_text(str(tmp_path / "run"), options, MachineOptions("cpu"))
    assert scores == pytest.approx(result.test, rel=1e-6)


def test_a_model_to_start_from_keeps_its_tokenizer_and_the_settings_that_say_otherwise_are_reported(
    folder: Path, run: Path, tmp_path: Path
) -> None:
    told: list[str] = []
    start = {"training": {"start_from": str(run / "model"), "updates": 41}}
    transduce.train(folder / "tiny.toml", tmp_path / "same", overrides=start, tell=told.append)
    assert not any(line.startswith("tokenizer:") for line in told)
    other = {**start, "tokenizer": {"kind": "words", "lowercase": True}}
    transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=other, tell=told.append)
    (line,) = (line for line in told if line.startswith("tokenizer:"))
    assert f"that of {run / 'model'} is kept" in line
    assert line.endswith("have no effect: tokenizer.kind, tokenizer.lowercase")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("validation.metrics=['bleu']", "validated by its loss alone"),
        ("validation.best_by=bleu", "validated by its loss alone"),
        ("tokenizer.shared=false", "has one vocabulary"),
        ("task=translating", "no task 'translating'; there are translation, language"),
        ("model.kind=transformer", "model"),
    ],
)
def test_settings_that_do_not_fit_are_reported_before_the_run_begins(
    folder: Path, tmp_path: Path, change: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=[change])
    assert not (tmp_path / "run").exists()


def test_a_window_needs_positions(folder: Path, tmp_path: Path) -> None:
    overrides = ["model.positions=learned", "model.max_positions=11"]
    with pytest.raises(ConfigError, match=r"batching\.window = 12, but model\.max_positions = 11"):
        transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=overrides)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"max_tokens": 2.5}, "max_tokens must be a whole number"),
        ({"stop": [1]}, "stop: expected texts"),
        ({"stop": ("",)}, "an empty text would end"),
    ],
)
def test_what_cannot_be_written_is_reported(generator: Generator, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        generator.generate("the", **arguments)
    with pytest.raises(InputError, match="only a single hypothesis can be streamed"):
        next(generator.stream("the", Beam(size=2)))
    with pytest.raises(InputError, match=r"prefix is for translation; .* put it into the prompt"):
        generator.generate(Request("the", prefix="dog"))


def test_what_is_for_translators_refuses_a_generator_and_names_what_fits(generator: Generator) -> None:
    with pytest.raises(InputError, match=r"a Generator does not translate.* `transduce evaluate`.* transduce\.Scorer"):
        transduce.evaluate(generator, ["the dog"], ["the dog"])  # type: ignore[arg-type]


def test_scores_of_lines_are_counted_as_lines(run: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(lambda: app(["score", str(run), "--target", str(folder / "test")])) == 0
    assert "transduce: 1 lines, 22 tokens: " in capsys.readouterr().err
