"""Hugging Face folders: config.json, weights in safetensors, and a tokenizer's files; no code in them is run."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend
from torch import Tensor

from transduce.config import to_tree
from transduce.errors import CheckpointError, InputError
from transduce.exchange.huggingface.fields import Fields
from transduce.tensor_files import save_tensors
from transduce.text.tokenizer import SpecialTokens, Tokenizer
from transduce.text.tokenizer_file import check_backend, one_line_errors, read_backend
from transduce.verification import read_json

CONFIG = "config.json"
GENERATION = "generation_config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
TOKENIZER = "tokenizer.json"
SLOW_TOKENIZER = ("vocab.json", "merges.txt")
VOCABULARY = "vocab.txt"
TOKENIZER_CONFIG = "tokenizer_config.json"
SPECIAL_TOKENS = "special_tokens_map.json"

ADVICE = "download or save the folder again"
FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
SlowTokenizer = Callable[[Path, Mapping[str, Any]], Backend]
"""Makes a tokenizer from a folder's older files, and the contents of tokenizer_config.json."""

Rename = Callable[[str], str | None]
"""Returns a family's name of a tensor in a file; None for a tensor that is not needed."""


def read_fields(folder: Path) -> Fields:
    """Reads config.json; raises InputError for a path that is no Hugging Face folder."""
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such folder; a model is imported from a folder on this machine: download it first"
        )
    if (folder / "config.toml").exists():
        raise InputError(f"{folder} is a model of Transduce already; there is nothing to import")
    path = folder / CONFIG
    if not _is_named(path):
        raise InputError(f"{folder} has no {CONFIG}; expected the folder of a model of Hugging Face transformers")
    return Fields(path, read_json(path, dict[str, Any], ADVICE))


def read_tensors(folder: Path, rename: Rename) -> dict[str, Tensor]:
    """Reads all weights that are needed, as float32, by their family's names.

    Raises InputError for weights of another format, CheckpointError for damaged files.
    """
    tensors: dict[str, Tensor] = {}
    for file, expected in _weight_files(folder).items():
        with _safetensors_errors(file), safe_open(file, framework="pt") as opened:
            names = list(opened.keys())
            if missing := sorted(expected - set(names)):
                raise CheckpointError(f"{file}: no tensor {missing[0]}, which {INDEX} names; {ADVICE}")
            for name in names:
                renamed = rename(name)
                if renamed is None:
                    continue
                if renamed in tensors:
                    raise CheckpointError(f"{file}: there are two tensors {renamed}; {ADVICE}")
                tensors[renamed] = _as_float32(opened.get_tensor(name), f"{file}: tensor {name}")
    return tensors


