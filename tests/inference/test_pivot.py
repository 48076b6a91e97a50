"""Two models translate through a third language as they would one after the other."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from transduce.apps.cli.main import app, run
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.pivot import Pivot
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.search.beam import Beam


def of_languages(model: Path, folder: Path, source: str, target: str) -> Path:
    """Write the same model as one of other languages."""
    bundle = ModelBundle.load(model)
    config = msgspec.structs.replace(bundle.config, source=source, target=target)
    replace(bundle, config=config).save(folder, [("The dog sleeps.", "Der Hund schläft.")])
    return folder


@pytest.fixture(scope="module")
def second(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model from German to French."""
    return of_languages(tiny_run, tmp_path_factory.mktemp("second") / "de-fr", "de", "fr")


@pytest.fixture(scope="module")
def lines(corpus: Path) -> list[str]:
    return [*(corpus / "test.en").read_text(encoding="utf-8").splitlines()[:6], "", "42 !"]


def test_a_pivot_translates_what_the_first_model_writes(tiny_run: Path, second: Path, lines: list[str]) -> None:
    models = [Translator.load(folder) for folder in (tiny_run, second)]
    search, shares = Beam(size=3, n_best=2), []
    pivot = Pivot(*models)
    middles = models[0].translate(lines, Beam(size=3))
    expected = models[1].translate([each.text for each in middles], search)
    found = pivot.translate_chunk(lines, search, shares.append)
    assert [each.n_best for each in found] == [each.n_best for each in expected]
    assert [each.text for each in found][-2:] == ["", "42 !"]
    assert shares == sorted(shares) and shares[-1] == 1
    assert (pivot.bundle.config.source, pivot.bundle.config.target, pivot.middle) == ("en", "fr", "de")
    required = pivot.translate(Request(lines[0], required=("Hund",)))
    assert "Hund" in required.text and required.satisfied == ["Hund"]


def test_models_that_do_not_follow_each_other_are_refused(tiny_run: Path, second: Path, tmp_path: Path) -> None:
    first, then = (Translator.load(folder) for folder in (tiny_run, second))
    with pytest.raises(InputError, match="the first model writes fr, but the second one reads en"):
        Pivot(then, first)
    back = Translator.load(of_languages(tiny_run, tmp_path / "back", "de", "en"))
    with pytest.raises(InputError, match="translate en into itself"):
        Pivot(first, back)
    pivot = Pivot(first, then)
    for refused in (lambda: pivot.translate_chunk(["a"], Beam(), with_details=True), lambda: pivot.look("a")):
        with pytest.raises(InputError):
            refused()
    with pytest.raises(InputError, match="writes fr, not de"):
        pivot.directed("de")


def test_the_command_translates_by_two_models(
    tiny_run: Path, second: Path, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = ["translate", str(tiny_run), str(tmp_path / "in.txt"), "--then", str(second), "-q"]
    assert run(lambda: app(arguments)) == 0
    pivot = Pivot(Translator.load(tiny_run), Translator.load(second))
    assert capsys.readouterr().out.splitlines() == [each.text for each in pivot.translate(lines)]
    assert run(lambda: app([*arguments, "--details", "--json"])) == 2
    assert "give no --details" in capsys.readouterr().err
    assert run(lambda: app(["translate", str(tiny_run), str(tmp_path / "in.txt"), "--through", "fr"])) == 2
    assert "fr" in capsys.readouterr().err
