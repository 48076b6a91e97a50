"""Folders of Hugging Face transformers: each file damaged in each way, and models that cannot go in or out."""

import json
from typing import Any

from bad_inputs.damages import (
    copy,
    edit_json,
    edit_tensors,
    fifo,
    link,
    move,
    remove,
    write,
)
from bad_inputs.row import Row, row

IMPORT = "import gpt2 -o new"
WEIGHTS = "gpt2/model.safetensors"
INDEX = "gpt2/model.safetensors.index.json"
SHARD = "model-00001-of-00001.safetensors"


def _config(words: str | tuple[str, ...], **values: Any) -> Row:
    return row(IMPORT, words, edit_json("gpt2/config.json", lambda tree: tree | values))


def _weights(words: str | tuple[str, ...], edit: Any) -> Row:
    return row(IMPORT, words, edit_tensors(WEIGHTS, edit))


def _xlnet(words: str | tuple[str, ...], **values: Any) -> Row:
    damage = edit_json("xlnet/config.json", lambda tree: tree | values)
    return row("import xlnet -o new", words, damage)


def _index(words: str | tuple[str, ...], content: Any, *others: Any) -> Row:
    whole = (move(WEIGHTS, f"gpt2/{SHARD}"), write(INDEX, content if isinstance(content, str) else json.dumps(content)))
    return row(IMPORT, words, *whole, *others)


def _export(command: str, words: str | tuple[str, ...], *damages: Any) -> Row:
    return row(command, words, *damages)


ROWS = [
    row(IMPORT, "gpt2/config.json", fifo("gpt2/config.json")),
    row(IMPORT, ("gpt2 has no config.json", "expected"), remove("gpt2/config.json")),
    row(IMPORT, ("gpt2 has no weights", "model.safetensors"), remove(WEIGHTS)),
    row(
        "import ada/nothing -o new",
        "the hub (http://127.0.0.1:9) cannot be reached",
        environment={"HF_ENDPOINT": "http://127.0.0.1:9"},
    ),
    row(f"{IMPORT} --revision main", "--revision is for models on the hub"),
    row(IMPORT, ("a pickle", "save_pretrained"), move(WEIGHTS, "gpt2/pytorch_model.bin")),
    row(IMPORT, ("no tokenizer.json", "merges.txt", "save_pretrained"), remove("gpt2/tokenizer.json")),
    row(IMPORT, "gpt2/tokenizer.json: it has no token '<|endoftext|>'", copy("own.json", "gpt2/tokenizer.json")),
    row(IMPORT, "add_bos_token", edit_json("gpt2/tokenizer_config.json", lambda tree: tree | {"add_bos_token": True})),
    _config("model_type is missing", model_type=None),
    _config(("model_type is 'bloom'", "supported: gpt2"), model_type="bloom"),
    _config("architectures", architectures=["GPT2ForTokenClassification"]),
    _config("scale_attn_by_inverse_layer_idx", scale_attn_by_inverse_layer_idx=True),
    _config("n_embd and n_head", n_head=5),
    _config("n_layer must be a whole number", n_layer=True),
    _config("no tensor transformer.h.2.", n_layer=3),
    _config("tensor transformer.h.1.", n_layer=1),
    _config(("is of shape", "config.json asks for"), n_embd=24),
    _config(("300 tokens", "vocab_size is 301"), vocab_size=301),
    _config("quantization_config", quantization_config={"bits": 4}),
    _weights("not finite", lambda tensors: tensors["transformer.ln_f.bias"].fill_(float("nan"))),
    _weights(
        "is of type int32",
        lambda tensors: tensors.update({"transformer.ln_f.bias": tensors["transformer.ln_f.bias"].int()}),
    ),
    _weights(
        "scores that its model gives texts are not finite",
        lambda tensors: [tensor.fill_(3e38) for name, tensor in tensors.items() if "ln_f" in name],
    ),
    _index(INDEX, {}),
    _index("model-2.safetensors is missing", {"weight_map": {"a": "model-2.safetensors"}}),
    _index("outside its folder", {"weight_map": {"a": "../own.json"}}),
    _xlnet("d_model must be even, but is 15", d_model=15),
    row(
        "import xlnet -o new",
        ("spiece.model alone", "save_pretrained"),
        move("xlnet/tokenizer.json", "xlnet/spiece.model"),
    ),
    row("import xlnet -o new", "xlnet has no tokenizer.json", remove("xlnet/tokenizer.json")),
    row("import nowhere -o new", ("nowhere: no such folder", "OWNER/NAME")),
    row("import lm/model -o new", "is a model of Transduce already"),
    _export(
        "export run --to huggingface -o out",
        ("model.positions is 'sinusoidal'", "model.norm is 'pre'", "where MarianMT has 'all'"),
    ),
    row("export run -o out --license mit", "--license is for Hugging Face"),
    row("push run ada/run", ("run is not a model", "name run/model")),
    row("push run/model captions", "expected OWNER/NAME"),
    row("push run/model ada/run", "is a link", link("run/model/x.json", "config.toml")),
    row(
        "push run/model ada/run --yes",
        "ada/run is not uploaded",
        prints=True,
        environment={"HF_ENDPOINT": "http://127.0.0.1:9", "HF_TOKEN": "hf_x", "NO_PROXY": "127.0.0.1"},
    ),
    _export("export lm --to huggingface -o out --sentences test.en", "--sentences"),
    _xlnet("reuse_len: only a memory of whole segments", reuse_len=3),
]
