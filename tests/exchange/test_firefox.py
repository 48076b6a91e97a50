"""A folder for Firefox Translations translates as our own 8-bit arithmetic, and reads back as the model it was."""

import json
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import transduce
from firefox_folder import make_student, random_shortlist
from transduce.apps.exchange.firefox.alphas import GREEDY, collect_multipliers
from transduce.apps.exchange.firefox.export_firefox import export_firefox, what_cannot_be_exported
from transduce.apps.exchange.firefox.fxtranslate_engine import LONGEST
from transduce.apps.exchange.firefox.import_firefox import import_firefox
from transduce.apps.exchange.firefox.marian_binary import Item, QuantizedMatrix, read_items, write_items
from transduce.apps.exchange.firefox.marian_shortlist import read_lexicon, write_lexicon
from transduce.apps.exchange.firefox.student_files import OUTPUT, StudentFile, StudentPaths
from transduce.apps.exchange.firefox.write_student import SEARCH, student_items
from transduce.base.errors import CheckpointError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.request import Request
from transduce.inference.sentence_model import confidence_of
from transduce.inference.shortlist.shortlist import FILE
from transduce.search.beam import Beam
from transduce.text.tokenizer import SPACE

Make = Callable[..., Path]


def lines_of(corpus: Path) -> list[str]:
    return (corpus / "test.en").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def make(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Writes a student with random weights."""
    pytest.importorskip("sentencepiece")
    sides = [(corpus / f"train.{code}").read_text(encoding="utf-8").splitlines() for code in ("en", "de")]

    def write(shared: bool = True, shortlist: bool = False, **settings: Any) -> Path:
        folder = tmp_path_factory.mktemp("students") / "model"
        bundle = make_student([sides[0] + sides[1]] if shared else sides, **settings)
        bundle.save(folder, [("The dog sleeps.", "Der Hund schläft.")])
        if shortlist:
            kept = ModelBundle.load(folder).tokenizers
            random_shortlist(kept).save(folder / FILE, kept)
        return folder

    return write


@pytest.fixture(scope="module")
def exported(make: Make, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("fxtranslate", reason="the engine of Firefox's form: pip install fxtranslate")
    folder = tmp_path_factory.mktemp("exports") / "ende"
    export_firefox(make(shortlist=True), folder, lines_of(corpus))
    return folder


def test_items_are_read_as_they_were_written(tmp_path: Path) -> None:
    matrix = QuantizedMatrix.of(np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32))
    items = {
        "a": Item.of_floats(np.float32([1.5, -2])),
        "W": Item.of_matrix(matrix),
        "Wemb": Item.of_matrix(matrix, is_embedding=True),
        "special:model.yml": Item.of_text("version: é\n"),
    }
    write_items(items, tmp_path / "model.bin")
    read = read_items(tmp_path / "model.bin")
    assert read == items
    assert read["a"].floats().tolist() == [1.5, -2]
    assert read["W"].shape == (5, 3)
    assert (read["W"].matrix().values == matrix.values).all()
    assert (read["Wemb"].matrix(is_embedding=True).values == matrix.values).all()
    assert read["special:model.yml"].text() == "version: é\n"


def test_weights_are_rounded_by_half_a_step_at_most() -> None:
    weights = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
    matrix = QuantizedMatrix.of(weights)
    assert np.abs(matrix.floats() - weights).max() <= 0.5001 / matrix.multiplier


def test_the_largest_weight_becomes_127() -> None:
    assert QuantizedMatrix.of(np.float32([[0.5, -1, 0.25, 0]])).values.tolist() == [[64, -127, 32, 0]]


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 40))
def test_products_of_neighbours_with_any_input_fit_16_bits(seed: int, outputs: int, inputs: int) -> None:
    weights = np.random.default_rng(seed).standard_t(3, size=(outputs, inputs)).astype(np.float32)
    values = torch.from_numpy(QuantizedMatrix.of(weights).values)
    even = torch.nn.functional.pad(values, (0, inputs % 2)).int()
    largest, smallest = (254 * even.unflatten(1, (-1, 2)).clamp(**side).sum(-1) for side in ({"min": 0}, {"max": 0}))
    assert largest.max() <= 32767
    assert smallest.min() >= -32768


def test_bytes_survive_floats(tmp_path: Path) -> None:
    matrix = QuantizedMatrix.of(np.random.default_rng(2).normal(size=(50, 30)).astype(np.float32))
    again = QuantizedMatrix.of(matrix.floats())
    assert (again.values == matrix.values).all()
    assert again.multiplier == pytest.approx(matrix.multiplier)


def test_a_shortlist_allows_the_same_tokens_when_it_is_read(make: Make, tmp_path: Path) -> None:
    bundle = ModelBundle.load(make())
    tokenizers, rows = bundle.tokenizers, len(bundle.tokenizers.source) - 2
    ours = random_shortlist(tokenizers)
    filled = -(-rows // 8) * 8
    write_lexicon(ours, tokenizers, (filled, rows), tmp_path / "lex.bin")
    read = read_lexicon(tmp_path / "lex.bin", tokenizers, (filled, filled))
    source = torch.tensor([[5, 9, 0], [30, 0, 0]])
    is_real = torch.tensor([[True, True, True], [True, True, False]])
    expected, allowed = ours.allowed(source, is_real), read.allowed(source, is_real)
    expected[0, [5, 9]] = expected[1, 30] = True  # with one vocabulary, an engine may copy
    expected[:, tokenizers.target.unknown] = False
    for row, wanted in zip(allowed, expected, strict=True):
        assert row[wanted].all()
        others = (row & ~wanted).nonzero()[:, 0].tolist()
        assert others == (~wanted).nonzero()[: len(others), 0].tolist()  # the first ones, up to a multiple of 8
        written = int(row[:rows].sum())
        assert written % 8 == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"shortlist": True}, {"shared": False, "shortlist": True}], ids=str)
def test_the_engine_gives_what_our_arithmetic_gives(
    options: dict[str, Any], make: Make, tmp_path: Path, corpus: Path
) -> None:
    pytest.importorskip("fxtranslate", reason="the engine of Firefox's form: pip install fxtranslate")
    lines = lines_of(corpus)
    result = export_firefox(make(**options), tmp_path / "ende", lines)
    assert result.export.parity.sentences == min(len(lines), 100)
    assert result.export.parity.identical >= 0.9 * result.export.parity.sentences  # a random model's margins are small
    engine = transduce.load(tmp_path / "ende").translate(lines)
    ours = transduce.load(tmp_path / "ende", engine="pytorch").translate(lines, GREEDY)
    assert sum(a.text == b.text for a, b in zip(engine, ours, strict=True)) >= 0.9 * len(lines)
    assert len({translation.text for translation in ours}) > len(lines) / 4


@pytest.mark.slow
def test_blanks_around_a_translation_are_no_difference(make: Make, tmp_path: Path, corpus: Path) -> None:
    pytest.importorskip("fxtranslate", reason="the engine of Firefox's form: pip install fxtranslate")
    bundle = ModelBundle.load(make())
    (blank,) = (number for number, piece in _pieces(bundle) if piece == SPACE)
    with torch.no_grad():
        bundle.writer.get_submodule(OUTPUT).bias[blank] += 100
    bundle.save(tmp_path / "model", [("The dog sleeps.", "Der Hund schläft.")])
    result = export_firefox(tmp_path / "model", tmp_path / "ende", lines_of(corpus))
    assert result.export.parity.identical == result.export.parity.sentences


def _pieces(bundle: ModelBundle) -> Iterable[tuple[int, str]]:
    tokenizer = bundle.tokenizers.target
    return enumerate(tokenizer.pieces(range(len(tokenizer))))


def test_bergamot_cuts_nothing_off_that_fxtranslate_writes(exported: Path) -> None:
    assert "\nmax-length-factor: 4.0\n" in (exported / "config.yml").read_text()
    factor, ratio, extra = SEARCH["max-length-factor"], GREEDY.max_ratio, GREEDY.max_extra
    assert all(factor * (tokens + 1) >= ratio * tokens + extra + 1 for tokens in range(1, LONGEST))


def test_a_folder_has_the_files_of_its_users(exported: Path) -> None:
    names = {file.name for file in exported.iterdir()}
    assert {
        "model.ende.intgemm.alphas.bin",
        "vocab.ende.spm",
        "lex.50.50.ende.s2t.bin",
        "metadata.json",
        "config.yml",
        "config.intgemm8bitalpha.yml",
        "model_info.json",
        "README.md",
    } <= names
    facts = json.loads((exported / "metadata.json").read_text())
    assert (facts["sourceLanguage"], facts["targetLanguage"]) == ("en", "de")
    assert facts["byteSize"] == (exported / "model.ende.intgemm.alphas.bin").stat().st_size
    assert facts["modelConfig"]["dim-vocabs"][0] % 8 == 0


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_an_import_has_the_weights_of_the_bytes(shared: bool, make: Make, tmp_path: Path, corpus: Path) -> None:
    pytest.importorskip("fxtranslate", reason="the engine of Firefox's form: pip install fxtranslate")
    model = make(shared=shared, shortlist=True)
    export_firefox(model, tmp_path / "ende", lines_of(corpus))
    result = import_firefox(tmp_path / "ende", tmp_path / "back", lines_of(corpus))
    assert (result.source, result.target, result.has_shortlist) == ("en", "de", True)
    before, after = (ModelBundle.load(folder).model.state_dict() for folder in (model, tmp_path / "back"))
    for name, weight in before.items():
        rows = min(len(weight), len(after[name]))
        step = 1 / QuantizedMatrix.of(weight.numpy()).multiplier if weight.dim() > 1 else 0.0
        is_of_tokens = "table" in name or "decoder.output" in name
        kept = slice(2, rows - 2) if is_of_tokens else slice(0, rows)  # no special tokens
        assert (after[name][kept] - weight[kept]).abs().max() <= 0.51 * step
    export_firefox(tmp_path / "back", tmp_path / "again", lines_of(corpus))
    first, second = (StudentFile(StudentPaths.find(tmp_path / name).model) for name in ("ende", "again"))
    assert (first.target_table.values == second.target_table.values[: len(first.target_table.values)]).all()
    for name, parts in first.layers.items():
        for part, again in zip(parts, second.layers[name], strict=True):
            assert (part.weight.values == again.weight.values).all()


@pytest.mark.parametrize(
    ("search", "words"),
    [
        (Beam(size=8), "a beam"),
        (Beam(size=4, n_best=2), "a list of the best"),
        (Beam(size=1, no_repeat_ngram=2), "no repeated n-grams"),
        (Beam(size=1, max_extra=3), "other lengths"),
    ],
)
def test_what_the_engine_cannot_do_is_refused(search: Beam, words: str, exported: Path) -> None:
    with pytest.raises(InputError, match=words):
        transduce.load(exported).translate(["The dog sleeps."], search)
    assert transduce.load(exported, engine="pytorch").translate(["The dog sleeps."], search)[0].n_best


def test_phrases_are_refused_and_scores_are_not_made_up(exported: Path) -> None:
    translator = transduce.load(exported)
    with pytest.raises(InputError, match="banned phrases"):
        translator.translate([Request("The dog sleeps.", banned=["Hund"])])
    with pytest.raises(InputError, match="cannot score"):
        translator.score([("The dog sleeps.", "Der Hund schläft.")])
    translation = translator.translate("The dog sleeps.")
    assert json.loads(msgspec.json.encode(translation))["n_best"][0]["score"] is None
    assert confidence_of([translation], translator.bundle.tokenizers.target) is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"decoder_recurrence": "none"}, 'model.decoder_recurrence is "none"; it must be "ssru"'),
        ({"norm": "pre"}, 'model.norm is "pre"; it must be "post"'),
        ({"positions": "rotary"}, 'model.positions is "rotary"'),
        ({"activation": "gelu"}, "model.activation"),
        ({"output_bias": False}, "model.output_bias is false; it must be true"),
        ({"dim": 48}, "model.dim is 48; it must be a multiple of 64"),
        ({"kv_heads": 1}, "kv_heads is set"),
    ],
)
def test_other_models_are_refused_by_the_setting_to_change(
    settings: dict[str, Any], words: str, make: Make, tmp_path: Path
) -> None:
    problems = what_cannot_be_exported(ModelBundle.load(make(**settings)))
    assert any(words in problem for problem in problems), problems


def test_other_tokenizers_are_refused(tiny_run: Path) -> None:
    assert any("tokenizer.kind" in problem for problem in what_cannot_be_exported(ModelBundle.load(tiny_run)))


def test_scales_cover_the_usual_largest_activations(make: Make, corpus: Path) -> None:
    bundle = ModelBundle.load(make())
    sources = bundle.tokenizers.source.encode_batch(lines_of(corpus))
    multipliers = collect_multipliers(bundle, sources)
    assert multipliers["encoder.layers.0.attention.attention.query"] == pytest.approx(
        multipliers["encoder.layers.0.attention.attention.key_value"]
    )  # which read the same
    assert not bundle.writer.decoder.output._forward_pre_hooks


def _file(make: Make, tmp_path: Path, **changes: Any) -> Path:
    """A model's file with some of its items replaced, or left out."""
    bundle = ModelBundle.load(make())
    sources = [[5, 6, 7]]
    items = student_items(bundle, collect_multipliers(bundle, sources)) | changes
    write_items({name: item for name, item in items.items() if item is not None}, tmp_path / "model.ende.bin")
    return tmp_path / "model.ende.bin"


def test_what_a_file_lacks_is_named(make: Make, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="lacks encoder_l1_self_bq"):
        StudentFile(_file(make, tmp_path, encoder_l1_self_bq=None))
    with pytest.raises(CheckpointError, match="lacks encoder_l1_self_Wq_QuantMultA"):
        StudentFile(_file(make, tmp_path, encoder_l1_self_Wq_QuantMultA=None))
    with pytest.raises(InputError, match="another kind of model, such as encoder_l9_self_Wq"):
        StudentFile(_file(make, tmp_path, encoder_l9_self_Wq=Item.of_floats(np.float32([1]))))
    settings = Item.of_text(read_items(_file(make, tmp_path))["special:model.yml"].text().replace("ssru", "gru"))
    with pytest.raises(InputError, match="its setting dec-cell is 'gru'; only 'ssru'"):
        StudentFile(_file(make, tmp_path, **{"special:model.yml": settings}))


@pytest.mark.parametrize("cut", [0, 7, 16, 40, 500, -1])
def test_a_cut_file_is_refused(cut: int, make: Make, tmp_path: Path) -> None:
    path = _file(make, tmp_path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(CheckpointError, match="damaged"):
        read_items(path)


@pytest.mark.parametrize("offset", range(8, 48, 8))
@pytest.mark.parametrize("value", [0, 2**31, 2**64 - 1])
def test_lying_sizes_are_refused(offset: int, value: int, make: Make, tmp_path: Path) -> None:
    path = _file(make, tmp_path)
    content = bytearray(path.read_bytes())
    struct.pack_into("<Q", content, offset, value)
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="damaged"):
        read_items(path)


def test_another_version_is_refused(make: Make, tmp_path: Path) -> None:
    path = _file(make, tmp_path)
    path.write_bytes(struct.pack("<Q", 2) + path.read_bytes()[8:])
    with pytest.raises(CheckpointError, match="its version is 2; expected 1"):
        read_items(path)
