"""A MarianMT of Hugging Face transformers translates the same here; what cannot be carried over is named."""

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

import transduce
from marian_folder import write_marian
from transduce.apps.exchange.argos import export_argos
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface, read_bundle
from transduce.base.errors import CheckpointError, InputError, TransduceError
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.constraints import Constraints
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.text.sentencepiece import read_sentencepiece
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizers

SOURCE = [f"Der kleine Hund läuft {number} Mal über das grüne Feld, nicht wahr?" for number in range(60)]
TARGET = [f"The small dog 日本 runs {number} times across fields, doesn't it 本?" for number in range(60)]
ODD = [
    "",
    " ",
    "</s> a<pad>b <unk> c",
    "é ﬁ ½ Ａ \u00a0x\u3000y",
    "🙂👍🏽 北京 日本 本 日",
    "\ufdd0x \ufdd1 \ufffe\x07",
    "▁ ▁▁x  y ",
]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Path]:
    """The model and the tokenizer of transformers, and the folder they wrote."""
    transformers, sentencepiece = pytest.importorskip("transformers"), pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("theirs") / "marian"
    model = write_marian(transformers, sentencepiece, folder, (SOURCE, TARGET))
    return model, transformers.MarianTokenizer.from_pretrained(folder), folder


@pytest.fixture(scope="module")
def imported(theirs: tuple[Any, Any, Path]) -> ModelBundle:
    folder = theirs[2].parent / "model"
    certificate = import_huggingface(theirs[2], folder)
    assert certificate.compared_with is not None
    assert certificate.largest_difference < 1e-4
    return ModelBundle.load(folder)


@pytest.fixture
def folder(theirs: tuple[Any, Any, Path], tmp_path: Path) -> Path:
    copy = tmp_path / "marian"
    copy.mkdir()
    for file in theirs[2].iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def test_token_ids_are_those_of_marian_tokenizer(theirs: tuple[Any, Any, Path], imported: ModelBundle) -> None:
    tokenizer, texts = theirs[1], [*SOURCE, *TARGET, *ODD]
    for name, ours in (("text", imported.tokenizers.source), ("text_target", imported.tokenizers.target)):
        assert ours.encode_batch(texts) == tokenizer(**{name: texts}, add_special_tokens=False)["input_ids"]
        assert len(ours) == len(tokenizer)


@pytest.mark.parametrize("size", [1, 3])
def test_outputs_are_those_of_generate(size: int, theirs: tuple[Any, Any, Path], imported: ModelBundle) -> None:
    model, tokenizer, _ = theirs
    lines = SOURCE[:7]
    batch = tokenizer(lines, return_tensors="pt", padding=True)
    with torch.inference_mode():
        rows = model.generate(
            **batch,
            num_beams=size,
            max_length=20,
            length_penalty=1.0,
            early_stopping=size > 1,
            do_sample=False,
            bad_words_ids=[[tokenizer.pad_token_id], [tokenizer.unk_token_id]],
        ).tolist()
    expected = [[token for token in row[1:] if token not in (0, tokenizer.pad_token_id)] for row in rows]
    constraints = Constraints(imported.tokenizers.target)
    sources = imported.tokenizers.source.encode_batch(lines)
    pieces = [piece for ids in sources for piece in constraints.pieces(Request(""), [ids])]
    beam = Beam(size=size, length_penalty=1.0, normalization="power", max_ratio=0, max_extra=19)
    assert [found[0].tokens for found in PyTorchEngine(imported).search(pieces, constraints, beam)] == expected


def test_languages_search_and_text_come_along(imported: ModelBundle) -> None:
    assert (imported.config.source, imported.config.target) == ("de", "en")
    assert imported.history["imported"]["search"]["num_beams"] == 4
    assert imported.tokenizers.target.decode(imported.tokenizers.target.encode(TARGET[3])) == TARGET[3]
    assert Translator(imported).translate(SOURCE[0]).text


@pytest.mark.slow
def test_argos_translate_runs_it_with_the_same_tokens_of_samples_that_nobody_chose(
    imported: ModelBundle, tmp_path: Path
) -> None:
    pytest.importorskip("ctranslate2")
    assert imported.folder is not None
    certificate = export_argos(imported.folder, tmp_path / "de-en.argosmodel")
    assert certificate.sentences > 20
    assert certificate.parity.identical == certificate.parity.sentences


