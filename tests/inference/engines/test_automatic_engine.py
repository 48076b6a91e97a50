"""The automatic engine is CTranslate2 where that gives what PyTorch gives, and PyTorch everywhere else."""

import os
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
import torch

import transduce
from biased_model import biased, forbid
from transduce.apps.exchange.ctranslate2 import exact, kept
from transduce.apps.exchange.ctranslate2.ctranslate2_model import CTranslate2Model, CTranslate2Output
from transduce.apps.exchange.ctranslate2.ctranslate2_specification import what_cannot_run
from transduce.apps.exchange.ctranslate2.exact import ExactCTranslate2Engine
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import what_cannot_be_exported
from transduce.base.errors import ConfigError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.engines.automatic_engine import AutomaticEngine
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.models.families import ModelConfig, build_model
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.diverse import DiverseBeam
from transduce.search.loop import Hypothesis
from transduce.search.sampling import Sampling

SHORT: dict[str, Any] = {"max_ratio": 1, "max_extra": 9}
PROBE = [("The dog sleeps.", "Der Hund schläft.")]


@pytest.fixture(autouse=True)
def _automatic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRANSDUCE_ENGINE")
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def model(sure_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sure_model, tmp_path / "model"))


@pytest.fixture
def lines(corpus: Path) -> list[str]:
    return (corpus / "test.en").read_text(encoding="utf-8").splitlines()


