"""Objects show themselves in a line, and in a notebook as HTML."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import transduce
from transduce.analysis.mask_picture import show_mask
from transduce.base.errors import InputError
from transduce.base.reprs import in_notebook
from transduce.corpora.formats import parallel_files
from transduce.experiment.run import RunResult
from transduce.inference.translation import Candidate, Translation
from transduce.nn.masks import causal_mask, memory_mask, padding_mask
from transduce.search.beam import Beam
from transduce.training.display import console_observer
from transduce.training.estimate import Estimate
from transduce.training.observers import Lines, Report


def test_a_tool_shows_its_model_in_a_line(tiny_run: Path) -> None:
    translator = transduce.load(tiny_run, device="cpu")
    line = repr(translator)
    assert re.fullmatch(
        r"Translator\(task: translation, languages: en to de, model: transformer, [\d,]+ parameters, device: cpu, "
        r"folder: .*model\)",
        line,
    )
    assert repr(translator.bundle) == line.replace("Translator", "ModelBundle")
    assert repr(transduce.Encoder(translator.bundle)).startswith("Encoder(task: translation")
    page = translator._repr_html_()  # type: ignore[union-attr]
    assert page.count("<tr>") == 5 and "<b>Translator</b>" in page


def test_a_translation_shows_its_text_and_the_n_best(tiny_run: Path) -> None:
    found = transduce.load(tiny_run).translate("My dog sees the cat.", Beam(size=3, n_best=3))
    assert repr(found).startswith(f"Translation(text: {found.text!r}, log-probability: -")
    assert found._repr_html_().count("<tr>") >= 2 + 1 + 3
    marked = Translation("<b> & more", [Candidate("<b> & more", -1.0, -2.0)], truncated=True, unsatisfied=["x"])
    assert repr(marked) == "Translation(text: '<b> & more', log-probability: -2.00, truncated: yes, unsatisfied: x)"
    assert "&lt;b&gt; &amp; more" in marked._repr_html_()  # type: ignore[attr-defined]


def test_a_run_shows_its_scores_and_its_curves(tmp_path: Path) -> None:
    result = RunResult(tmp_path, tmp_path / "model", "translation", 1200, 3725.4, {"loss": 2.0}, None)
    assert repr(result) == f"RunResult(run: {tmp_path}, updates: 1,200 in 1:02:05, validation: loss 2)"
    assert "<img" not in result._repr_html_()  # type: ignore[attr-defined]
    (tmp_path / "curves.png").write_bytes(b"picture")
    assert 'src="data:image/png;base64,cGljdHVyZQ=="' in result._repr_html_()  # type: ignore[attr-defined]


def test_a_corpus_shows_its_first_pairs(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"<{i}>\ttwo {i}\n" for i in range(9)))
    corpus = parallel_files([tmp_path / "pairs.tsv"])
    assert repr(corpus) == f"ParallelCorpus(name: {tmp_path}/pairs.tsv)"
    page = corpus._repr_html_()  # type: ignore[attr-defined]
    assert "&lt;4&gt;" in page and "two 5" not in page
    (tmp_path / "pairs.tsv").write_text("one column\n")
    assert "has 1 of the 2 columns" in parallel_files([tmp_path / "pairs.tsv"])._repr_html_()  # type: ignore[attr-defined]


def test_masks_are_pictures() -> None:
    assert repr(show_mask(causal_mask(3, 4, torch.device("cpu")))) == "■■··\n■■■·\n■■■■"
    assert repr(show_mask(memory_mask(3, 3, 1, torch.device("cpu")))) == "■··\n■■·\n·■■"
    padded = padding_mask(torch.tensor([[True, True], [True, False]]))
    assert repr(show_mask(padded, queries=2, row=1)) == "■·\n■·"
    assert repr(show_mask(None, 2)) == "■■\n■■"
    assert show_mask(padded, queries=2)._repr_html_().count("<td") == 4
    with pytest.raises(InputError, match="pictures have 64"):
        show_mask(torch.ones(1, 1, 65, 2, dtype=torch.bool))


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook shows: the last state of its output."""
    states: list[str] = []
    handle = SimpleNamespace(update=states.append)
    notebook = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    display = SimpleNamespace(HTML=str, display=lambda page, display_id: states.append(page) or handle)
    monkeypatch.setitem(sys.modules, "IPython", notebook)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", display)  # type: ignore[arg-type]
    return states


def test_a_notebook_has_a_bar_of_its_own(shown: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    bar = console_observer()
    assert "preparing" in shown[-1]
    bar.started(Estimate(0, 40, 0.25))  # type: ignore[attr-defined]
    assert "0 / 40" in shown[-1] and "0:00:10 left" in shown[-1]
    bar.report(Report(10, 40, 0.5, 1.25, 1e-3, 2.0, 1234.0, 0.5, 5.0))
    assert 'max="40" value="10"' in shown[-1]
    assert "10 / 40" in shown[-1] and "loss 1.2500, perplexity 3.49, 1,234 target tokens/s" in shown[-1]
    assert "0:00:15 left" in shown[-1]
    for update in range(10):
        bar.validated(update, {"loss": 1.0, "a<b": 2.0}, update == 9)
    assert "validation at update 9: loss 1, a&lt;b 2<b> (best so far)</b>" in shown[-1]
    assert "(2 earlier validations)" in shown[-1] and "update 1:" not in shown[-1]
    bar.close()
    assert " left" not in shown[-1]
    assert capsys.readouterr() == ("", "")


def test_elsewhere_than_in_a_notebook_there_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not in_notebook()
    assert isinstance(console_observer(), Lines)
