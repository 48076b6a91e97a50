"""The tokenizers of M2M100 (a SentencePiece model over a vocabulary of its own) and of NLLB (one JSON file)."""

import json
import re
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from transduce.apps.exchange.huggingface.config_json import Fields
from transduce.apps.exchange.huggingface.folder import (
    ADVICE,
    SPECIAL_TOKENS,
    TOKENIZER,
    TOKENIZER_CONFIG,
    read_optional,
    token_name,
    write_json,
)
from transduce.apps.exchange.huggingface.marian import VOCABULARY, read_vocabulary
from transduce.base.errors import CheckpointError, InputError
from transduce.base.ranges import PositiveInt
from transduce.bundle.model_bundle import ModelBundle
from transduce.text.sentencepiece import read_sentencepiece, with_vocabulary
from transduce.text.tokenizer import HIDDEN, Tokenizer, Tokenizers
from transduce.text.tokenizer_file import check_backend, read_backend
from transduce.text.tokenizer_settings import SpecialTokens, TokenizerConfig

BEGIN, PADDING, END = range(3)
NAMES = ("<s>", "<pad>", "</s>", "<unk>")
"""The names of special tokens, in the order of their numbers."""
SPECIAL = SpecialTokens(bos="<s>", pad="<pad>", eos="</s>", unknown="<unk>")
SENTENCEPIECE_MODEL = "sentencepiece.bpe.model"
MADE_UP = "madeupword"
"""Prefix of the names of unused tokens that fill a vocabulary up to the rows of its matrix."""
MOST_MADE_UP = 10_000
NLLB_LANGUAGE = re.compile("[a-z]{3}_[A-Z][a-z]{3}")
M2M100_LANGUAGES = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht "
    "hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps "
    "pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)
WMT21_LANGUAGES = "en ha is ja cs ru zh de"
LANGUAGES = {"m2m100": M2M100_LANGUAGES.split(), "wmt21": WMT21_LANGUAGES.split()}
"""The languages of M2M100Tokenizer, in the order of their numbers."""


def language_tokens(folder: Path) -> dict[str, str]:
    """Returns the token of each language; raises as `read_tokenizers` does."""
    if not is_m2m100(folder):
        backend = read_backend(folder / TOKENIZER)
        added = sorted(backend.get_added_tokens_decoder().items())
        languages = [token.content for _, token in added if NLLB_LANGUAGE.fullmatch(token.content)]
        if len(languages) < 2:
            raise InputError(f"{folder / TOKENIZER}: it has no tokens of languages, such as deu_Latn")
        return {language: language for language in languages}
    settings = read_optional(folder / TOKENIZER_CONFIG)
    kind = settings.get("language_codes", "m2m100")
    if not isinstance(kind, str) or kind not in LANGUAGES:
        raise InputError(
            f"{folder / TOKENIZER_CONFIG}: language_codes is {str(kind)[:40]!r}, which is not supported; supported: "
            f"{', '.join(LANGUAGES)}"
        )
    return {language: f"__{language}__" for language in LANGUAGES[kind]}


def is_m2m100(folder: Path) -> bool:
    """Returns True if a folder has M2M100's tokenizer, False if NLLB's; InputError if it has neither."""
    settings = read_optional(folder / TOKENIZER_CONFIG)
    if (folder / VOCABULARY).exists() or settings.get("tokenizer_class") == "M2M100Tokenizer":
        return True
    if not (folder / TOKENIZER).exists():
        raise InputError(
            f"{folder} has neither {VOCABULARY} (of M2M100) nor {TOKENIZER} (of NLLB): a model is imported with its "
            f"tokenizer; AutoTokenizer.from_pretrained(...).save_pretrained({str(folder)!r}) writes it"
        )
    if settings.get("legacy_behaviour"):
        raise InputError(f"{folder / TOKENIZER_CONFIG}: legacy_behaviour is true, which cannot be carried over")
    return False


def read_tokenizers(folder: Path, fields: Fields) -> tuple[Tokenizers, TokenizerConfig]:
    """Reads one tokenizer for both sides, with as many tokens as the model has rows.

    Raises InputError for a missing file or one with unsupported settings, CheckpointError for a damaged one.
    """
    languages = language_tokens(folder)
    tokenizer = (_read_m2m100 if is_m2m100(folder) else _read_nllb)(folder, fields, languages)
    numbers = (tokenizer.bos, tokenizer.pad, tokenizer.eos, tokenizer.unknown)
    for number, (name, id_) in enumerate(zip(NAMES, numbers, strict=True)):
        if id_ != number:
            raise InputError(f"{folder}: {name} is token {id_:,}, which cannot be carried over; only {number} can")
    return Tokenizers(tokenizer, tokenizer), TokenizerConfig.of_files(True, SPECIAL)


