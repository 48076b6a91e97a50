"""An exported model's translations are those of the model, whatever CTranslate2's own search would give."""

from pathlib import Path
from typing import Any

import pytest
import torch

import transduce
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.sampling import Sampling

SHORT: dict[str, Any] = {"max_ratio": 1, "max_extra": 9}


@pytest.fixture(scope="module")
def exported(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports") / "tiny"
    export_ctranslate2(tiny_run, folder)
    return folder


@pytest.fixture(scope="module")
def ours(tiny_run: Path) -> Translator:
    return transduce.load(tiny_run)


@pytest.fixture(scope="module")
def theirs(exported: Path) -> Translator:
    return transduce.load(exported)


@pytest.mark.parametrize(
    "search",
    [
        Beam(size=1, **SHORT),
        Beam(size=3, n_best=2, allow_unknown=True, **SHORT),
        Beam(size=4, length_penalty=0, allow_unknown=True, **SHORT),
        Beam(size=4, length_penalty=1.3, normalization="power", n_best=2, allow_unknown=True, **SHORT),
        Beam(size=1, max_ratio=0, max_extra=2),
        Beam(size=2, max_ratio=0, max_extra=1),
        Beam(size=1, min_ratio=1.5, **SHORT),
        Beam(size=1, no_repeat_ngram=2, **SHORT),
    ],
    ids=["greedy", "wu", "no penalty", "power", "two tokens", "the end alone", "not too short", "no repeats"],
)
def test_outputs_and_scores_are_those_of_pytorch(
    search: Beam, ours: Translator, theirs: Translator, corpus: Path
) -> None:
    texts = [*(corpus / "test.en").read_text(encoding="utf-8").splitlines(), "", "the old man " * 40]
    for expected, found in zip(ours.translate(texts, search), theirs.translate(texts, search), strict=True):
        assert found.text == expected.text
        assert (found.truncated, found.was_split) == (expected.truncated, expected.was_split)
        for a, b in zip(found.n_best, expected.n_best, strict=True):
            assert a.score == pytest.approx(b.score, abs=1e-3)
            assert a.log_probability == pytest.approx(b.log_probability, abs=1e-3)


def test_a_sentence_is_translated_alike_alone_and_beside_others(theirs: Translator, corpus: Path) -> None:
    texts = (corpus / "test.en").read_text(encoding="utf-8").splitlines()
    search = Beam(size=3, max_ratio=0.7, max_extra=1)  # so short that limits differ and are reached
    together = theirs.translate(texts, search)
    assert any(translation.truncated for translation in together)
    assert [t.text for t in together] == [theirs.translate([text], search)[0].text for text in texts]


def test_forbidden_tokens_never_come(tiny_run: Path, tmp_path: Path, corpus: Path) -> None:
    bundle = ModelBundle.load(tiny_run)
    target = bundle.tokenizers.target
    with torch.no_grad():  # the tied matrix makes what stands out in the output: <unk> like the end, only likelier
        table = bundle.model.decoder.embedding.table.weight  # type: ignore[union-attr]
        table[target.unknown] = table[target.eos] * 1.5  # type: ignore[index]
    bundle.save(tmp_path / "model", [("The dog sleeps.", "Der Hund schläft.")])
    export_ctranslate2(tmp_path / "model", tmp_path / "exported")
    texts = (corpus / "test.en").read_text(encoding="utf-8").splitlines()
    ours, theirs = transduce.load(tmp_path / "model"), transduce.load(tmp_path / "exported")
    search = Beam(size=1, **SHORT)
    for expected, found in zip(ours.translate(texts, search), theirs.translate(texts, search), strict=True):
        assert found.text == expected.text
        assert found.n_best[0].score == pytest.approx(expected.n_best[0].score, abs=1e-3)


def test_all_that_the_engine_cannot_do_is_reported_at_once(theirs: Translator) -> None:
    for search, name in (
        (Sampling(), "sampling"),
        (DiverseBeam(size=4, groups=2), "diverse beams"),
    ):
        with pytest.raises(InputError, match=f"do not support {name}; leave that out, or use the original model"):
            theirs.translate(["The dog sleeps."], search)
    asked = [Request("The dog sleeps.", prefix="Der"), Request("The dog sleeps.", banned=("Hund",))]
    with pytest.raises(InputError, match="do not support prefixes and banned phrases"):
        theirs.translate(asked)
    with pytest.raises(InputError, match="do not support required phrases"):
        theirs.translate([Request("The dog sleeps.", required=("Hund",))])


def test_an_exported_model_is_no_part_of_an_ensemble(exported: Path, tiny_run: Path) -> None:
    for folders in ((exported, tiny_run), (tiny_run, exported), (exported, exported)):
        with pytest.raises(InputError, match="which cannot be part of an ensemble"):
            transduce.load(*folders)