def read_tokenizer(
    folder: Path, roles: Mapping[str, str], defaults: Mapping[str, str], is_byte_level: bool, from_slow: SlowTokenizer
) -> tuple[Tokenizer, SpecialTokens]:
    """Reads the tokenizer and its special tokens; none is added.

    Args:
        folder: holds tokenizer.json, or the files that older versions wrote.
        roles: the family's names of its special tokens, by our roles.
        defaults: the default spelling of the family's special tokens, by our roles; padding is the end token by
            default.
        is_byte_level: True if transformers gives the family a byte-level tokenizer (unless tokenizer_config.json names
            a general class), whose space before a text is then a setting.
        from_slow: makes a tokenizer from older files.

    Raises InputError for a missing one, CheckpointError for a damaged one or one that lacks a special token.
    """
    settings = read_optional(folder / TOKENIZER_CONFIG)
    named = read_optional(folder / SPECIAL_TOKENS) | settings
    if settings.get("add_bos_token"):
        raise InputError(f"{folder / TOKENIZER_CONFIG}: add_bos_token is true, which cannot be carried over")
    names = dict(defaults) | {ours: name for ours, theirs in roles.items() if (name := token_name(named.get(theirs)))}
    names.setdefault("pad", names["eos"])
    path = folder / TOKENIZER
    adds_space = bool(settings.get("add_prefix_space", False))
    if _is_named(path):
        backend = read_backend(path)
        is_general = settings.get("tokenizer_class") in ("PreTrainedTokenizerFast", "TokenizersBackend")
        if is_byte_level and not is_general and isinstance(backend.pre_tokenizer, pre_tokenizers.ByteLevel):
            backend.pre_tokenizer.add_prefix_space = adds_space
        lowers = settings.get("do_lower_case")
        if lowers is not None and not is_general and isinstance(backend.normalizer, normalizers.BertNormalizer):
            backend.normalizer.lowercase = bool(lowers)
    else:
        backend = from_slow(folder, settings)
        path = next(file for name in (SLOW_TOKENIZER[0], VOCABULARY) if (file := folder / name).exists())
    if "mask" in names and not token_name(named.get(roles["mask"])) and backend.token_to_id(names["mask"]) is None:
        del names["mask"]  # only guessing masked words needs it
    special = SpecialTokens(**names)
    for role, name in reversed(to_tree(special).items()):  # the end token first, which may serve as the others
        if backend.token_to_id(name) is None:
            raise CheckpointError(f"{path}: it has no token {name!r}, which serves as {roles[role]}")
    # Special tokens are recognised in texts, as in transformers; those that are marked already stay.
    marked = {token.content for token in backend.get_added_tokens_decoder().values()}
    backend.add_special_tokens([AddedToken(name, normalized=False) for name in {*names.values()} - marked])
    check_backend(backend, path)
    return Tokenizer(backend, special), special


def write_config(folder: Path, config: Mapping[str, Any], generation: Mapping[str, Any]) -> None:
    """Writes config.json and generation_config.json."""
    write_json(folder / CONFIG, config)
    write_json(folder / GENERATION, generation)


def write_tensors(folder: Path, tensors: dict[str, Tensor]) -> None:
    """Writes model.safetensors."""
    save_tensors({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS, {"format": "pt"})


def write_tokenizer(
    folder: Path, tokenizer: Tokenizer, roles: Mapping[str, str], inputs: Sequence[str], longest: int
) -> None:
    """Writes tokenizer.json and the names of its special tokens, for a model with these inputs and longest row."""
    ids = {"pad": tokenizer.pad, "unknown": tokenizer.unknown, "bos": tokenizer.bos, "eos": tokenizer.eos}
    if tokenizer.mask is not None:
        ids["mask"] = tokenizer.mask
    names = {roles[role]: tokenizer.pieces([token])[0] for role, token in ids.items()}
    if tokenizer.pad == tokenizer.eos:
        del names[roles["pad"]]  # the end token is the default
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": longest,
        "model_input_names": list(inputs),
        "clean_up_tokenization_spaces": False,
    }
    (folder / TOKENIZER).write_text(tokenizer.backend.to_str(pretty=True), encoding="utf-8")
    write_json(folder / TOKENIZER_CONFIG, settings | names)
    write_json(folder / SPECIAL_TOKENS, names)


def _weight_files(folder: Path) -> dict[Path, set[str]]:
    """Returns the files with weights, and the names of each one's tensors by the index; empty without an index."""
    if _is_named(folder / WEIGHTS):
        return {folder / WEIGHTS: set()}
    index = folder / INDEX
    if _is_named(index):
        names = read_json(index, dict[str, Any], ADVICE).get("weight_map")
        if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
            raise CheckpointError(f"{index} is damaged (it has no weight_map); {ADVICE}")
        files: dict[Path, set[str]] = {}
        for tensor, name in names.items():
            if Path(name).name != name:
                raise CheckpointError(f"{index} is damaged (it names the file {name!r}, outside its folder); {ADVICE}")
            files.setdefault(folder / name, set()).add(tensor)
        if missing := [file for file in files if not file.exists()]:
            raise CheckpointError(f"{missing[0]} is missing, which {INDEX} names; {ADVICE}")
        return files
    if pickled := sorted(file.name for pattern in ("*.bin", "*.pt", "*.pth") for file in folder.glob(pattern)):
        raise InputError(
            f"{folder} has its weights in {pickled[0]} alone, a pickle, which can run code when it is read; convert it "
            "on a machine where you trust it: from_pretrained(FOLDER).save_pretrained(NEW) of the model's class writes "
            f"{WEIGHTS}"
        )
    raise InputError(f"{folder} has no weights; expected {WEIGHTS}, or {INDEX} and its files")


