"""Folders of Hugging Face transformers: each file damaged in each way, and models that cannot go in or out."""

import json
from typing import Any

from bad_inputs.damages import (
    append,
    copy,
    cut,
    edit_json,
    edit_tensors,
    empty,
    fifo,
    flip,
    folder,
    garbage,
    link,
    move,
    remove,
    replace,
    write,
)
from bad_inputs.row import Row, row

IMPORT = "import gpt2 -o new"
WEIGHTS = "gpt2/model.safetensors"
INDEX = "gpt2/model.safetensors.index.json"
SHARD = "model-00001-of-00001.safetensors"
READ = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
HARMS = {
    "empty": empty,
    "cut off": cut,
    "garbage": garbage,
    "a folder": folder,
    "a link to itself": lambda path: link(path, path.rsplit("/", 1)[-1]),
    "a pipe": fifo,
}


def _config(name: str, words: str | tuple[str, ...], **values: Any) -> Row:
    return row(f"a GPT-2: {name}", IMPORT, 2, words, edit_json("gpt2/config.json", lambda tree: tree | values))


def _weights(name: str, words: str | tuple[str, ...], edit: Any) -> Row:
    return row(f"a GPT-2's weights: {name}", IMPORT, 2, words, edit_tensors(WEIGHTS, edit))


def _xlnet(name: str, words: str | tuple[str, ...], **values: Any) -> Row:
    damage = edit_json("xlnet/config.json", lambda tree: tree | values)
    return row(f"an XLNet: {name}", "import xlnet -o new", 2, words, damage)


def _index(name: str, words: str | tuple[str, ...], content: Any, *others: Any) -> Row:
    whole = move(WEIGHTS, f"gpt2/{SHARD}"), write(INDEX, content if isinstance(content, str) else json.dumps(content))
    return row(f"a GPT-2 in parts: {name}", IMPORT, 2, words, *whole, *others)


def _export(name: str, command: str, words: str | tuple[str, ...], *damages: Any) -> Row:
    return row(f"an export to Hugging Face: {name}", command, 2, words, *damages)


