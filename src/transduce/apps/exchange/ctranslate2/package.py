"""Reads packages of Argos Translate (.argosmodel): a model for CTranslate2 with a SentencePiece model and languages."""

import atexit
import json
import math
import re
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from transduce.apps.exchange.ctranslate2.ctranslate2_model import CONFIG, WEIGHTS, require_ctranslate2
from transduce.apps.exchange.ctranslate2.model_bin import Variable, read_variables
from transduce.base.config import to_toml
from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import new_folder
from transduce.base.unzipping import is_zipped, unzipped
from transduce.base.verification import CARD, read_json
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import save_tokenizers
from transduce.bundle.model_card import model_card
from transduce.corpora.languages import is_tag
from transduce.inference.engines.exported import Export
from transduce.models.transformer import TransformerConfig
from transduce.text.sentencepiece import read_model, read_sentencepiece, with_vocabulary
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import SpecialTokens, TokenizerConfig

ENDING = ".argosmodel"
METADATA = "metadata.json"
MODEL = "model"
SENTENCEPIECE = "sentencepiece.model"
ADVICE = "download the package again"
LONGEST_SOURCE = 200
"""The most tokens of a piece that is translated at once; packages do not say how long the sentences were that their
models have learned."""
SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "decoder_start_token": "<s>"}
"""The tokens of a model without a config.json, as CTranslate2 takes them."""
PADDING = ("<blank>", "<pad>")
MOST_VOCABULARY_BYTES = 1 << 26
ACTIVATIONS = {0: "relu", 1: "gelu_tanh", 2: "silu", 3: "gelu"}
LAYER = re.compile(r"(encoder|decoder)/layer_(\d{1,4})/")

_made: dict[tuple[Path, int], Path] = {}
_lock = threading.Lock()


def is_package(path: str | Path) -> bool:
    """Returns True for a file .argosmodel, or the folder of one that is installed."""
    path = Path(path)
    return (path.is_file() and path.suffix == ENDING) or ((path / METADATA).is_file() and (path / MODEL).is_dir())