@contextmanager
def _safetensors_errors(file: Path) -> Iterator[None]:
    try:
        if not file.is_file():
            raise CheckpointError(f"{file} is not a file; {ADVICE}")
        yield
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{file} is damaged ({' '.join(str(error).split())}); {ADVICE}") from None


def _as_float32(tensor: Tensor, name: str) -> Tensor:
    if tensor.dtype not in FLOATS:
        raise InputError(
            f"{name} is of type {str(tensor.dtype).removeprefix('torch.')}; only float32, float16 and bfloat16 can be "
            "carried over, no quantized weights"
        )
    tensor = tensor.float()
    if not tensor.isfinite().all():
        raise CheckpointError(f"{name} has numbers that are not finite; {ADVICE}")
    return tensor


def from_merges(folder: Path, settings: Mapping[str, Any]) -> Backend:
    """Makes a byte-level tokenizer from the two files that older versions wrote."""
    adds_space = bool(settings.get("add_prefix_space", False))
    vocabulary, merges = (folder / name for name in SLOW_TOKENIZER)
    if not (vocabulary.exists() and merges.exists()):
        raise InputError(
            f"{folder} has no {TOKENIZER}, nor {' and '.join(SLOW_TOKENIZER)}: a model is imported with its tokenizer; "
            f"AutoTokenizer.from_pretrained(...).save_pretrained({str(folder)!r}) writes it"
        )
    with one_line_errors(vocabulary, f"it and {merges.name} are no byte-level BPE"):
        backend = Backend(models.BPE.from_file(str(vocabulary), str(merges)))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=adds_space)
        backend.decoder = decoders.ByteLevel()
    return backend


def from_vocabulary(folder: Path, settings: Mapping[str, Any]) -> Backend:
    """Makes a WordPiece tokenizer from the one file that older versions wrote."""
    path = folder / VOCABULARY
    if not path.exists():
        raise InputError(
            f"{folder} has no {TOKENIZER}, nor {VOCABULARY}: a model is imported with its tokenizer; "
            f"AutoTokenizer.from_pretrained(...).save_pretrained({str(folder)!r}) writes it"
        )
    with one_line_errors(path, "it is no vocabulary of WordPiece"):
        backend = Backend(models.WordPiece.from_file(str(path), unk_token="[UNK]"))
        backend.normalizer = normalizers.BertNormalizer(
            lowercase=bool(settings.get("do_lower_case", True)),
            strip_accents=settings.get("strip_accents"),
            handle_chinese_chars=bool(settings.get("tokenize_chinese_chars", True)),
        )
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.WordPiece()
        end, begin = (backend.token_to_id(name) for name in ("[SEP]", "[CLS]"))
        if end is not None and begin is not None:
            backend.post_processor = processors.BertProcessing(("[SEP]", end), ("[CLS]", begin))
    return backend


def token_name(token: object) -> str | None:
    """Returns the text of a special token, which is a string or a dict in JSON; None for another value."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None


def read_optional(path: Path) -> dict[str, Any]:
    """Reads a JSON file; returns an empty dict for a missing one."""
    return read_json(path, dict[str, Any], ADVICE) if _is_named(path) else {}


def _is_named(path: Path) -> bool:
    """Returns True if a path exists, even as a dangling link."""
    return path.exists() or path.is_symlink()


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Writes a JSON file, one value a line."""
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