ROWS = [
    *(
        row(f"a GPT-2's {file}: {harm}", IMPORT, 2, f"gpt2/{file}", damage(f"gpt2/{file}"))
        for file in READ
        for harm, damage in HARMS.items()
    ),
    row("a GPT-2's tokenizer.json: one bit changed", IMPORT, 2, "gpt2", flip("gpt2/tokenizer.json", 0.001)),
    row("a GPT-2's weights: longer", IMPORT, 2, WEIGHTS, append(WEIGHTS, "x")),
    row("a GPT-2 without config.json", IMPORT, 2, ("gpt2 has no config.json", "expected"), remove("gpt2/config.json")),
    row("a GPT-2 without weights", IMPORT, 2, ("gpt2 has no weights", "model.safetensors"), remove(WEIGHTS)),
    row(
        "a hub that cannot be reached",
        "import ada/nothing -o new",
        2,
        "the hub (http://127.0.0.1:9) cannot be reached",
        environment={"HF_ENDPOINT": "http://127.0.0.1:9"},
    ),
    row("a revision of a folder", f"{IMPORT} --revision main", 2, "--revision is for models on the hub"),
    row("a GPT-2 with a pickle", IMPORT, 2, ("a pickle", "save_pretrained"), move(WEIGHTS, "gpt2/pytorch_model.bin")),
    row(
        "a GPT-2 without a tokenizer",
        IMPORT,
        2,
        ("no tokenizer.json", "merges.txt", "save_pretrained"),
        remove("gpt2/tokenizer.json"),
    ),
    row(
        "a GPT-2 with half a slow tokenizer",
        IMPORT,
        2,
        "no tokenizer.json",
        move("gpt2/tokenizer.json", "gpt2/vocab.json"),
    ),
    row(
        "a GPT-2 with a slow tokenizer that is none",
        IMPORT,
        2,
        "vocab.json",
        move("gpt2/tokenizer.json", "gpt2/vocab.json"),
        write("gpt2/merges.txt", "#version: 0.2\nĠ t\n"),
    ),
    row(
        "a GPT-2 with the tokenizer of another model",
        IMPORT,
        2,
        "gpt2/tokenizer.json: it has no token '<|endoftext|>'",
        copy("own.json", "gpt2/tokenizer.json"),
    ),
    row(
        "a GPT-2 whose end token is another",
        IMPORT,
        2,
        "no token '</s>', which serves as eos_token",
        replace("gpt2/tokenizer_config.json", '"eos_token": "<|endoftext|>"', '"eos_token": "</s>"'),
    ),
    row(
        "a GPT-2 that begins each text with a token",
        IMPORT,
        2,
        "add_bos_token",
        edit_json("gpt2/tokenizer_config.json", lambda tree: tree | {"add_bos_token": True}),
    ),
    row("a GPT-2: config.json is a list", IMPORT, 2, "gpt2/config.json", write("gpt2/config.json", "[]")),
    _config("of no type", "model_type is missing", model_type=None),
    _config("of another type", ("model_type is 'bloom'", "supported: gpt2"), model_type="bloom"),
    _config("with another head", "architectures", architectures=["GPT2ForTokenClassification"]),
    _config("with architectures that are none", "architectures", architectures=7),
    _config("with scores scaled by layer", "scale_attn_by_inverse_layer_idx", scale_attn_by_inverse_layer_idx=True),
    _config("with scores in another order", "reorder_and_upcast_attn", reorder_and_upcast_attn=True),
    _config("with attention to a source", "add_cross_attention", add_cross_attention=True),
    _config("of another activation", "activation_function is 'tanh'", activation_function="tanh"),
    _config("of another epsilon", "layer_norm_epsilon is 0.1", layer_norm_epsilon=0.1),
    _config("of no width", "n_embd must be from 1", n_embd=0),
    _config("of a width of many digits", "n_embd must be from 1", n_embd=10**30),
    _config("whose heads do not divide its width", "n_embd and n_head", n_head=5),
    _config("of as many layers as words", "n_layer must be a whole number", n_layer=True),
    _config("with more layers than weights", "no tensor transformer.h.2.", n_layer=3),
    _config("with fewer layers than weights", "tensor transformer.h.1.", n_layer=1),
    _config("with other sizes than its weights", ("is of shape", "config.json asks for"), n_embd=24),
    _config("of sizes that no memory has", ("is of shape", "config.json asks for"), n_embd=2**17, n_head=1, n_inner=1),
    _config("with more rows than tokens", ("300 tokens", "vocab_size is 301"), vocab_size=301),
    _config("untied without an output layer", "no tensor lm_head.weight", tie_word_embeddings=False),
    _config("quantized", "quantization_config", quantization_config={"bits": 4}),
    _weights("none", "no tensor", lambda tensors: tensors.clear()),
    _weights("one missing", "no tensor transformer.ln_f.bias", lambda tensors: tensors.pop("transformer.ln_f.bias")),
    _weights(
        "one more", "tensor transformer.x", lambda tensors: tensors.update(x=tensors["transformer.ln_f.bias"] + 1)
    ),
    _weights("not a number", "not finite", lambda tensors: tensors["transformer.ln_f.bias"].fill_(float("nan"))),
    _weights("infinite", "not finite", lambda tensors: tensors["transformer.ln_f.bias"].fill_(float("-inf"))),
    _weights(
        "whole numbers",
        "is of type int32",
        lambda tensors: tensors.update({"transformer.ln_f.bias": tensors["transformer.ln_f.bias"].int()}),
    ),
    _weights(
        "too large for scores",
        "scores that its model gives texts are not finite",
        lambda tensors: [tensor.fill_(3e38) for name, tensor in tensors.items() if "ln_f" in name],
    ),
    _index("an index that is empty", INDEX, {}),
    _index("an index that is no JSON", INDEX, "{"),
    _index("an index of numbers", INDEX, {"weight_map": {"a": 1}}),
    _index("a file that is not there", "model-2.safetensors is missing", {"weight_map": {"a": "model-2.safetensors"}}),
    _index("a file elsewhere", "outside its folder", {"weight_map": {"a": "../own.json"}}),
    _index("a tensor that is not there", "no tensor a", {"weight_map": {"a": SHARD}}),
    _index("a part that is damaged", SHARD, {"weight_map": {"a": SHARD}}, cut(f"gpt2/{SHARD}")),
    _xlnet("that reads from left to right", "attn_type is 'uni'", attn_type="uni"),
    _xlnet("read from both ends at once", "bi_data is true", bi_data=True),
    _xlnet("with distances cut off", "clamp_len is 100", clamp_len=100),
    _xlnet("with distances cut off at a word", "clamp_len is 'far'", clamp_len="far"),
    _xlnet("with as many keys for each token", "same_length is true", same_length=True),
    _xlnet("with biases that layers share", "untie_r is false", untie_r=False),
    _xlnet("that remembers a part of a segment", "reuse_len: only a memory of whole segments", reuse_len=3),
    _xlnet("of another activation", "ff_activation is 'silu'", ff_activation="silu"),
    _xlnet("whose heads do not divide its width", "d_model and n_head", n_head=5),
    _xlnet("of other heads", ("d_head is 5", "only 4"), d_head=5),
    _xlnet("of an odd width", "d_model must be even, but is 15", d_model=15),
    _xlnet("of no memory", "mem_len must be from 1", mem_len=0),
    _xlnet("of a memory of many digits", "mem_len must be from 1", mem_len=10**30),
    _xlnet("untied", "tie_word_embeddings is false", tie_word_embeddings=False),
    _xlnet("quantized", "quantization_config", quantization_config={"bits": 4}),
    _xlnet("with another head", "architectures", architectures=["XLNetForSequenceClassification"]),
    _xlnet("with more layers than weights", "no tensor transformer.layer.2.", n_layer=3),
    _xlnet("with heads of another shape", "[12, 3, 4], but config.json asks for [12, 2, 6]", n_head=2, d_head=6),
    _xlnet("with more rows than tokens", "vocab_size is 1,000", vocab_size=1000),
    row(
        "an XLNet with a model of SentencePiece alone",
        "import xlnet -o new",
        2,
        ("spiece.model alone", "save_pretrained"),
        move("xlnet/tokenizer.json", "xlnet/spiece.model"),
    ),
    row(
        "an XLNet without a tokenizer",
        "import xlnet -o new",
        2,
        "xlnet has no tokenizer.json",
        remove("xlnet/tokenizer.json"),
    ),
    row(
        "an XLNet with the tokenizer of another model",
        "import xlnet -o new",
        2,
        "xlnet/tokenizer.json: it has no token",
        copy("gpt2/tokenizer.json", "xlnet/tokenizer.json"),
    ),
    row("an import of nothing", "import nowhere -o new", 2, ("nowhere: no such folder", "OWNER/NAME")),
    row("an import of nothing, with text", "import nowhere -o new --sentences test.en", 2, "nowhere: no such folder"),
    row("an import of a file", "import test.en -o new", 2, "test.en: no such folder"),
    row("an import of a model of ours", "import lm/model -o new", 2, "is a model of Transduce already"),
    row("an import of a run of ours", "import lm -o new", 2, "lm has no config.json"),
    row("an import into a folder that is there", "import gpt2 -o lm", 2, "lm exists"),
    row("an import into nowhere", "import gpt2", 2, "--output"),
    row("an import of nothing at all", "import", 2, "folder"),
    row("a Hugging Face folder in place of a model", "generate gpt2 the", 2, "transduce import gpt2 -o FOLDER"),
    _export(
        "of a translation model",
        "export run --to huggingface -o out",
        ("model.positions is 'sinusoidal'", "model.norm is 'pre'", "where MarianMT has 'all'"),
    ),
    _export("of a recurrent model", "export rnn --to huggingface -o out", 'like model.kind = "recurrent"'),
    _export("of rotary positions", "export lm --to huggingface -o out", "model.positions is 'rotary'"),
    _export("into a folder that is there", "export lm --to huggingface -o run", "run exists"),
    _export("with a licence in words", "export lm --to huggingface -o out --license 'The MIT License'", "apache-2.0"),
    row("a licence for CTranslate2", "export run -o out --license mit", 2, "--license is for Hugging Face"),
    row("a push of nothing", "push nowhere ada/run", 2, "nowhere: no such folder"),
    row("a push of a file", "push test.en ada/run", 2, "test.en: no such folder"),
    row("a push of a run", "push run ada/run", 2, ("run is not a model", "name run/model")),
    row("a push of what is no model", "push swept ada/run", 2, "swept is not a model"),
    row("a push to a name without an owner", "push run/model captions", 2, "expected OWNER/NAME"),
    row("a push to a name with a space", ["push", "run/model", "ada/a b"], 2, "expected OWNER/NAME"),
    row("a push of a link", "push run/model ada/run", 2, "is a link", link("run/model/x.json", "config.toml")),
    row(
        "a push to where nobody listens",
        "push run/model ada/run --yes",
        2,
        "ada/run is not uploaded",
        prints=True,
        environment={"HF_ENDPOINT": "http://127.0.0.1:9", "HF_TOKEN": "hf_x", "NO_PROXY": "127.0.0.1"},
    ),
    _export("of nothing", "export nowhere --to huggingface -o out", "nowhere"),
    _export("with weights of 8 bits", "export lm --to huggingface -o out --quantization int8", "--quantization"),
    _export("with sentences", "export lm --to huggingface -o out --sentences test.en", "--sentences"),
    _export("to what there is not", "export lm --to onnx -o out", "--to"),
    _export("of a damaged model", "export lm --to huggingface -o out", "weights", cut("lm/model/weights.safetensors")),
]
