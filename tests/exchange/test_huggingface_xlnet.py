"""XLNet of Hugging Face transformers is the same here, and the same when it goes back; else there is none."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

import transduce
from transduce.apps.cli.main import app
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.apps.exchange.huggingface.huggingface_xlnet import MEMORY as MEMORY_OF_NULL
from transduce.apps.exchange.huggingface.huggingface_xlnet import XLNet
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface, read_bundle
from transduce.base.errors import InputError, TransduceError
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.generator import Generator
from transduce.models.families import build_model
from transduce.models.xlnet import XLNetConfig, XLNetLanguageModel
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizer
from xlnet_folder import MEMORY, SPECIAL, TEXT, write_xlnet

ODD_TEXTS = [
    "",
    " ",
    "  leading spaces, trailing  ",
    "a line\n\n and \r\n another\n\tend",
    "🙂👍🏽 Zoë, 北京 \u2028 \u0085",
    "\x00\x07\x1b[0m \ufffd \ufeff",
    "to be</s> or<eod>not <mask>be <mask> it<pad><unk><cls><sep>",
    "``quoted'' 'tis we'll they've 1,000.5 !!!",
    "e\u0301 \u00e9 \ufb01 ▁ ▁▁to",
    "Äquator ÄQUATOR",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_xlnet(tmp_path / "xlnet")
    return tmp_path / "xlnet"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle, and beside it the folder "xlnet" that it was made of."""
    place = tmp_path_factory.mktemp("imported")
    write_xlnet(place / "xlnet")
    import_huggingface(place / "xlnet", place / "model")
    return place / "model"


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes), encoding="utf-8")


