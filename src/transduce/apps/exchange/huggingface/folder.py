"""Hugging Face folders: config.json, weights in safetensors, and a tokenizer's files; no code in them is run."""

import json
import pickle
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend
from torch import Tensor

from transduce.apps.exchange.huggingface.config_json import Fields
from transduce.base.config import to_tree
from transduce.base.errors import CheckpointError, InputError
from transduce.base.tensor_files import save_tensors
from transduce.base.verification import read_json
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_file import check_backend, one_line_errors, read_backend
from transduce.text.tokenizer_settings import SpecialTokens

CONFIG = "config.json"
GENERATION = "generation_config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLED = "pytorch_model.bin"
PICKLED_INDEX = "pytorch_model.bin.index.json"
TOKENIZER = "tokenizer.json"
SLOW_TOKENIZER = ("vocab.json", "merges.txt")
VOCABULARY = "vocab.txt"
TOKENIZER_CONFIG = "tokenizer_config.json"
SPECIAL_TOKENS = "special_tokens_map.json"

ADVICE = "download or save the folder again"
FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
BYTES_OF_FLOAT = 4
MOST_COPIES = 4
"""The most times that a file of weights holds each of them: tied matrices may be there several times."""
SMALL = 1 << 25
"""The bytes of a file of weights beside them, such as tables of positions that older versions saved."""
SlowTokenizer = Callable[[Path, Mapping[str, Any]], Backend]
"""Makes a tokenizer from a folder's older files, and the contents of tokenizer_config.json."""

Rename = Callable[[str], str | None]
"""Returns a family's name of a tensor in a file; None for a tensor that is not needed."""


def read_fields(folder: Path) -> Fields:
    """Reads config.json; raises InputError for a path that is not a Hugging Face folder."""
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such folder; a model is imported from one, or by its name on the hub, OWNER/NAME"
        )
    if (folder / "config.toml").exists():
        raise InputError(f"{folder} is a model of Transduce already; there is nothing to import")
    path = folder / CONFIG
    if not _is_named(path):
        raise InputError(f"{folder} has no {CONFIG}; expected the folder of a model of Hugging Face transformers")
    return Fields(path, read_json(path, dict[str, Any], ADVICE))


def read_tensors(folder: Path, rename: Rename, parameters: int) -> dict[str, Tensor]:
    """Reads all weights that are needed, as float32, by their family's names.

    Args:
        folder: the folder.
        rename: see Rename.
        parameters: the number of the model's parameters; pickled files that are far larger are not read.

    Raises InputError for weights of another format, CheckpointError for damaged files.
    """
    tensors: dict[str, Tensor] = {}
    for file, expected in weight_files(folder).items():
        with _opened(file, parameters) as (names, read):
            if missing := sorted(expected - set(names)):
                raise CheckpointError(f"{file}: no tensor {missing[0]}, which {INDEX} names; {ADVICE}")
            for name in names:
                renamed = rename(name)
                if renamed is None:
                    continue
                if renamed in tensors:
                    raise CheckpointError(f"{file}: there are two tensors {renamed}; {ADVICE}")
                tensors[renamed] = _as_float32(read(name), f"{file}: tensor {name}")
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


def weight_files(folder: Path) -> dict[Path, set[str]]:
    """Returns the files with weights, and the names of each one's tensors by the index; empty without an index.

    Pickles are only taken where there are no safetensors. Raises InputError if there are neither, CheckpointError for a
    damaged index or a file that is missing.
    """
    for whole, index in ((WEIGHTS, INDEX), (PICKLED, PICKLED_INDEX)):
        if _is_named(folder / whole):
            return {folder / whole: set()}
        if _is_named(folder / index):
            files = {folder / name: tensors for name, tensors in read_index(folder / index).items()}
            if missing := [file for file in files if not file.exists()]:
                raise CheckpointError(f"{missing[0]} is missing, which {index} names; {ADVICE}")
            return files
    if pickled := sorted(file.name for pattern in ("*.bin", "*.pt", "*.pth") for file in folder.glob(pattern)):
        raise InputError(
            f"{folder} has its weights in {pickled[0]} alone, a pickle; expected {WEIGHTS} or {PICKLED}: "
            "from_pretrained(FOLDER).save_pretrained(NEW) of the model's class writes the former, where you trust it"
        )
    raise InputError(f"{folder} has no weights; expected {WEIGHTS}, or {INDEX} and its files")


def read_index(index: Path) -> dict[str, set[str]]:
    """Reads the names of a folder's files of weights, and of the tensors in each; CheckpointError for a damaged one."""
    names = read_json(index, dict[str, Any], ADVICE).get("weight_map")
    if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
        raise CheckpointError(f"{index} is damaged (it has no weight_map); {ADVICE}")
    files: dict[str, set[str]] = {}
    for tensor, name in names.items():
        if Path(name).name != name:
            raise CheckpointError(f"{index} is damaged (it names the file {name!r}, outside its folder); {ADVICE}")
        files.setdefault(name, set()).add(tensor)
    return files


def is_pickled(folder: Path) -> bool:
    """Returns True if a folder's weights are pickled."""
    return any(file.suffix != ".safetensors" for file in weight_files(folder))


@contextmanager
def _opened(file: Path, parameters: int) -> Iterator[tuple[list[str], Callable[[str], Tensor]]]:
    """Yields the names of a file's tensors, and a function that reads one."""
    if not file.is_file():
        raise CheckpointError(f"{file} is not a file; {ADVICE}")
    if file.suffix != ".safetensors":
        pickled = _read_pickled(file, parameters)
        yield list(pickled), pickled.__getitem__
        return
    try:
        with safe_open(file, framework="pt") as opened:
            yield list(opened.keys()), opened.get_tensor
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{file} is damaged ({' '.join(str(error).split())}); {ADVICE}") from None


def _read_pickled(file: Path, parameters: int) -> dict[str, Tensor]:
    """Reads a pickle of tensors, of which nothing is run, and no more is unpacked than the file holds.

    Raises InputError for a pickle of anything else, CheckpointError for one that is damaged, or far larger than a model
    of so many parameters.
    """
    size, most = file.stat().st_size, MOST_COPIES * BYTES_OF_FLOAT * parameters + SMALL
    if size > most:
        raise CheckpointError(
            f"{file} has {size:,} bytes, but the model that {CONFIG} describes takes at most {most:,}; {ADVICE}"
        )
    try:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                    raise CheckpointError(f"{file} is packed, as PyTorch packs no weights; {ADVICE}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise InputError(
            f"{file} is damaged, or a pickle of more than tensors, which could run code, and is refused; "
            f"from_pretrained(FOLDER).save_pretrained(NEW) of the model's class writes {WEIGHTS}, where you trust it"
        ) from None
    except CheckpointError:
        raise
    except Exception as error:  # PyTorch raises many kinds for damaged files
        raise CheckpointError(f"{file} is damaged ({' '.join(str(error).split())[:200]}); {ADVICE}") from None
    if not isinstance(state, dict) or not all(isinstance(each, Tensor) for each in state.values()):
        raise InputError(f"{file} holds something else than tensors by their names; expected the weights of a model")
    for name, tensor in state.items():
        is_plain = tensor.layout == torch.strided and not tensor.is_quantized
        if not is_plain or tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise CheckpointError(
                f"{file}: tensor {name} is no plain one: it has more numbers than are stored; {ADVICE}"
            )
    return state


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