def _read_m2m100(folder: Path, fields: Fields, languages: dict[str, str]) -> Tokenizer:
    file, model = folder / VOCABULARY, folder / SENTENCEPIECE_MODEL
    vocabulary = read_vocabulary(file, model)
    for name in NAMES:
        if name not in vocabulary:
            raise CheckpointError(f"{file}: it has no token {name!r}; {ADVICE}")
    for token in languages.values():
        if token in vocabulary:
            raise InputError(f"{file}: it has {token!r}, which M2M100 numbers after it; this cannot be carried over")
        vocabulary[token] = len(vocabulary)
    for name in _made_up(fields, 128112, len(vocabulary)):
        vocabulary[name] = len(vocabulary)
    names = list(languages.values())
    meant = names if _names_languages(folder, names) else []
    return with_vocabulary(model, read_sentencepiece(model), vocabulary, SPECIAL, languages, meant)


def _made_up(fields: Fields, usual: int, known: int) -> list[str]:
    """Returns names for the rows of the matrix that no token has."""
    missing = fields.number("vocab_size", PositiveInt, usual) - known
    if missing > MOST_MADE_UP:
        raise InputError(
            f"{fields.path}: vocab_size is {known + missing:,}, but its tokenizer has {known:,} tokens; at most "
            f"{MOST_MADE_UP:,} rows may stand for none"
        )
    return [f"{MADE_UP}{number}" for number in range(missing)]


def _names_languages(folder: Path, names: list[str]) -> bool:
    """Returns True if the folder lists the languages' tokens as special, so that a text that spells one means it."""
    contents = (read_optional(folder / file) for file in (TOKENIZER_CONFIG, SPECIAL_TOKENS))
    kinds = ("additional_special_tokens", "extra_special_tokens")
    lists = [settings.get(kind) for settings in contents for kind in kinds]
    return any(isinstance(tokens, list) and list(map(token_name, tokens)) == names for tokens in lists)


def _read_nllb(folder: Path, fields: Fields, languages: dict[str, str]) -> Tokenizer:
    path = folder / TOKENIZER
    backend = read_backend(path)
    for name in NAMES:
        if backend.token_to_id(name) is None:
            raise CheckpointError(f"{path}: it has no token {name!r}; {ADVICE}")
    made_up = _made_up(fields, 256206, 1 + max(backend.get_vocab().values()))
    backend.add_special_tokens([AddedToken(HIDDEN + name, normalized=False) for name in made_up])
    check_backend(backend, path)
    return Tokenizer(backend, SPECIAL, marks=languages)


def write_tokenizers(folder: Path, bundle: ModelBundle) -> None:
    """Writes the files that the tokenizer was made from; InputError for one that was made from neither kind."""
    tokenizer, languages = bundle.tokenizers.target, bundle.config.languages
    assert languages is not None
    if bundle.tokenizers.source is not tokenizer:
        raise InputError(f"{bundle.folder} cannot be exported to Hugging Face: M2M100 has one tokenizer for both sides")
    settings: dict[str, Any] = {
        "model_max_length": bundle.config.longest_source + 2,
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
    }
    names = list(languages.tokens.values())
    if all(map(NLLB_LANGUAGE.fullmatch, names)):
        _write_nllb(folder, tokenizer, settings)
        return
    pieces = tokenizer.pieces(range(len(tokenizer)))
    kind = next((kind for kind, codes in LANGUAGES.items() if [f"__{code}__" for code in codes] == names), None)
    if kind is None or tokenizer.sentencepiece is None or names[0] not in pieces:
        raise InputError(
            f"{bundle.folder} cannot be exported to Hugging Face: its tokenizer is neither M2M100's, with all its "
            "languages over a model of SentencePiece, nor NLLB's"
        )
    first = pieces.index(names[0])
    if pieces[first : first + len(names)] != names:
        raise InputError(f"{bundle.folder} cannot be exported to Hugging Face: its languages are numbered otherwise")
    (folder / SENTENCEPIECE_MODEL).write_bytes(tokenizer.sentencepiece)
    write_json(folder / VOCABULARY, {piece: number for number, piece in enumerate(pieces[:first])})
    made_up = len(pieces) - first - len(names)
    meant = {token.content for token in tokenizer.backend.get_added_tokens_decoder().values()}
    specific = {
        "tokenizer_class": "M2M100Tokenizer",
        "language_codes": kind,
        "num_madeup_words": made_up,
        "additional_special_tokens": [name for name in names if name in meant],
    }
    write_json(folder / TOKENIZER_CONFIG, settings | specific)


def _write_nllb(folder: Path, tokenizer: Tokenizer, settings: dict[str, Any]) -> None:
    tree = json.loads(tokenizer.backend.to_str())
    tree["added_tokens"] = [token for token in tree["added_tokens"] if not token["content"].startswith(HIDDEN)]
    (folder / TOKENIZER).write_text(json.dumps(tree, ensure_ascii=False, indent=2), encoding="utf-8")
    extra = [token["content"] for token in tree["added_tokens"] if NLLB_LANGUAGE.fullmatch(token["content"])]
    specific = {"tokenizer_class": "NllbTokenizer", "legacy_behaviour": False, "extra_special_tokens": extra}
    write_json(folder / TOKENIZER_CONFIG, settings | specific)