@pytest.mark.parametrize("settings", [{}, {"ff_activation": "gelu_new"}, {"ff_activation": "relu"}], ids=str)
def test_a_folder_that_transformers_wrote_goes_there_and_back_bit_for_bit(
    settings: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(5)
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    shape = {"n_layer": 3, "d_model": 10, "n_head": 5, "d_inner": 17, "mem_len": 7, "vocab_size": size}
    model = transformers.XLNetLMHeadModel(transformers.XLNetConfig(**shape, **settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3)
    model.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    certificate = import_huggingface(folder, tmp_path / "model")
    assert certificate.compared_with == f"transformers {transformers.__version__}"
    assert certificate.largest_difference < 1e-5
    export_huggingface(tmp_path / "model", tmp_path / "back")
    before, after = (load_file(path / "model.safetensors") for path in (folder, tmp_path / "back"))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    config = transformers.AutoConfig.from_pretrained(tmp_path / "back")
    for name in (*shape, "d_head", "ff_activation", "dropout", "layer_norm_eps", "pad_token_id", "eos_token_id"):
        assert getattr(config, name) == getattr(model.config, name)


def test_the_comparison_sees_every_weight(folder: Path) -> None:
    def logits() -> torch.Tensor:
        bundle, _ = read_bundle(folder)
        return XLNet().outputs(bundle, range(11))

    plain, path = logits(), folder / "model.safetensors"
    tensors = load_file(path)
    for name, tensor in tensors.items():
        random = torch.randn(tensor.shape, generator=torch.Generator().manual_seed(2))
        save_file(tensors | {name: tensor + random / 3}, path, {"format": "pt"})
        assert (logits() - plain).abs().max() > 2e-3, name


@torch.no_grad()
def test_going_on_with_a_memory_gives_the_logits_of_transformers(imported: Path) -> None:
    transformers = pytest.importorskip("transformers")
    theirs = transformers.XLNetLMHeadModel.from_pretrained(imported.parent / "xlnet").eval()
    model: Any = ModelBundle.load(imported).model
    assert isinstance(model, XLNetLanguageModel)
    tokens = torch.randint(50, (2, 14), generator=torch.Generator().manual_seed(3))
    nothing = tokens[:, :0]
    state, memory = model.start(model.encode(nothing, nothing.bool())), None
    for first, part in enumerate(tokens.split(7, 1)):
        found, state = model.decoder(part, state)
        # Theirs has one more place, whose token nothing sees; each place is predicted from those before it.
        padded = torch.cat([part, part[:, :1]], 1)
        hidden = torch.ones(8, 8).triu(1).expand(2, -1, -1).clone() + torch.eye(8)
        mapping = torch.eye(8)[1:].expand(2, -1, -1)
        expected = theirs(padded, perm_mask=hidden, target_mapping=mapping, mems=memory, use_mems=True)
        memory = [layer[: 7 * (first + 1)] for layer in expected.mems]
        assert_close(found, expected.logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("tokenizer_class", ["XLNetTokenizerFast", "XLNetTokenizer", "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("place", ["import", "export"])
def test_token_ids_are_those_of_transformers_for_any_text(place: str, tokenizer_class: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "xlnet"
    write_xlnet(folder, tokenizer_class)
    import_huggingface(folder, tmp_path / "model")
    if place == "export":
        folder = tmp_path / "back"
        export_huggingface(tmp_path / "model", folder)
    ours = ModelBundle.load(tmp_path / "model").tokenizers.target
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert len(ours) == len(theirs)
    for text in ODD_TEXTS:
        assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"], text
    assert ours.pieces([ours.unknown, ours.bos, ours.eos, ours.pad]) == ["<unk>", "<s>", "</s>", "<pad>"]
    assert ours.mask == SPECIAL.index("<mask>")
    assert theirs("to be")["input_ids"][-2:] == [SPECIAL.index("<sep>"), SPECIAL.index("<cls>")]


def test_names_of_special_tokens_may_be_left_to_the_family(folder: Path, tmp_path: Path) -> None:
    (folder / "tokenizer_config.json").unlink()
    tokenizer = read_bundle(folder)[0].tokenizers.target
    assert [tokenizer.unknown, tokenizer.bos, tokenizer.eos] == [0, 1, 2]


def test_a_memory_without_an_end_becomes_the_usual_one(folder: Path) -> None:
    edit_config(folder, mem_len=None)
    config: Any = read_bundle(folder)[0].config
    assert config.model.memory == config.longest_source == MEMORY_OF_NULL


def test_a_copy_of_the_embeddings_must_be_one(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    copy = tensors["transformer.word_embedding.weight"].clone()
    save_file(tensors | {"lm_loss.weight": copy}, path, {"format": "pt"})
    read_bundle(folder)
    save_file(tensors | {"lm_loss.weight": copy + 1}, path, {"format": "pt"})
    with pytest.raises(TransduceError, match=r"lm_loss\.weight differs from transformer\.word_embedding\.weight"):
        read_bundle(folder)


CONFIGS = [
    ({"attn_type": "uni"}, "attn_type is 'uni'.*only 'bi' can"),
    ({"bi_data": True}, "bi_data is true.*only false"),
    ({"clamp_len": 100}, "clamp_len is 100.*only -1"),
    ({"same_length": True}, "same_length is true.*only false"),
    ({"untie_r": False}, "untie_r is false.*only true"),
    ({"reuse_len": 3}, "reuse_len: only a memory of whole segments"),
    ({"tie_word_embeddings": False}, "tie_word_embeddings is false"),
    ({"ff_activation": "silu"}, "ff_activation is 'silu'.*supported: gelu, gelu_new, relu"),
    ({"n_head": 5}, r"dim 12 is not a multiple of heads 5.*\(d_model and n_head\)"),
    ({"d_head": 5}, "d_head is 5.*only 4"),
    ({"d_model": 15, "d_head": 5}, "d_model must be even, but is 15"),
    ({"mem_len": 0}, "mem_len must be from 1"),
    ({"layer_norm_eps": 0}, "layer_norm_eps must be above 0"),
    ({"architectures": ["XLNetForSequenceClassification"]}, "architectures is .*XLNet: XLNetLMHeadModel"),
    ({"n_head": 2, "d_head": 6}, r"rel_attn\.q is of shape \[12, 3, 4\], but config\.json asks for \[12, 2, 6\]"),
]


@pytest.mark.parametrize("changes, told", CONFIGS, ids=str)
def test_a_setting_that_cannot_be_carried_over_is_named(
    changes: dict[str, Any], told: str, folder: Path, tmp_path: Path
) -> None:
    edit_config(folder, **changes)
    with pytest.raises(TransduceError, match=told) as error:
        import_huggingface(folder, tmp_path / "model")
    assert "\n" not in str(error.value)
    assert str(folder) in str(error.value)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("value", [None, 0, -1])
def test_distances_without_a_limit_are_read(value: int | None, folder: Path) -> None:
    edit_config(folder, clamp_len=value)
    read_bundle(folder)


def test_a_file_of_sentencepiece_alone_is_refused_with_what_to_do(folder: Path, tmp_path: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "spiece.model")
    with pytest.raises(InputError, match=r"spiece\.model alone.*save_pretrained.* writes tokenizer\.json"):
        import_huggingface(folder, tmp_path / "model")


def save_ours(folder: Path, **choices: Any) -> Path:
    torch.manual_seed(3)
    tokenizer_config = TokenizerConfig(kind="unigram")
    tokenizer = train_tokenizer(tokenizer_config, TEXT * 20, keep_spaces=True)
    sizes: dict[str, Any] = {"layers": 1, "dim": 12, "heads": 3, "feed_forward_dim": 17, "memory": 9}
    config = BundleConfig(
        format=FORMAT,
        task="language",
        source="en",
        target="en",
        model=XLNetConfig(**{**sizes, **choices}),
        tokenizer=tokenizer_config,
        longest_source=11,
        begin="eos",
    )
    model = build_model(config.model, len(tokenizer), len(tokenizer)).eval()
    ModelBundle(config, model, Tokenizers(tokenizer, tokenizer)).save(folder, [("To be", "To be")])
    return folder


def test_a_model_trained_here_goes_out_and_comes_back(tmp_path: Path) -> None:
    model = save_ours(tmp_path / "model", activation="gelu_tanh", norm_epsilon=1e-6, dropout=0.2)
    export_huggingface(model, tmp_path / "out")
    import_huggingface(tmp_path / "out", tmp_path / "again")
    before, after = ModelBundle.load(model), ModelBundle.load(tmp_path / "again")
    assert before.config.model == after.config.model
    ids = before.tokenizers.target.encode("To be, or  not 🙂")
    assert after.tokenizers.target.encode("To be, or  not 🙂") == ids
    assert torch.equal(XLNet().outputs(before, ids), XLNet().outputs(after, ids))


@pytest.mark.parametrize(
    "choices, told",
    [
        ({"key_dim": 5}, "model.key_dim is 5, where XLNet has 4"),
        ({"dim": 15}, "model.dim is 15, where XLNet has an even number"),
        ({"activation": "geglu"}, "model.activation is 'geglu', where XLNet has one of gelu, gelu_tanh, relu"),
    ],
    ids=str,
)
def test_a_setting_that_xlnet_does_not_have_is_named(choices: dict[str, Any], told: str, tmp_path: Path) -> None:
    model = save_ours(tmp_path / "model", **choices)
    with pytest.raises(InputError, match="cannot be exported to Hugging Face") as error:
        export_huggingface(model, tmp_path / "out")
    assert told in str(error.value)
    assert not (tmp_path / "out").exists()


def test_transformers_generates_with_what_is_exported(imported: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    export_huggingface(imported, tmp_path / "out")
    model = transformers.XLNetLMHeadModel.from_pretrained(tmp_path / "out")
    prompt = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")("to be", return_tensors="pt")
    found = model.generate(**prompt, max_new_tokens=3, do_sample=False, eos_token_id=None)
    assert found.shape[1] == prompt["input_ids"].shape[1] + 3


def test_an_imported_model_generates_scores_and_is_evaluated(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in TEXT), encoding="utf-8")
    generator = transduce.load(imported)
    assert isinstance(generator, Generator)
    found = generator.generate("To be, or", max_tokens=2 * MEMORY)  # beyond the memory
    assert 0 < found.n_best[0].tokens <= 2 * MEMORY
    for command in (
        ["score", str(imported), "--target", str(tmp_path / "text")],
        ["evaluate", str(imported), "--reference", str(tmp_path / "text")],
        ["info", str(imported)],
    ):
        app(command)
    told = capsys.readouterr().out
    assert "bits per character" in told
    assert "XLNetLMHeadModel" in told
