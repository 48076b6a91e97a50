"""A GPT-2 of Hugging Face transformers is the same here, and the same when it goes back; else there is none."""

import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import tomli_w
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Backend
from torch import Tensor
from torch.testing import assert_close
from toy_models import logits_of

import transduce
from gpt2_folder import END, POSITIONS, TEXT, byte_level_tokenizer, write_gpt2
from transduce.apps.exchange.huggingface import certificate, huggingface_families
from transduce.apps.exchange.huggingface import export_huggingface as exporting
from transduce.apps.exchange.huggingface.certificate import LIBRARY
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.apps.exchange.huggingface.gpt2 import GPT2
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface, read_bundle
from transduce.base.errors import CheckpointError, InputError, TransduceError
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.formats import text_file
from transduce.inference.generator import Generator
from transduce.inference.growing_text import GrowingText, text_of
from transduce.inference.request import Request
from transduce.models.causal import CausalTransformerConfig
from transduce.models.families import ModelConfig, build_model
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.sampling import Sampling
from transduce.tasks.language.language_validation import count_lines, score_text
from transduce.text.running_text import encode_lines, encode_running
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizer

TIME = 37
ODD_TEXTS = [
    "",
    " ",
    "  leading spaces, trailing  ",
    "\n",
    "a line\n\n and \r\n another\n",
    "🙂👍🏽 Zoë, 北京 \u2028 \u0085",
    "\x00\x07\x1b[0m \ufffd \ufeff",
    f"before{END}after {END}\n{END}",
    "<pad><unk></s>[CLS]",
    "we'll they've 1,000.5 !!! ?\tx",
    "e\u0301 \u00e9 \ufb01",
]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that transformers wrote."""
    transformers = pytest.importorskip(LIBRARY)
    folder = tmp_path_factory.mktemp("theirs") / "gpt2"
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level_tokenizer(), bos_token=END, eos_token=END, unk_token=END
    )
    tokenizer.save_pretrained(folder)
    save_theirs(transformers, folder, vocab_size=len(tokenizer))
    return folder


def save_theirs(transformers: Any, folder: Path, dtype: torch.dtype = torch.float32, **settings: Any) -> Any:
    """Write a random model whose biases and norms are none of the usual, and return it."""
    torch.manual_seed(5)
    shape = {"n_layer": 2, "n_embd": 12, "n_head": 3, "n_positions": POSITIONS, "bos_token_id": 0, "eos_token_id": 0}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**{**shape, **settings})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3)
    model.to(dtype).save_pretrained(folder)
    return model.float()


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle, and beside it the folder "gpt2" that it was made of."""
    place = tmp_path_factory.mktemp("imported")
    write_gpt2(place / "gpt2")
    import_huggingface(place / "gpt2", place / "model")
    return place / "model"


@pytest.fixture(scope="module")
def generator(imported: Path) -> Generator:
    loaded = transduce.load(imported)
    assert isinstance(loaded, Generator)
    return loaded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_gpt2(tmp_path / "gpt2")
    return tmp_path / "gpt2"


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes), encoding="utf-8")