def unpacked(package: Path) -> Path:
    """Returns the folder of the exported model that a package makes: a temporary one, while the program runs.

    Raises as `write_package` does.
    """
    key = (package.resolve(), package.stat().st_mtime_ns)
    with _lock:
        if key not in _made:
            folder = Path(tempfile.mkdtemp(prefix="transduce-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            _made[key] = write_package(package, folder / "model")
    return _made[key]


def write_package(package: Path, output: Path) -> Path:
    """Writes the folder of an exported model, which the package's own weights make; returns the output.

    Raises InputError for a package with what is not supported, CheckpointError for one that is damaged, that would be
    too large when it is unpacked, or that names files outside of it.
    """
    require_ctranslate2()
    folder = _contents(package)
    source, target = _languages(folder)
    variables = read_variables(folder / MODEL / WEIGHTS)
    config = _model_config(variables, folder)
    special = _special(folder)
    tokenizers, how = _tokenizers(folder, variables, special)
    positions = variables.get("encoder/position_encodings/encodings")
    longest = None if positions is None else positions.shape[0]
    bundle = BundleConfig(
        format=FORMAT,
        source=source,
        target=target,
        model=config,
        tokenizer=how,
        longest_source=min(LONGEST_SOURCE, longest - 1 if longest else LONGEST_SOURCE),
    )
    parameters = sum(
        math.prod(variable.shape) for name, variable in variables.items() if name.endswith(("weight", "bias"))
    )
    history = {"imported": {"file": package.name, "architecture": "Argos Translate"}}
    with new_folder(output) as new:
        (new / "config.toml").write_text(to_toml(bundle), encoding="utf-8")
        save_tokenizers(tokenizers, how, new)
        for file in sorted((folder / MODEL).iterdir()):
            if file.is_file():
                shutil.copyfile(file, new / file.name)
        if not (new / CONFIG).exists():
            facts = SPECIAL | {"add_source_bos": False, "add_source_eos": False}
            (new / CONFIG).write_text(json.dumps(facts), encoding="utf-8")
        (new / "history.json").write_bytes(msgspec.json.encode(history))
        sizes = (len(tokenizers.source), len(tokenizers.target))
        card = model_card(bundle, sizes, parameters, history, "    transduce translate . input.txt")
        (new / CARD).write_text(card, encoding="utf-8")
        quantization: Any = variables["encoder/layer_0/ffn/linear_0/weight"].type
        Export.write(new, "ctranslate2", require_ctranslate2().__version__, quantization, longest)
    return output


def _contents(package: Path) -> Path:
    if package.is_dir():
        return package
    if not is_zipped(package):
        raise CheckpointError(f"{package} is no package of Argos Translate, which is a ZIP file; {ADVICE}")
    folder = unzipped(package)
    if not (folder / METADATA).is_file():
        raise CheckpointError(f"{package} is no package of Argos Translate: it has no {METADATA}; {ADVICE}")
    return folder


def _languages(folder: Path) -> tuple[str, str]:
    """Returns both languages of a package that translates from one into the other; InputError for another."""
    facts = read_json(folder / METADATA, dict[str, Any], ADVICE)
    if facts.get("type", "translate") != "translate":
        raise InputError(
            f"{folder / METADATA}: type is {str(facts['type'])[:40]!r}; only packages that translate are read"
        )
    if facts.get("target_prefix"):
        raise InputError(f"{folder / METADATA}: target_prefix is set: a model of several languages, which is not read")
    codes = facts.get("from_code"), facts.get("to_code")
    for code in codes:
        if not isinstance(code, str) or not is_tag(code):
            raise InputError(f"{folder / METADATA}: {str(code)[:20]!r} is no language; expected from_code and to_code")
    if not (folder / SENTENCEPIECE).exists():
        kind = "bpe.model, of words as Moses divides them" if (folder / "bpe.model").exists() else "other models"
        raise InputError(f"{folder} has no {SENTENCEPIECE}; packages with {kind} are not read")
    return str(codes[0]), str(codes[1])


def _special(folder: Path) -> dict[str, Any]:
    """Returns the names of special tokens, as CTranslate2 reads them."""
    path = folder / MODEL / CONFIG
    named = read_json(path, dict[str, Any], ADVICE) if path.exists() else {}
    return SPECIAL | {name: named[name] for name in SPECIAL if isinstance(named.get(name), str)}


def _tokenizers(
    folder: Path, variables: Mapping[str, Variable], special: Mapping[str, str]
) -> tuple[Tokenizers, TokenizerConfig]:
    """Reads the tokenizers, whose pieces the model's vocabularies number."""
    rows = [
        variables[f"{side}/embeddings{number}/weight"].shape[0] for side, number in (("encoder", "_0"), ("decoder", ""))
    ]
    vocabularies = [_vocabulary(folder / MODEL, side) for side in ("source", "target")]
    for side, vocabulary, expected in zip(("source", "target"), vocabularies, rows, strict=True):
        if len(vocabulary) != expected or len(set(vocabulary)) != expected:
            raise CheckpointError(
                f"{folder}: its {side} vocabulary has {len(set(vocabulary)):,} pieces, but the model has {expected:,} "
                f"rows; {ADVICE}"
            )
    path = folder / SENTENCEPIECE
    model = read_sentencepiece(path)
    if vocabularies[0] == vocabularies[1] == [piece.text for piece in model.pieces]:
        tokenizer = read_model(path)
        if len(tokenizer) == rows[0]:
            return Tokenizers(tokenizer, tokenizer), TokenizerConfig.of_files(True)

    def made(vocabulary: list[str]) -> Tokenizer:
        return with_vocabulary(path, model, {piece: number for number, piece in enumerate(vocabulary)}, names)

    first = vocabularies[1]
    padding = next((name for name in PADDING if name in first), special["eos_token"])
    names = SpecialTokens(
        pad=padding, unknown=special["unk_token"], bos=special["decoder_start_token"], eos=special["eos_token"]
    )
    for vocabulary in vocabularies:
        if missing := [name for name in {names.pad, names.unknown, names.bos, names.eos} if name not in vocabulary]:
            raise InputError(f"{folder}: its vocabulary has no token {missing[0]!r}, which serves as a special one")
    source, is_shared = made(vocabularies[0]), vocabularies[0] == vocabularies[1]
    target = source if is_shared else made(vocabularies[1])
    return Tokenizers(source, target), TokenizerConfig.of_files(is_shared, names)


def _vocabulary(folder: Path, side: str) -> list[str]:
    """Reads the pieces of a side, in the order of their numbers."""
    for name in (f"{side}_vocabulary", "shared_vocabulary"):
        if (path := folder / f"{name}.json").is_file():
            pieces = read_json(path, list[Any], ADVICE, MOST_VOCABULARY_BYTES)
            if all(isinstance(piece, str) for piece in pieces):
                return pieces
            raise CheckpointError(f"{path} is damaged (it is no list of pieces); {ADVICE}")
        if (path := folder / f"{name}.txt").is_file():
            try:
                return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
            except UnicodeDecodeError as error:
                raise CheckpointError(f"{path} is not UTF-8 text ({error}); {ADVICE}") from None
    raise CheckpointError(f"{folder} has no vocabulary of its {side}; {ADVICE}")


def _model_config(variables: Mapping[str, Variable], folder: Path) -> TransformerConfig:
    """Returns the sizes of a model, for people: CTranslate2 reads them by itself."""
    layers = {"encoder": 0, "decoder": 0}
    for name in variables:
        if match := LAYER.match(name):
            layers[match[1]] = max(layers[match[1]], int(match[2]) + 1)
    try:
        pre_norm = variables["encoder/pre_norm"].number if "encoder/pre_norm" in variables else 1
        activation = variables["encoder/activation"].number if "encoder/activation" in variables else 0
        return TransformerConfig(
            encoder_layers=layers["encoder"],
            decoder_layers=layers["decoder"],
            dim=variables["encoder/embeddings_0/weight"].shape[1],
            heads=variables["encoder/num_heads"].number if "encoder/num_heads" in variables else 8,
            feed_forward_dim=variables["encoder/layer_0/ffn/linear_0/weight"].shape[0],
            activation=ACTIVATIONS.get(activation, "relu"),  # type: ignore[arg-type]
            norm="pre" if pre_norm else "post",
        )
    except (LookupError, ValueError) as error:
        raise CheckpointError(f"{folder / MODEL / WEIGHTS}: not a Transformer that translates ({error})") from None