def test_out_again_the_weights_and_sentencepiece_models_are_the_same_bit_for_bit(
    theirs: tuple[Any, Any, Path], imported: ModelBundle, tmp_path: Path
) -> None:
    _, tokenizer, folder = theirs
    certificate = export_huggingface(folder.parent / "model", tmp_path / "again")
    assert certificate.compared_with is not None
    assert certificate.largest_difference < 1e-4
    before, after = (load_file(place / "model.safetensors") for place in (folder, tmp_path / "again"))
    assert after.keys() <= before.keys()
    assert all(torch.equal(before[name], tensor) for name, tensor in after.items())
    for name in ("source.spm", "target.spm"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
    old, new = (json.loads((place / "vocab.json").read_text()) for place in (folder, tmp_path / "again"))
    assert old == new
    again, _ = read_bundle(tmp_path / "again")
    assert again.config == imported.config
    search = json.loads((tmp_path / "again" / "generation_config.json").read_text())
    assert (search["num_beams"], search["max_length"]) == (4, 40)
    assert type(tokenizer).from_pretrained(tmp_path / "again")(SOURCE).input_ids == tokenizer(SOURCE).input_ids


@pytest.mark.parametrize(
    ("file", "change", "named"),
    [
        ("config.json", {"normalize_before": True}, "normalize_before"),
        ("config.json", {"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings"),
        ("config.json", {"decoder_ffn_dim": 24}, "decoder_ffn_dim"),
        ("config.json", {"decoder_start_token_id": 9999}, "decoder_start_token_id"),
        ("config.json", {"bad_words_ids": [[3]]}, "bad_words_ids"),
        ("tokenizer_config.json", {"separate_vocabs": True}, "separate_vocabs"),
        ("vocab.json", {">>fr<<": 1}, "not 0 to"),
    ],
)
def test_what_cannot_be_carried_over_is_named(folder: Path, file: str, change: dict[str, Any], named: str) -> None:
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(TransduceError, match=named):
        read_bundle(folder)


def test_missing_or_damaged_sentencepiece_models_are_refused_and_pickled_weights_read(
    folder: Path, tmp_path: Path
) -> None:
    model = folder / "source.spm"
    whole = model.read_bytes()
    for damaged in (b"", whole[:1000], b"\xff" * 20, b"\x0a\xff\xff\x01"):
        model.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"source\.spm"):
            read_sentencepiece(model)
    model.unlink()
    with pytest.raises(InputError, match=r"no source\.spm"):
        read_bundle(folder)
    model.write_bytes(whole)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    assert read_bundle(folder)[0].config.source == "de"


def test_a_model_trained_here_goes_out_with_the_sentencepiece_model_that_its_recipe_names(
    theirs: tuple[Any, Any, Path], tmp_path: Path
) -> None:
    original = theirs[2] / "source.spm"
    tokenizer_config = TokenizerConfig(kind="file", file=str(original))
    tokenizers = train_tokenizers(tokenizer_config, [], [])
    model_config = TransformerConfig(
        encoder_layers=1,
        decoder_layers=2,
        dim=12,
        heads=3,
        feed_forward_dim=17,
        norm="post",
        positions="concatenated",
        tie="all",
        output_bias=True,
        activation="gelu",
        scale_embeddings=False,
    )
    config = BundleConfig(
        format=FORMAT, source="de", target="en", model=model_config, tokenizer=tokenizer_config, longest_source=39
    )
    size = len(tokenizers.source)
    ModelBundle(config, build_model(model_config, size, size), tokenizers).save(
        tmp_path / "model", [(SOURCE[0], TARGET[0])]
    )
    certificate = export_huggingface(tmp_path / "model", tmp_path / "out")
    assert certificate.compared_with is not None
    assert certificate.largest_difference < 1e-4
    for side in ("source", "target"):
        assert (tmp_path / "out" / f"{side}.spm").read_bytes() == original.read_bytes()
    found = theirs[1].from_pretrained(tmp_path / "out")(SOURCE).input_ids
    assert found == [[*ids, tokenizers.source.eos] for ids in tokenizers.source.encode_batch(SOURCE)]


@pytest.mark.slow
@pytest.mark.parametrize("resumed", [False, True])
def test_a_model_trained_further_reads_sources_as_long_and_says_how_it_was_searched(
    theirs: tuple[Any, Any, Path], imported: ModelBundle, tmp_path: Path, resumed: bool
) -> None:
    for name, lines in (("mine.de", SOURCE), ("mine.en", TARGET)):
        (tmp_path / name).write_text("".join(f"{line[:20]}\n" for line in lines), encoding="utf-8")
    recipe = tmp_path / "mine.toml"
    settings = {
        "data": {"train": ["mine.de", "mine.en"], "validation": ["mine.de", "mine.en"]},
        "training": {"start_from": str(theirs[2].parent / "model"), "updates": 1, "precision": "float32"},
    }
    recipe.write_text(tomli_w.dumps(settings), encoding="utf-8")
    run = transduce.train(recipe, tmp_path / "run").run
    if resumed:
        transduce.train(recipe, run, resume=True, overrides={"training.updates": 2})
    bundle = ModelBundle.load(run)
    assert bundle.config.longest_source == imported.config.longest_source
    assert bundle.history["imported"] == imported.history["imported"]
    export_huggingface(run, tmp_path / "out")
    search = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert (search["num_beams"], search["max_length"]) == (4, 40)
    long = " ".join(SOURCE)[:150]
    assert theirs[1].from_pretrained(tmp_path / "out")(long).input_ids == theirs[1](long).input_ids


@pytest.mark.parametrize(
    ("place", "module", "of_input"),
    [
        ("encoder.layers.0.attention.heads", "encoder.layers.0.self_attn.out_proj", True),
        ("encoder.layers.1.feed_forward", "encoder.layers.1.fc2", False),
        ("encoder.output", "encoder.layers.1", False),
        ("decoder.layers.1.before", "decoder.layers.1", True),
        ("decoder.layers.1.attention.heads", "decoder.layers.1.self_attn.out_proj", True),
        ("decoder.layers.2.cross_attention.heads", "decoder.layers.2.encoder_attn.out_proj", True),
        ("decoder.layers.1.cross_attention", "decoder.layers.1.encoder_attn.out_proj", False),
        ("decoder.layers.2.feed_forward", "decoder.layers.2.fc2", False),
        ("decoder.layers.0.after", "decoder.layers.0", False),
    ],
)
@torch.no_grad()
def test_patches_are_those_of_pytorch_hooks_on_the_exported_model(
    place: str, module: str, of_input: bool, theirs: tuple[Any, Any, Path], imported: ModelBundle
) -> None:
    """One head, or the whole width, at two tokens of one sentence becomes what it was in a pass over other ones."""
    folder = theirs[2].parent / "exported"
    if not folder.exists():
        export_huggingface(theirs[2].parent / "model", folder)
    model = pytest.importorskip("transformers").MarianMTModel.from_pretrained(folder).eval()
    sources, others, target = torch.randint(3, 40, (3, 2, 6), generator=torch.Generator().manual_seed(1))
    part = model.get_submodule(f"model.{module}")
    heads, tokens = (1 if place.endswith("heads") else None), [2, 4]
    kept: list[torch.Tensor] = []

    def hook(_: Any, inputs: Any, output: Any = None) -> None:
        given = inputs if of_input else output
        value = given[0] if isinstance(given, tuple) else given
        if kept:
            width = slice(4, 8) if heads else slice(None)  # of the second of three heads
            value[1, tokens, width] = kept[0][1, tokens, width]
        kept.append(value.clone())

    added = part.register_forward_pre_hook(hook) if of_input else part.register_forward_hook(hook)
    _, expected = (model(input_ids=ids, decoder_input_ids=target).logits for ids in (others, sources))
    added.remove()
    writer = imported.writer

    def run(ids: torch.Tensor) -> torch.Tensor:
        return writer.decoder(target, writer.start(writer.encode(ids, ids >= 0)))[0]

    plain = run(sources)
    with transduce.intervene(imported.model) as edit:
        recording = edit.record(place)
        run(others)
    with transduce.intervene(imported.model) as edit:
        edit.patch(place, recording, at=tokens, heads=heads, rows=1)
        found = run(sources)
    assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(found[0], plain[0]) and (found[1] - plain[1]).abs().max() > 1e-3