def edit_tensors(folder: Path, edit: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


@torch.no_grad()
@pytest.mark.parametrize("steps", [[TIME], [1] * TIME, [20, 17]], ids=["at once", "in steps", "in two"])
@pytest.mark.parametrize(
    "settings", [{}, {"n_inner": 17}, {"activation_function": "gelu"}, {"tie_word_embeddings": False}], ids=str
)
def test_logits_are_those_of_transformers(
    settings: dict[str, Any], steps: list[int], theirs: Path, tmp_path: Path
) -> None:
    transformers = pytest.importorskip(LIBRARY)
    folder = tmp_path / "gpt2"
    transformers.AutoTokenizer.from_pretrained(theirs).save_pretrained(folder)
    size = json.loads((theirs / "config.json").read_text())["vocab_size"]
    model = save_theirs(transformers, folder, vocab_size=size, **settings)
    found = import_huggingface(folder, tmp_path / "model")
    assert found.compared_with == f"transformers {transformers.__version__}"
    assert found.largest_difference < 1e-4
    tokens = torch.randint(size, (2, TIME), generator=torch.Generator().manual_seed(7))
    bundle = ModelBundle.load(tmp_path / "model")
    assert_close(logits_of(bundle.model, tokens, steps), model(tokens).logits, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_becomes_float32(dtype: torch.dtype, theirs: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip(LIBRARY)
    folder = tmp_path / "gpt2"
    transformers.AutoTokenizer.from_pretrained(theirs).save_pretrained(folder)
    size = json.loads((theirs / "config.json").read_text())["vocab_size"]
    save_theirs(transformers, folder, dtype, vocab_size=size)
    import_huggingface(folder, tmp_path / "model")
    assert {tensor.dtype for tensor in ModelBundle.load(tmp_path / "model").model.state_dict().values()} == {
        torch.float32
    }


@pytest.mark.parametrize("place", ["import", "export"])
def test_token_ids_are_those_of_transformers_for_any_text(place: str, theirs: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip(LIBRARY)
    import_huggingface(theirs, tmp_path / "model")
    if place == "export":
        export_huggingface(tmp_path / "model", tmp_path / "back")
    tokenizer = ModelBundle.load(tmp_path / "model").tokenizers.target
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(theirs if place == "import" else tmp_path / "back")
    assert len(tokenizer) == len(their_tokenizer)
    for text in ODD_TEXTS:
        assert tokenizer.encode(text) == encode_running(tokenizer, text) == their_tokenizer(text)["input_ids"]
        assert text_of(tokenizer, tokenizer.encode(text)) == their_tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("kind", ["merges", "prefix space", "no class named"])
def test_other_forms_of_a_tokenizer_give_the_ids_of_transformers(kind: str, theirs: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip(LIBRARY)
    folder = tmp_path / "gpt2"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_bytes((theirs / name).read_bytes())
    if kind == "merges":
        byte_level_tokenizer().model.save(str(folder))
    elif kind == "prefix space":
        byte_level_tokenizer(add_prefix_space=True).save(str(folder / "tokenizer.json"))
        settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": END, "eos_token": END, "unk_token": END}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    else:  # the class for GPT-2 says itself whether there is a space
        byte_level_tokenizer(add_prefix_space=True).save(str(folder / "tokenizer.json"))
    bundle, _ = read_bundle(folder)
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text in ODD_TEXTS:
        assert bundle.tokenizers.target.encode(text) == their_tokenizer(text)["input_ids"]
    import_huggingface(folder, tmp_path / "model")


def test_there_and_back_is_equal_bit_for_bit(theirs: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip(LIBRARY)
    import_huggingface(theirs, tmp_path / "model")
    export_huggingface(tmp_path / "model", tmp_path / "back")
    before, after = load_file(theirs / "model.safetensors"), load_file(tmp_path / "back" / "model.safetensors")
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name
    model = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "back")
    for name in ("bos_token_id", "eos_token_id", "n_embd", "n_inner", "n_positions", "activation_function"):
        assert getattr(model.config, name) == getattr(transformers.AutoConfig.from_pretrained(theirs), name)
    assert model.generation_config.eos_token_id == 0
    import_huggingface(tmp_path / "back", tmp_path / "again")
    files = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("model", "again")]
    assert files[0] == files[1]


def test_names_without_the_prefix_masks_and_a_copy_of_the_embeddings_change_nothing(
    imported: Path, folder: Path, tmp_path: Path
) -> None:
    def age(tensors: dict[str, torch.Tensor]) -> None:
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)
        tensors["h.0.attn.bias"] = torch.ones(1, 1, POSITIONS, POSITIONS, dtype=torch.uint8)
        tensors["h.1.attn.masked_bias"] = torch.tensor(-1e4)
        tensors["lm_head.weight"] = tensors["wte.weight"].clone()

    edit_tensors(folder, age)
    import_huggingface(folder, tmp_path / "model")
    files = [path / "weights.safetensors" for path in (imported, tmp_path / "model")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_the_output_layer_alone_may_be_there_where_it_is_tied(imported: Path, folder: Path, tmp_path: Path) -> None:
    edit_tensors(folder, lambda t: t.update({"lm_head.weight": t.pop("transformer.wte.weight")}))
    import_huggingface(folder, tmp_path / "model")
    files = [path / "weights.safetensors" for path in (imported, tmp_path / "model")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_weights_may_be_in_several_files(imported: Path, folder: Path, tmp_path: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    shards = {"model-00001-of-00002.safetensors": names[:9], "model-00002-of-00002.safetensors": names[9:]}
    for file, some in shards.items():
        save_file({name: tensors[name] for name in some}, folder / file)
    places = {name: file for file, some in shards.items() for name in some}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    import_huggingface(folder, tmp_path / "model")
    files = [path / "weights.safetensors" for path in (imported, tmp_path / "model")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_no_row_is_added_and_one_token_serves_as_all_special_ones(imported: Path) -> None:
    bundle = ModelBundle.load(imported)
    tokenizer = bundle.tokenizers.target
    assert len(tokenizer) == len(load_file(imported.parent / "gpt2" / "model.safetensors")["transformer.wte.weight"])
    end = tokenizer.backend.token_to_id(END)
    assert {tokenizer.pad, tokenizer.unknown, tokenizer.bos, tokenizer.eos} == {end}


def test_what_is_not_compared_says_so(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "find_spec", lambda name: None)
    found = import_huggingface(folder, tmp_path / "model")
    assert found.compared_with is None
    assert found.describe() == "not compared with transformers, which is not installed"
    assert ModelBundle.load(tmp_path / "model").history["imported"]["compared_with"] is None


def test_a_model_that_transformers_computes_otherwise_is_not_imported(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(LIBRARY)

    class Other(GPT2):
        def outputs(self, bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
            return torch.zeros(1)

    monkeypatch.setattr(huggingface_families, "FAMILIES", (Other(),))
    with pytest.raises(CheckpointError, match=r"the logits of transformers .* are up to .* apart"):
        import_huggingface(folder, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_an_export_that_is_read_otherwise_is_not_written(
    imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = exporting.to_theirs

    def broken(*arguments: Any) -> Any:
        tensors = plain(*arguments)
        tensors["transformer.h.1.mlp.c_fc.bias"][3] += 1e-6
        return tensors

    monkeypatch.setattr(exporting, "to_theirs", broken)
    with pytest.raises(CheckpointError, match=r"is not written: decoder\.layers\.1\.feed_forward\.inner\.bias"):
        export_huggingface(imported, tmp_path / "out")
    assert not list(tmp_path.iterdir())


CONFIGS = [
    ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is true.*only false"),
    ({"scale_attn_weights": False}, "scale_attn_weights is false.*only true"),
    ({"add_cross_attention": True}, "add_cross_attention is true"),
    ({"layer_norm_epsilon": 1e-6}, "layer_norm_epsilon is 1e-06.*only 1e-05"),
    ({"activation_function": "silu"}, "activation_function is 'silu'.*supported: gelu_new"),
    ({"n_embd": 13}, "dim 13 is not a multiple of heads 3"),
    ({"n_layer": "two"}, "n_layer must be a whole number, but is 'two'"),
    ({"resid_pdrop": 1.5}, "resid_pdrop must be at least 0 and below 1"),
    ({"tie_word_embeddings": "yes"}, "tie_word_embeddings must be true or false"),
    ({"quantization_config": {"bits": 4}}, "quantization_config: quantized weights"),
    ({"vocab_size": 301}, "its tokenizer has 300 tokens, but vocab_size is 301; they must be equal"),
    ({"model_type": "llama"}, "model_type is 'llama', which is not supported; supported: gpt2"),
    ({"model_type": None}, "model_type is missing"),
    ({"architectures": ["GPT2ForSequenceClassification"]}, "architectures is .*GPT2LMHeadModel"),
    ({"n_layer": 3}, r"no tensor transformer\.h\.2\.ln_1\.weight"),
    ({"n_layer": 1}, r"tensor transformer\.h\.1\..*does not have, and 11 more"),
    ({"n_inner": 50}, r"mlp\.c_fc\.weight is of shape \[12, 48\], but config\.json asks for \[12, 50\]"),
    ({"tie_word_embeddings": False}, r"no tensor lm_head\.weight"),
]


@pytest.mark.parametrize("changes, told", CONFIGS, ids=str)
def test_a_setting_that_cannot_be_carried_over_is_named(
    changes: dict[str, Any], told: str, folder: Path, tmp_path: Path
) -> None:
    edit_json(folder / "config.json", **changes)
    refused(folder, tmp_path, told)


def refused(folder: Path, tmp_path: Path, told: str) -> None:
    with pytest.raises(TransduceError, match=told) as error:
        import_huggingface(folder, tmp_path / "model")
    assert "\n" not in str(error.value)
    assert str(folder) in str(error.value)
    assert not (tmp_path / "model").exists()


def _without(name: str) -> Callable[[dict[str, torch.Tensor]], Any]:
    return lambda tensors: tensors.pop(name)


WEIGHTS: list[tuple[Callable[[dict[str, torch.Tensor]], Any], str]] = [
    (_without("transformer.ln_f.bias"), r"no tensor transformer\.ln_f\.bias"),
    (lambda t: t.update({"transformer.h.0.extra": torch.ones(1)}), r"tensor transformer\.h\.0\.extra, which"),
    (
        lambda t: t["transformer.wpe.weight"].view(-1)[5:6].fill_(torch.nan),
        r"wpe\.weight has numbers that are not finite",
    ),
    (
        lambda t: t["transformer.wpe.weight"].view(-1)[5:6].fill_(torch.inf),
        r"wpe\.weight has numbers that are not finite",
    ),
    (lambda t: t.update({"transformer.ln_f.bias": torch.ones(12, dtype=torch.int8)}), "is of type int8; only float32"),
    (lambda t: t.update({"transformer.wpe.weight": torch.ones(5, 12)}), r"shape \[5, 12\], but config\.json asks for"),
    (lambda t: t.update({"lm_head.weight": t["transformer.wte.weight"] + 1}), r"lm_head\.weight differs from"),
    (lambda t: t.update({"wpe.weight": torch.ones(POSITIONS, 12)}), r"there are two tensors transformer\.wpe\.weight"),
]


@pytest.mark.parametrize("edit, told", WEIGHTS, ids=[told for _, told in WEIGHTS])
def test_weights_that_do_not_fit_are_named(edit: Any, told: str, folder: Path, tmp_path: Path) -> None:
    edit_tensors(folder, edit)
    refused(folder, tmp_path, told)


def test_pickles_of_other_names_are_refused_with_what_to_do(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(folder / "weights.pt")
    refused(folder, tmp_path, r"weights\.pt alone, a pickle; .*save_pretrained")


def test_an_index_cannot_name_a_file_elsewhere(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(tmp_path / "elsewhere.safetensors")
    index = {"weight_map": {"transformer.wte.weight": "../elsewhere.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(folder, tmp_path, "outside its folder")


def test_without_a_tokenizer_there_is_no_model(folder: Path, tmp_path: Path) -> None:
    (folder / "tokenizer.json").unlink()
    refused(folder, tmp_path, r"has no tokenizer\.json, nor vocab\.json and merges\.txt")


def test_a_tokenizer_without_the_end_token_is_refused(folder: Path, tmp_path: Path) -> None:
    edit_json(folder / "tokenizer_config.json", eos_token="</s>")
    refused(folder, tmp_path, r"no token '</s>', which serves as eos_token")


def test_a_beginning_that_is_added_to_each_text_is_refused(folder: Path, tmp_path: Path) -> None:
    edit_json(folder / "tokenizer_config.json", add_bos_token=True)
    refused(folder, tmp_path, "add_bos_token is true")


SMALL: dict[str, Any] = {"layers": 1, "dim": 12, "heads": 3, "feed_forward_dim": 17, "max_positions": 19}


def save_ours(folder: Path, kind: str = "bpe", **choices: Any) -> Path:
    tokenizer_config = TokenizerConfig(kind=kind, size=330 if kind in ("bpe", "wordpiece") else None)  # type: ignore[arg-type]
    tokenizer = train_tokenizer(tokenizer_config, TEXT * 20, keep_spaces=True)
    config: ModelConfig = CausalTransformerConfig(**{**SMALL, "positions": "learned", **choices})
    return save_bundle(folder, config, tokenizer_config, tokenizer, "language")


def save_bundle(folder: Path, config: ModelConfig, tokenizer_config: Any, tokenizer: Tokenizer, task: str) -> Path:
    torch.manual_seed(3)
    described = BundleConfig(
        format=FORMAT,
        task=task,
        source="en",
        target="en",
        model=config,
        tokenizer=tokenizer_config,
        longest_source=11,
        begin="eos" if task == "language" else "bos",
    )
    model = build_model(config, len(tokenizer), len(tokenizer)).eval()
    ModelBundle(described, model, Tokenizers(tokenizer, tokenizer)).save(folder, [("To be", "To be")])
    return folder


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"activation": "gelu_tanh", "tie": False},
        {"activation": "relu", "kind": "characters"},
        {"kind": "unigram"},
        {"kind": "bytes"},
        {"kind": "words"},
    ],
    ids=str,
)
def test_models_trained_here_go_out_with_their_tokenizers(choices: dict[str, Any], tmp_path: Path) -> None:
    model = save_ours(tmp_path / "model", **choices)
    export_huggingface(model, tmp_path / "out")
    import_huggingface(tmp_path / "out", tmp_path / "again")
    before, after = ModelBundle.load(model), ModelBundle.load(tmp_path / "again")
    line = "To be, or  not 🙂"
    assert after.tokenizers.target.encode(line) == before.tokenizers.target.encode(line)
    ids = torch.tensor([before.tokenizers.target.encode(line)[:19]])
    with torch.no_grad():
        at_once = [ids.shape[1]]
        assert torch.equal(logits_of(before.model, ids, at_once), logits_of(after.model, ids, at_once))


@pytest.mark.parametrize(
    "choices, told",
    [
        ({"positions": "rotary"}, "model.positions is 'rotary', where GPT-2 has 'learned'"),
        ({"kv_heads": 1}, "model.kv_heads is 1, where GPT-2 has 3 (heads)"),
        ({"key_dim": 5}, "model.key_dim is 5, where GPT-2 has 4"),
        ({"activation": "geglu"}, "model.activation is 'geglu', where GPT-2 has one of gelu_tanh, gelu, relu"),
        ({"kind": "wordpiece"}, "its tokenizer spells unknown words in bytes"),
    ],
    ids=str,
)
def test_a_setting_that_gpt2_does_not_have_is_named(choices: dict[str, Any], told: str, tmp_path: Path) -> None:
    model = save_ours(tmp_path / "model", **choices)
    with pytest.raises(InputError, match="cannot be exported to Hugging Face") as error:
        export_huggingface(model, tmp_path / "out")
    assert told in str(error.value)
    assert not (tmp_path / "out").exists()


def test_all_settings_that_gpt2_does_not_have_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model\.positions is .*; model\.norm is"):
        export_huggingface(save_ours(tmp_path / "model", positions="none", norm="post"), tmp_path / "out")


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({}, r"positions is 'sinusoidal', .*'pre', .*'target', .*output_bias is false, where MarianMT has true"),
        (
            {"positions": "concatenated", "norm": "post", "tie": "all", "output_bias": True, "activation": "silu"},
            "source tokenizer was not made from a model of SentencePiece",
        ),
    ],
    ids=["settings", "tokenizer"],
)
def test_what_marian_does_not_have_is_named(choices: dict[str, Any], told: str, tmp_path: Path) -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "dim": 12, "heads": 3, "feed_forward_dim": 17}
    config = TokenizerConfig(kind="bytes")
    tokenizer = train_tokenizer(config, TEXT)
    model = TransformerConfig(**sizes, **choices)
    save_bundle(tmp_path / "model", model, config, tokenizer, "translation")
    with pytest.raises(InputError, match=told):
        export_huggingface(tmp_path / "model", tmp_path / "out")


@pytest.mark.parametrize("kind", ["import", "export"])
def test_a_folder_that_exists_is_kept(kind: str, imported: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="exists; remove it"):
        if kind == "import":
            import_huggingface(folder, tmp_path / "there")
        else:
            export_huggingface(imported, tmp_path / "there")


SEARCHES = [
    Beam(size=1),
    Beam(size=3),
    DiverseBeam(size=4, groups=2),
    Sampling(temperature=0.9, seed=4),
    Beam(size=1, no_repeat_ngram=2),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_every_search_goes_on_with_a_text_of_several_lines(search: Any, generator: Generator) -> None:
    prompt = "To be,\n\n 🙂or"
    found = generator.generate(prompt, search, max_tokens=110)  # beyond the window
    assert found.text.startswith(prompt)
    assert 0 < found.n_best[0].tokens <= 110


@pytest.mark.parametrize("stop", [(), ("\n",), ("e",)], ids=repr)
@pytest.mark.parametrize("seed", [2, 3])
def test_a_stream_is_what_is_generated_bytes_included(seed: int, stop: Any, generator: Generator) -> None:
    search = Sampling(temperature=2.0, seed=seed)  # random bytes, mostly
    whole = generator.generate("To be,\n🙂", search, max_tokens=45, stop=stop)
    pieces = list(generator.stream("To be,\n🙂", search, max_tokens=45, stop=stop))
    assert "".join(pieces) == whole.continuation
    assert not any(text in whole.continuation for text in stop)


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_text_that_grows_shows_no_half_of_a_character(text: str, imported: Path) -> None:
    tokenizer = ModelBundle.load(imported).tokenizers.target
    ids = tokenizer.encode(text)
    growing, shown = GrowingText(tokenizer, []), ""
    for token in ids:
        written = growing.add(token)
        sure = written[: len(written) - growing.unsure]
        assert sure.startswith(shown)
        assert text.startswith(sure)
        shown = sure
    assert growing.written == text


@torch.no_grad()
def test_writing_ends_with_the_end_token_which_is_no_text(imported: Path) -> None:
    bundle = ModelBundle.load(imported)
    tokenizer, decoder = bundle.tokenizers.target, cast(Any, bundle.model).decoder
    likeliest = torch.zeros_like(decoder.output.weight)
    for parameter, value in ((decoder.norm.weight, 0.0), (decoder.norm.bias, 1.0)):
        parameter.fill_(value)  # so that logits are the sums of the table's rows, whatever was read
    likeliest[tokenizer.eos] = 1.0
    decoder.output.weight.copy_(likeliest)
    generator = Generator(bundle)
    for search in (Beam(size=1), Beam(size=3)):
        for found in generator.generate(["To be", "or\n"], search, max_tokens=9):
            assert found.continuation == ""
            assert (found.n_best[0].stopped, found.n_best[0].tokens) == (True, 0)
    assert list(generator.stream("To be", max_tokens=9)) == []
    (letter,) = tokenizer.encode("T")
    decoder.output.weight[letter] = 2.0  # it is likelier still
    assert generator.generate("To", max_tokens=3).continuation == "TTT"


def test_phrases_are_required_and_banned(generator: Generator) -> None:
    found = generator.generate(Request("To be", required=["nobler"]), Beam(size=4), max_tokens=12)
    assert "nobler" in found.continuation
    plain = generator.generate("To be", max_tokens=12)
    word = next((word for word in plain.continuation.split() if word.isalpha()), None)
    if word is not None:
        assert word not in generator.generate(Request("To be", banned=[word]), max_tokens=12).continuation.split()


@pytest.mark.parametrize("adds_space", [False, True])
def test_lines_have_the_tokens_of_the_whole_text(adds_space: bool, imported: Path) -> None:
    backend = Backend.from_str(ModelBundle.load(imported).tokenizers.target.backend.to_str())
    backend.pre_tokenizer.add_prefix_space = adds_space
    special = ModelBundle.load(imported).config.tokenizer.special
    tokenizer = Tokenizer(backend, special)
    lines = ["To be, ", "", "  or not", "to be:", "\t", "", "a.", "b", "🙂 "]
    whole = tokenizer.encode("".join(f"{line}\n" for line in lines))
    assert [token for ids in encode_lines(tokenizer, lines) for token in ids] == whole
    assert sum(tokenizer.line_ends[token] for token in whole) == len(lines)


def test_a_model_to_start_from_trains_on_with_its_tokenizer(imported: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(TEXT) * 30, encoding="utf-8")
    settings = {
        "task": "language",
        "data": {"train": str(tmp_path / "text")},
        "model": {
            "kind": "causal-transformer",
            "layers": 2,
            "dim": 12,
            "heads": 3,
            "feed_forward_dim": 48,
            "activation": "gelu_tanh",
            "positions": "learned",
            "max_positions": POSITIONS,
            "embedding_dropout": 0.1,
            "attention_dropout": 0.1,
            "activation_dropout": 0.0,
        },
        "batching": {"window": 16, "target_tokens": 64},
        "training": {"updates": 8, "start_from": str(imported), "precision": "float32"},
        "optimizer": {"kind": "adamw", "learning_rate": 0.01},
        "checkpoint": {"every_updates": 4},
        "validation": {"every_updates": 4},
    }
    (tmp_path / "on.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    transduce.train(tmp_path / "on.toml", tmp_path / "run")
    before, after = ModelBundle.load(imported), ModelBundle.load(tmp_path / "run")
    assert after.tokenizers.target.content == before.tokenizers.target.content
    text = text_file(tmp_path / "text")
    assert score_text(after, text)["loss"] < score_text(before, text)["loss"] - 0.1
    assert count_lines(after, text).counts[:, 0].min() >= 0
    export_huggingface(tmp_path / "run", tmp_path / "out")


class Harm:
    """Writes a file if it is unpickled without care."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def pickled(folder: Path, state: Any, **how: Any) -> None:
    torch.save(state, folder / "pytorch_model.bin", **how)
    (folder / "model.safetensors").unlink()


@pytest.mark.parametrize("is_zipped", [True, False])
def test_pickled_tensors_are_read_and_reported(is_zipped: bool, folder: Path, tmp_path: Path) -> None:
    import_huggingface(folder, tmp_path / "safe")
    pickled(folder, load_file(folder / "model.safetensors"), _use_new_zipfile_serialization=is_zipped)
    told: list[str] = []
    certificate = import_huggingface(folder, tmp_path / "pickled", tell=told.append)
    assert certificate.compared_with is not None
    assert any("only tensors were read, and nothing in it was run" in line for line in told)
    names = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("safe", "pickled")]
    assert names[0] == names[1]


def test_a_pickle_that_would_run_code_is_refused_unread(folder: Path, tmp_path: Path) -> None:
    pickled(folder, {"transformer.wte.weight": Harm(tmp_path / "harm")})
    refused(folder, tmp_path, "a pickle of more than tensors, which could run code")
    assert not (tmp_path / "harm").exists()


def test_pickles_of_other_things_of_lying_sizes_and_cut_off_ones_are_refused(folder: Path, tmp_path: Path) -> None:
    state = load_file(folder / "model.safetensors")
    file = folder / "pytorch_model.bin"
    pickled(folder, state)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    refused(folder, tmp_path, r"pytorch_model\.bin is damaged")
    file.write_bytes(b"\x80\x04K\x01.")
    refused(folder, tmp_path, "something else than tensors|is damaged")
    torch.save([1, 2], file)
    refused(folder, tmp_path, "something else than tensors")
    torch.save(state | {"transformer.wte.weight": torch.zeros(1).expand(10**6, 10**6)}, file)
    refused(folder, tmp_path, "more numbers than are stored")
    torch.save(state | {"more": torch.zeros(10**7)}, file)
    refused(folder, tmp_path, "takes at most")
    torch.save(state, file)
    with zipfile.ZipFile(file) as stored, zipfile.ZipFile(tmp_path / "packed", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in stored.namelist():
            packed.writestr(name, stored.read(name))
    (tmp_path / "packed").replace(file)
    refused(folder, tmp_path, "is packed, as PyTorch packs no weights")