def check_equal(found: list[transduce.Translation], expected: list[transduce.Translation]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert [each.text for each in a.n_best] == [each.text for each in b.n_best]
        assert (a.truncated, a.was_split) == (b.truncated, b.was_split)
        for one, other in zip(a.n_best, b.n_best, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)


def searched_by(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts the pieces that each engine searches from now on."""
    counts = {"CTranslate2": 0, "PyTorch": 0}
    assert isinstance(translator.engine, AutomaticEngine)
    translator.engine.describe(Beam())  # certifies the form for CTranslate2 by searches, which do not count
    pytorch, search = translator.engine.pytorch, ExactCTranslate2Engine.search
    search_by_pytorch = pytorch.search

    def by_ctranslate2(engine: Any, pieces: Any, *others: Any) -> Any:
        counts["CTranslate2"] += len(pieces)
        return search(engine, pieces, *others)

    def by_pytorch(pieces: Any, *others: Any) -> Any:
        counts["PyTorch"] += len(pieces)
        return search_by_pytorch(pieces, *others)

    monkeypatch.setattr(ExactCTranslate2Engine, "search", by_ctranslate2)
    monkeypatch.setattr(pytorch, "search", by_pytorch)
    return counts


@pytest.mark.parametrize(
    "search",
    [
        Beam(size=1, **SHORT),
        Beam(size=4, **SHORT),
        Beam(size=5, n_best=5, length_penalty=2, **SHORT),
        Beam(size=3, n_best=2, length_penalty=0, **SHORT),
        Beam(size=3, n_best=3, length_penalty=1.3, normalization="power", allow_unknown=True, **SHORT),
        Beam(size=3, max_ratio=0.7, max_extra=1),
        Beam(size=2, max_ratio=0, max_extra=1),
    ],
    ids=["greedy", "wu", "n best", "no penalty", "power", "limits that are reached", "the end alone"],
)
def test_outputs_and_scores_are_those_of_pytorch(search: Beam, model: Path, lines: list[str]) -> None:
    automatic = transduce.load(model)
    texts = [*lines, "", "the old man " * 40]
    check_equal(automatic.translate(texts, search), transduce.load(model, engine="pytorch").translate(texts, search))
    assert automatic.engine.describe(search).startswith("CTranslate2 ")


def test_only_unsure_sentences_are_searched_again_and_alone_as_beside_others(
    model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = transduce.load(model)
    counts = searched_by(translator, monkeypatch)
    together = translator.translate(lines, Beam(**SHORT))
    assert counts["CTranslate2"] == len(lines) > 2 * counts["PyTorch"]
    check_equal(together, [translator.translate(line, Beam(**SHORT)) for line in lines])


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        (Sampling(seed=3), "sampling"),
        (DiverseBeam(size=4, groups=2), "diverse beams"),
        (Beam(repetition_penalty=1.2), "a repetition penalty"),
        (Beam(min_ratio=0.5), "a minimum length"),
        (Beam(no_repeat_ngram=2), "no repeated n-grams"),
    ],
)
def test_what_ctranslate2_searches_otherwise_is_searched_by_pytorch(
    search: Search, reason: str, model: Path, lines: list[str]
) -> None:
    translator = transduce.load(model)
    search = msgspec.structs.replace(search, **SHORT)
    pytorch = transduce.load(model, engine="pytorch")
    assert translator.translate(lines[:5], search) == pytorch.translate(lines[:5], search)
    assert translator.engine.describe(search) == f"PyTorch, for {reason}"
    assert not list(model.glob(".*")), "nothing is made that is not needed"


def test_lines_with_constraints_are_searched_by_pytorch_and_others_are_not(
    model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = transduce.load(model)
    requests = [Request(line) for line in lines]
    requests[1] = replace(requests[1], prefix="Der")
    requests[3] = replace(requests[3], required=("Hund",))
    requests[4] = replace(requests[4], banned=("Hund",))
    search, pytorch = Beam(**SHORT), transduce.load(model, engine="pytorch")
    check_equal(translator.translate(requests, search), pytorch.translate(requests, search))
    for condition in ("_is_followed_alike", "_are_surely_best"):
        monkeypatch.setattr(exact, condition, lambda *_: True)
    counts = searched_by(translator, monkeypatch)
    translator.translate(requests, search)
    assert counts == {"CTranslate2": len(lines) - 2, "PyTorch": 3}  # the one whose output lacks its phrase is in both


def test_a_likely_token_that_is_forbidden_changes_no_output(
    tiny_run: Path, tmp_path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = biased(tiny_run, 0)
    with torch.no_grad():
        bundle.model.decoder.output.bias[bundle.tokenizers.target.unknown] = 4  # type: ignore
    bundle.save(tmp_path / "model", PROBE)
    monkeypatch.setattr(kept, "LIKELIEST_FORBIDDEN", 1.0)
    translator = transduce.load(tmp_path / "model")
    counts = searched_by(translator, monkeypatch)
    search = Beam(size=1, **SHORT)
    check_equal(
        translator.translate(lines, search),
        transduce.load(tmp_path / "model", engine="pytorch").translate(lines, search),
    )
    assert counts["PyTorch"] > 0


def test_what_is_surely_best_is_best_among_all_that_finished() -> None:
    chance = random.Random(1)
    sure = 0
    for _ in range(3000):
        beam = Beam(size=4, n_best=chance.randint(1, 4), length_penalty=chance.uniform(0, 2))
        last = chance.randint(2, 20)
        lengths = [chance.randint(1, last) for _ in range(3)] + [last] * chance.randint(1, 4)
        finished = [
            Hypothesis([7] * (length - 1), log_probability, beam.normalize(log_probability, length), False)
            for length in lengths
            for log_probability in [-length * chance.uniform(0.05, 1)]
        ]
        by_score = sorted(finished, key=lambda h: -h.score)
        kept_ones = sorted(finished, key=lambda h: -h.log_probability)[: beam.size]
        ranked = sorted(kept_ones, key=lambda h: -h.score)
        if exact._are_surely_best(ranked, beam):
            sure += 1
            assert ranked[: beam.n_best] == by_score[: beam.n_best]
    assert sure > 1000


@pytest.mark.slow
def test_the_form_for_ctranslate2_is_made_once_and_again_for_a_model_that_has_changed(
    model: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = transduce.load(model)
    assert not (model / kept.FOLDER).exists()
    translator.translate("The dog sleeps.")
    (first,) = [path for path in (model / kept.FOLDER).iterdir() if path.is_dir()]
    assert str(first) in translator.engine.describe(Beam())
    check_equal([transduce.load(first).translate("The dog sleeps.")], [translator.translate("The dog sleeps.")])

    with monkeypatch.context() as patch:
        patch.setattr(kept, "export_bundle", None)
        assert transduce.load(model).engine.describe(Beam()) == translator.engine.describe(Beam())
    (first / "model.bin").write_bytes(b"damaged")
    assert transduce.load(model).engine.describe(Beam()) == translator.engine.describe(Beam())

    loaded = transduce.load(model)
    form = shutil.copytree(model / kept.FOLDER, model.parent / "before")
    biased(tiny_run, -31).save(model, PROBE)
    shutil.copytree(form, model / kept.FOLDER)
    transduce.load(model).translate("The dog sleeps.")
    (second,) = [path for path in (model / kept.FOLDER).iterdir() if path.is_dir()]
    assert second.name != first.name
    assert loaded.engine.describe(Beam()) == f"PyTorch, for {model} has changed since it was loaded"


def test_of_several_at_once_one_makes_the_form(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    export = kept.export_bundle

    def export_and_count(*arguments: Any) -> Any:
        made.append(arguments)
        return export(*arguments)

    monkeypatch.setattr(kept, "export_bundle", export_and_count)
    translators = [transduce.load(model) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        described = set(pool.map(lambda translator: translator.engine.describe(Beam()), translators))
    assert len(described) == len(made) == 1


def test_where_the_models_folder_cannot_be_written_the_form_is_in_the_cache(model: Path, tmp_path: Path) -> None:
    (model / kept.FOLDER).write_text("no folder", encoding="utf-8")
    assert f"({tmp_path / 'cache' / 'ctranslate2'}" in transduce.load(model).engine.describe(Beam())


def test_where_nothing_can_be_written_pytorch_runs_the_model(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model / kept.FOLDER).write_text("no folder", encoding="utf-8")
    (tmp_path / "cache").write_text("no folder", encoding="utf-8")
    described = transduce.load(model).engine.describe(Beam())
    assert described.startswith(f"PyTorch, for {tmp_path / 'cache' / 'ctranslate2'} cannot be written: ")


def test_on_a_full_disk_pytorch_runs_the_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 1000))  # type: ignore
    assert transduce.load(model).engine.describe(Beam()).endswith("cannot be written: no space left on device")


def test_a_model_that_gives_forbidden_tokens_weight_is_refused_once(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Path(shutil.copytree(tiny_run / "model", tmp_path / "model"))
    described = transduce.load(model).engine.describe(Beam())
    assert "PyTorch, for the model gives <" in described
    monkeypatch.setattr(kept, "SampleOutputs", None)
    assert transduce.load(model).engine.describe(Beam()) == described


def test_a_form_that_translates_otherwise_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transduce.apps.exchange.ctranslate2 import export_ctranslate2 as exporting

    plain = exporting.make_specification

    def broken(*arguments: Any) -> Any:
        specification = plain(*arguments)
        specification.decoder.layer[1].ffn.linear_1.bias[0] += 3
        return specification

    monkeypatch.setattr(exporting, "make_specification", broken)
    assert "CTranslate2 translated" in transduce.load(model).engine.describe(Beam())
    assert [path.suffix for path in (model / kept.FOLDER).iterdir() if path.name != ".lock"] == [".refused"]


def test_beams_whose_scores_differ_are_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rank = CTranslate2Output.rank

    def higher(output: CTranslate2Output, *others: Any) -> Hypothesis:
        ranked = rank(output, *others)
        return replace(ranked, score=ranked.score + 0.1)

    monkeypatch.setattr(CTranslate2Output, "rank", higher)
    monkeypatch.setattr(exact, "_are_surely_best", lambda *_: True)
    described = transduce.load(model).engine.describe(Beam())
    assert (
        described == "PyTorch, for CTranslate2's beams of sample sentences have scores up to 0.1 from the model's own"
    )


SMALL: dict[str, Any] = {
    "encoder_layers": 1,
    "decoder_layers": 2,
    "dim": 12,
    "heads": 2,
    "feed_forward_dim": 14,
    "max_positions": 99,
}
ATTENTION: tuple[dict[str, Any], ...] = (
    {},
    {"kv_heads": 1},
    {"key_dim": 8},
    {"value_dim": 3},
    {"key_dim": 4, "value_dim": 7, "kv_heads": 1},
)
RECURRENCES = ("none", "none", "ssru")


def _models() -> Iterator[TransformerConfig]:
    """Yields settings in which each value of each choice comes with many of the others: lengths of cycles differ."""
    choices = [get_args(get_type_hints(TransformerConfig)[name]) for name in ("activation", "norm", "norm_kind")]
    positions = get_args(get_type_hints(TransformerConfig)["positions"])
    for number in range(len(positions)):
        activation, norm, norm_kind = (values[number % len(values)] for values in choices)
        yield TransformerConfig(
            output_bias=True,
            **SMALL | ATTENTION[number % len(ATTENTION)],
            activation=activation,
            norm=norm,
            norm_kind=norm_kind if number < 4 else "layer",
            positions=positions[number],
            decoder_recurrence=RECURRENCES[number % len(RECURRENCES)],  # type: ignore[arg-type]
            decoder_start="zeros" if number == 3 else "token",
        )


MODELS: list[ModelConfig] = [*_models(), RecurrentConfig(dim=6, encoder_dim=5, decoder_dim=7)]


@pytest.mark.slow
@pytest.mark.parametrize("config", MODELS, ids=range(len(MODELS)))
def test_every_model_is_translated_by_default_as_by_pytorch_and_nothing_is_printed(
    config: ModelConfig, tiny_run: Path, tmp_path: Path, lines: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    bundle = ModelBundle.load(tiny_run)
    torch.manual_seed(4)
    made = build_model(config, len(bundle.tokenizers.source), len(bundle.tokenizers.target)).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
        if isinstance(config, TransformerConfig):
            forbid(made, bundle.tokenizers.target)
    described = msgspec.structs.replace(bundle.config, model=config)
    replace(bundle, config=described, model=made).save(tmp_path / "model", PROBE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translator = transduce.load(tmp_path / "model")
        found = translator.translate(lines[:7], Beam(**SHORT))
    is_known = isinstance(config, TransformerConfig) and not what_cannot_run(config)
    assert translator.engine.describe(Beam()).startswith("CTranslate2" if is_known else "PyTorch, for model.")
    assert capfd.readouterr() == ("", "")
    check_equal(found, transduce.load(tmp_path / "model", engine="pytorch").translate(lines[:7], Beam(**SHORT)))


@pytest.mark.parametrize(
    "setting",
    [
        {"activation": "mish"},
        {"norm_kind": "scale"},
        {"positions": "alibi"},
        {"decoder_recurrence": "ssru"},
        {"gate": 1},
    ],
    ids=str,
)
def test_only_settings_that_ctranslate2_is_known_to_run_are_exported(setting: dict[str, Any], model: Path) -> None:
    class Later(TransformerConfig, frozen=True, tag="transformer"):
        gate: int = 0

    bundle = ModelBundle.load(model)
    config = Later(**msgspec.structs.asdict(bundle.config.model) | setting)
    ((name, value),) = setting.items()
    (problem,) = what_cannot_be_exported(replace(bundle, config=msgspec.structs.replace(bundle.config, model=config)))
    assert problem.startswith(f"model.{name} = {value!r}: CTranslate2 runs ")
    assert not what_cannot_be_exported(bundle)


@pytest.mark.parametrize("place", ["export_ctranslate2.make_specification", "exact.CTranslate2Model", "kept.identity"])
def test_whatever_fails_in_the_other_engine_pytorch_translates(
    place: str, model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> Any:
        raise KeyError("swish")

    expected = transduce.load(model, engine="pytorch").translate(lines[:3], Beam(**SHORT))
    with monkeypatch.context() as patch:
        patch.setattr(f"transduce.apps.exchange.ctranslate2.{place}", fail)
        translator = transduce.load(model)
        assert translator.translate(lines[:3], Beam(**SHORT)) == expected
        assert translator.engine.describe(Beam()) == "PyTorch, for CTranslate2 failed (KeyError: 'swish')"
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(kept, "export_bundle", None)
    is_refused = place != "kept.identity"  # then the form was not tried
    assert transduce.load(model).engine.describe(Beam()).endswith("'swish')") == is_refused


def test_a_search_that_fails_in_the_other_engine_is_made_by_pytorch(
    model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = transduce.load(model)
    assert translator.engine.describe(Beam()).startswith("CTranslate2")

    def fail(*_: Any) -> Any:
        raise RuntimeError("no memory")

    monkeypatch.setattr(CTranslate2Model, "search", fail)
    check_equal(
        translator.translate(lines[:3], Beam(**SHORT)),
        transduce.load(model, engine="pytorch").translate(lines[:3], Beam(**SHORT)),
    )


def test_what_runs_a_model_is_known_before_and_after_its_first_translation(model: Path, tiny_run: Path) -> None:
    def expected(folder: Path) -> str:
        engine = transduce.load(folder).engine
        assert isinstance(engine, AutomaticEngine)
        return engine.expected()

    assert expected(model).startswith("CTranslate2, unless ")
    assert not list(model.glob(".*"))
    translator = transduce.load(model)
    translator.translate("The dog sleeps.", Beam(**SHORT))
    assert expected(model) == translator.engine.describe(Beam())


def _recurrent(tiny_run: Path, folder: Path) -> None:
    bundle = ModelBundle.load(tiny_run)
    config = RecurrentConfig(dim=6, encoder_dim=5, decoder_dim=7)
    made = build_model(config, len(bundle.tokenizers.source), len(bundle.tokenizers.target)).eval()
    described = msgspec.structs.replace(bundle.config, model=config)
    replace(bundle, config=described, model=made).save(folder, PROBE)


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (lambda model: transduce.load(model, model), "an ensemble"),
        (lambda model: transduce.load(model, precision="bfloat16"), "the precision is bfloat16"),
        (lambda model: transduce.load(model, precision="int8"), "the precision is int8"),
        (lambda model: Translator(replace(ModelBundle.load(model), folder=None), engine="auto"), "in no folder"),
    ],
    ids=["ensemble", "bfloat16", "int8", "no folder"],
)
def test_what_is_no_float32_model_alone_is_for_pytorch(
    load: Callable[[Path], Translator], reason: str, model: Path
) -> None:
    translator = load(model)
    assert reason in translator.engine.describe(Beam())
    assert translator.translate("The dog sleeps.", Beam(**SHORT)).n_best
    assert not list(model.glob(".*"))


def test_other_models_large_ones_and_machines_without_ctranslate2_have_pytorch(
    model: Path, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _recurrent(tiny_run, tmp_path / "recurrent")
    assert 'model.kind = "recurrent"' in transduce.load(tmp_path / "recurrent").engine.describe(Beam())
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "ctranslate2", None)
        assert "CTranslate2, which is faster, is not installed" in transduce.load(model).engine.describe(Beam())
    monkeypatch.setattr("transduce.apps.exchange.ctranslate2.kept.MOST_WEIGHTS", 1000)
    assert "more than 1,000 weights" in transduce.load(model).engine.describe(Beam())


def test_a_forked_process_has_pytorch_since_no_thread_follows_it(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = transduce.load(model)
    translator.translate("The dog sleeps.")
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert translator.engine.describe(Beam()) == "PyTorch, for a forked process"


def test_the_environment_can_say_what_auto_means(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSDUCE_ENGINE", "pytorch")
    assert transduce.load(model).engine.describe(Beam()).startswith("PyTorch 2")
    monkeypatch.setenv("TRANSDUCE_ENGINE", "fast")
    with pytest.raises(ConfigError, match="TRANSDUCE_ENGINE is 'fast'; expected auto or pytorch"):
        transduce.load(model)


def test_what_looks_into_a_model_is_there_beside_ctranslate2(model: Path) -> None:
    automatic, pytorch = transduce.load(model), transduce.load(model, engine="pytorch")
    pair = ("The dog sleeps.", "Der Hund schläft.")
    assert automatic.score(pair) == pytorch.score(pair)
    (found,) = automatic.translate_chunk([pair[0]], Beam(**SHORT), with_details=True)
    (expected,) = pytorch.translate_chunk([pair[0]], Beam(**SHORT), with_details=True)
    assert found.details == expected.details is not None
    looks = [translator.look(pair[0], search=Beam(**SHORT)).to_dict() for translator in (automatic, pytorch)]
    assert looks[0] == looks[1]
