"""Compiled models; what compiles runs in processes of its own, since types are checked in the tests' own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import transduce
from transduce.apps.cli.main import app
from transduce.apps.cli.main import run as run_command
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment import load_recipe, train
from transduce.inference.engines import compiled as compiled_module
from transduce.inference.engines.choice import engine_for
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.search.loop import take_step

pytestmark = pytest.mark.slow

BY_BACKEND = """
import json, sys
import torch
import transduce
from torch._dynamo.utils import counters
from transduce.inference.engines.compiled import _compiled

compile_with = torch.compile


def compile_by_backend(function, options, **others):
    filters = {name: value for name, value in options.items() if name == "guard_filter_fn"}
    return compile_with(function, backend=sys.argv[1], options=filters, **others)


if sys.argv[1] != "inductor":
    torch.compile = compile_by_backend
"""


COMPARE = """
torch._dynamo.config.fail_on_recompile_limit_hit = True
texts = ["The dog sleeps.", "Who lives in the new city?", "The woman sees the old man and the small cat."]
plain, compiled = (transduce.load(sys.argv[2], precision=sys.argv[3], compile=compile) for compile in (False, True))
before = counters["stats"]["unique_graphs"]
search = transduce.Beam(max_ratio=1.0, max_extra=5)
alone = [[one.translate([text], search)[0] for text in texts] for one in (plain, compiled)]
found = [[(translation.text, translation.n_best[0].score) for translation in one] for one in alone]
print(json.dumps({"found": found, "before": before, "after": counters["stats"]["unique_graphs"]}))
"""


TWICE = """
torch._dynamo.config.fail_on_recompile_limit_hit = True
torch._dynamo.config.recompile_limit = 1


def double(x: torch.Tensor) -> torch.Tensor:
    return x + x


one, other = _compiled(double), _compiled(double)
values = one(torch.ones(1)), other(torch.ones(2, 2)).sum()  # of another rank: not what was compiled
print([float(value) for value in values])
"""


UNOPTIMIZED = {"TORCHINDUCTOR_DEBUG_COMPILE": "1", "AOT_INDUCTOR_DEBUG_COMPILE": "1"}
"""Lets PyTorch compile C++ with -O0; older versions know the second alone."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where PyTorch keeps what it compiles, its headers among it, which take ten seconds."""
    return tmp_path_factory.mktemp("compiled")


def run_compiling(cache: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {"TORCHINDUCTOR_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1", **UNOPTIMIZED, **environment}
    return subprocess.run(
        [sys.executable, *command], env={**os.environ, **own}, capture_output=True, text=True, check=False
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("model", "precision", "tolerance"),
    [
        ("{kind = 'transformer', dim = 16, heads = 2, encoder_layers = 1, decoder_layers = 1}", "float32", 1e-4),
        ("{kind = 'recurrent', dim = 16, encoder_dim = 8, decoder_dim = 16}", "int8", 1e-2),
    ],
)
def test_sentences_alone_come_out_the_same_and_compile_nothing_more(
    model: str, precision: str, tolerance: float, recipe_file: Path, tmp_path: Path, compiled: Path
) -> None:
    """By tracing alone: graphs and their number are decided before a backend writes code, which would take minutes."""
    train(load_recipe(str(recipe_file), [f"model = {model}", "training.updates = 5"]), tmp_path / "run")
    done = run_compiling(compiled, "-c", BY_BACKEND + COMPARE, "eager", str(tmp_path / "run"), precision)
    assert not done.returncode, done.stderr
    answer = json.loads(done.stdout)
    assert answer["after"] == answer["before"] > 0
    plain, found = answer["found"]
    assert [text for text, _ in found] == [text for text, _ in plain]
    assert [score for _, score in found] == pytest.approx([score for _, score in plain], abs=tolerance)


@pytest.mark.thorough
def test_models_of_a_kind_do_not_take_each_others_places(compiled: Path) -> None:
    done = run_compiling(compiled, "-c", BY_BACKEND + TWICE, "inductor")
    assert done.stdout == "[2.0, 8.0]\n", done.stderr


def test_no_compiler_is_one_clear_line(tiny_run: Path, tmp_path: Path) -> None:
    command = ("-m", "transduce", "translate", str(tiny_run), "--compile", "--quiet")
    done = run_compiling(tmp_path, *command, CXX="/nowhere/g++")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "PyTorch cannot compile here" in done.stderr
    assert "/nowhere/g++" in done.stderr


def test_only_a_piece_alone_is_compiled(tiny_run: Path) -> None:
    translator = Translator(ModelBundle.load(tiny_run), compile=True)
    engine = translator.engine
    engine.compiled = object()  # type: ignore[assignment]
    assert len(translator.translate(["The dog sleeps.", "A cat."])) == 2
    with pytest.raises(AttributeError):
        translator.translate(["The dog sleeps."])


def test_a_step_is_compiled_whole_where_rules_only_forbid_tokens(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0

    def as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal steps
            steps += function is take_step
            return function(*arguments)

        return call

    monkeypatch.setattr(compiled_module, "_compiled", as_it_is)
    plain, translator = transduce.load(tiny_run), Translator(ModelBundle.load(tiny_run), compile=True)
    short = Beam(max_extra=5)
    for request, search, is_whole in (
        (Request("The dog sleeps."), short, True),
        (Request("The dog sleeps."), Beam(max_extra=5, min_ratio=2.0, max_ratio=2.0), True),
        (Request("The dog sleeps.", banned=("Hund",)), short, False),
        (Request("The dog sleeps.", prefix="Der"), short, False),
        (Request("The dog sleeps."), Beam(max_extra=5, no_repeat_ngram=1), False),
    ):
        steps = 0
        assert translator.translate([request], search)[0].text == plain.translate([request], search)[0].text
        assert bool(steps) == is_whole


def test_where_compiling_makes_no_sense_it_is_an_error(
    tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = ModelBundle.load(tiny_run)
    with pytest.raises(InputError, match="ensemble cannot be compiled"):
        engine_for(bundle, bundle, compile=True)
    export_ctranslate2(tiny_run, tmp_path / "exported")
    with pytest.raises(InputError, match="exported is an exported model, which needs no compiling"):
        transduce.load(tmp_path / "exported", compile=True)
    (tmp_path / "in.en").write_text("The dog sleeps.\n")
    assert run_command(lambda: app(["translate", str(tiny_run), "--compile", str(tmp_path / "in.en")])) == 2
    assert "on standard input; leave it out for a file" in capsys.readouterr().err
