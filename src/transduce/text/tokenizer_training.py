"""Trains tokenizers of every kind on text."""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Backend

from docsegments.orthography.characters import INVISIBLE
from transduce.base.errors import CheckpointError, ConfigError, DataError, InputError
from transduce.text.detokenization import WORD_PATTERN
from transduce.text.sentencepiece import LEADING_SPACE, MODELS, read_model
from transduce.text.sentencepiece_training import train_sentencepiece
from transduce.text.spread import Spread
from transduce.text.tokenizer import BYTES, SPACE, Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import (
    DEFAULT_SUBWORDS,
    SPECIALS,
    SUBWORDS,
    UNK,
    SideConfig,
    SpecialTokens,
    TokenizerConfig,
)

SPECIAL_WORDS = re.compile(rf"(?<!\S)(?:{'|'.join(map(re.escape, SPECIALS))})(?!\S)")
FIRST = len(SPECIALS) + len(BYTES)
LEARN_NOTHING = ("file", "bytes")
"""Kinds of tokenizers that are not made of the training text."""
BERT_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NEVER = -1e4  # log-probability of pieces that Unigram must not find in a text
LONG_WORD = re.compile(r"\S{500}(?=\S)")
"""The beginning of a word so long that it is learned in parts: merging takes time quadratic in a word's length."""
SPACE_IN_TEXT = "\ufffe"  # replaces a "▁" of the text itself: a noncharacter, which no text has


def train_tokenizers(
    config: TokenizerConfig,
    source: Iterable[str],
    target: Iterable[str],
    folder: Path = Path(),
    keep_spaces: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Tokenizers:
    """Trains on a sample of the training text of each side; tokenizer files are sought in the given folder."""
    source, target = (_sample(texts, config.sample, tell) for texts in (source, target))
    if config.is_shared:
        both = train_tokenizer(config, (text for side in (source, target) for text in side), folder, keep_spaces)
        return Tokenizers(both, both)
    return Tokenizers(
        train_tokenizer(config.of_source, source, folder),
        train_tokenizer(config.of_target, target, folder),
    )


def describe_sample(kept: int, count: int, unit: str) -> str:
    """Describes the part of the training text that tokenizers learn from."""
    return f"vocabulary: learned from {kept:,} {unit}, evenly spread over {count:,} (tokenizer.sample)"


def _sample(texts: Iterable[str], most: int, tell: Callable[[str], None]) -> Iterator[str]:
    """Yields texts that are evenly spread over all, at most this many; reads none before the first is asked for."""
    sample = Spread[str](most)
    sample.extend(texts)
    if sample.count > len(sample.items):
        tell(describe_sample(len(sample.items), sample.count, "texts"))
    yield from sample.items


def train_tokenizer(
    config: SideConfig, texts: Iterable[str], folder: Path = Path(), keep_spaces: bool = False
) -> Tokenizer:
    """Trains a tokenizer of the kind asked for, or reads the file that is named.

    White space becomes one space wherever there is some inside a text, and none around it, unless all is to be kept.
    """
    if config.file is not None:
        if config.size is not None or config.max_size is not None:
            name = "size" if config.size is not None else "max_size"
            raise ConfigError(f"tokenizer.{name}: {config.file} has a size of its own; leave it out")
        return _bring(folder / config.file, config.special)
    size = config.size or config.max_size or (DEFAULT_SUBWORDS if config.kind in SUBWORDS else None)
    least = {
        "words": 5,
        "whitespace": 5,
        "bert": len(BERT_SPECIALS) + 2,
        "bytes": FIRST,
        "sentencepiece": 5,
        "characters": FIRST + 1,
    }.get(config.kind, FIRST + 4)
    if size is not None and size < least:
        name = "size" if config.max_size is None else "max_size"
        raise ConfigError(
            f"tokenizer.{name} = {size} is too small for {config.kind}: beside {len(SPECIALS)} special tokens and "
            f"{len(BYTES)} bytes there must be room for text; set it to at least {least}"
        )
    if config.kind == "sentencepiece":
        return train_sentencepiece(config, texts, size or DEFAULT_SUBWORDS)
    match config.kind:
        case "bert":
            backend = _train_bert(config, texts, size or 0)
        case "bpe" | "wordpiece" | "unigram":
            backend = _train_subwords(config, texts, size or 0, keep_spaces)
        case "words" | "whitespace":
            backend = Backend(models.WordLevel(unk_token=UNK))
            of_words = pre_tokenizers.Split(Regex(WORD_PATTERN), behavior="removed", invert=True)
            backend.pre_tokenizer = of_words if config.kind == "words" else pre_tokenizers.WhitespaceSplit()
            backend.normalizer = _normalizer(config, keep_spaces)
            trainer = trainers.WordLevelTrainer(
                vocab_size=size or 2**31,
                min_frequency=config.min_frequency,
                show_progress=False,
                special_tokens=list(SPECIALS),
            )
            if config.kind == "whitespace":  # special tokens that the text spells would be numbered twice
                texts = (SPECIAL_WORDS.sub(" ", text) for text in texts)
            backend.train_from_iterator(texts, trainer)
            backend = _without_added_tokens(backend)
        case _:
            backend = _characters(config, texts, size, keep_spaces)
    vocabulary_size = backend.get_vocab_size()
    special = {"words": len(SPECIALS), "whitespace": len(SPECIALS), "bert": len(BERT_SPECIALS)}
    if vocabulary_size <= special.get(config.kind, FIRST) and config.kind != "bytes":
        raise DataError(
            "the training text is empty, or nothing in it is as frequent as tokenizer.min_frequency = "
            f"{config.min_frequency}: there is nothing to make a vocabulary of"
        )
    if config.size is not None and vocabulary_size < config.size:
        raise DataError(
            f"tokenizer.size = {config.size:,}, but the training text yields only {vocabulary_size:,} tokens "
            f"(min_frequency = {config.min_frequency}); set tokenizer.size to at most {vocabulary_size}"
        )
    return Tokenizer(backend)


def _train_subwords(config: SideConfig, texts: Iterable[str], size: int, keep_spaces: bool) -> Backend:
    if config.kind == "bpe":
        backend = Backend(models.BPE(unk_token=UNK, byte_fallback=True))
    elif config.kind == "wordpiece":
        backend = Backend(models.WordPiece(unk_token=UNK, max_input_chars_per_word=100))
    else:
        backend = Backend(models.Unigram())
    normal_text = [_normalizer(config, keep_spaces), normalizers.Replace(SPACE, SPACE_IN_TEXT)]
    backend.normalizer = normalizers.Sequence(normal_text)
    # A mark for each space makes decoding exact; punctuation never joins a word.
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(SPACE), pre_tokenizers.Punctuation()])
    without_prefix = [decoders.Replace(Regex("^##"), "")] if config.kind == "wordpiece" else []
    spaces = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    backend.decoder = decoders.Sequence([*without_prefix, *spaces, decoders.Replace(SPACE_IN_TEXT, SPACE)])
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as normal:  # texts may be read only once
        counts: Counter[str] = Counter()
        for text in texts:
            line = backend.normalizer.normalize_str(text)
            counts.update(line)
            normal.write(LONG_WORD.sub(r"\g<0> ", line) + "\n")
        del counts[" "]
        forms = 2 if config.kind == "wordpiece" else 1  # at the beginning of a word and within it
        alphabet = _by_frequency(counts)[: (size - FIRST - 2) // forms]  # beside the mark for a space, and one more
        normal.seek(0)
        lines = (line.removesuffix("\n") for line in normal)
        if len(alphabet) < len(counts):
            others = dict.fromkeys(map(ord, counts.keys() - set(alphabet)), " ")
            lines = (line.removesuffix("\n").translate(others) for line in normal)
        backend.train_from_iterator(lines, _subword_trainer(config, alphabet, size))
    if keep_spaces:  # the first of leading spaces is taken for the mark that every text begins with
        backend.normalizer = normalizers.Sequence([*normal_text, normalizers.Replace(LEADING_SPACE, "  ")])
    return _without_added_tokens(backend)


def _train_bert(config: SideConfig, texts: Iterable[str], size: int) -> Backend:
    """Trains WordPiece (Wu et al. 2016) on words between spaces and punctuation; may lower-case and drop accents."""
    backend = Backend(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(lowercase=config.lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as normal:  # texts may be read only once
        counts: Counter[str] = Counter()
        for text in texts:
            line = " ".join(backend.normalizer.normalize_str(text).split())
            counts.update(line)
            normal.write(LONG_WORD.sub(r"\g<0> ", line) + "\n")
        del counts[" "]
        alphabet = _by_frequency(counts)[: (size - len(BERT_SPECIALS)) // 2]
        others = dict.fromkeys(map(ord, counts.keys() - set(alphabet)), " ")
        normal.seek(0)
        lines = (line.removesuffix("\n").translate(others) for line in normal)
        # The library would number the characters as it meets them, which differs from run to run.
        first = [*BERT_SPECIALS, *sorted(alphabet), *(f"##{character}" for character in sorted(alphabet))]
        trainer = trainers.WordPieceTrainer(
            vocab_size=size, min_frequency=config.min_frequency, special_tokens=first, show_progress=False
        )
        backend.train_from_iterator(lines, trainer)
    backend = _without_added_tokens(backend)
    backend.post_processor = processors.BertProcessing(
        *((name, BERT_SPECIALS.index(name)) for name in ("[SEP]", "[CLS]"))
    )
    return backend


def _subword_trainer(config: SideConfig, alphabet: Sequence[str], size: int) -> trainers.Trainer:
    first = [*SPECIALS, *BYTES]
    common: dict[str, Any] = {"vocab_size": size, "show_progress": False}
    match config.kind:
        case "bpe":
            return trainers.BpeTrainer(min_frequency=config.min_frequency, special_tokens=first, **common)
        case "wordpiece":
            # The library would number these as it meets them, which differs from run to run.
            first += [f"##{character}" for character in sorted(alphabet)]
            return trainers.WordPieceTrainer(min_frequency=config.min_frequency, special_tokens=first, **common)
        case _:
            return trainers.UnigramTrainer(unk_token=UNK, special_tokens=first, **common)


def _without_added_tokens(backend: Backend) -> Backend:
    """Returns a backend whose special tokens and bytes are not sought in texts, nor dropped when decoding."""
    tree = json.loads(backend.to_str())
    tree["added_tokens"] = []
    model = tree["model"]
    if model["type"] == "Unigram":
        model["byte_fallback"] = True
        model["vocab"] = [[p, NEVER if i < FIRST else s] for i, (p, s) in enumerate(model["vocab"])]
    return Backend.from_str(json.dumps(tree))


def _characters(config: SideConfig, texts: Iterable[str], size: int | None, keep_spaces: bool) -> Backend:
    """Trains on characters, or bytes alone: BPE without merges."""
    normalizer = _normalizer(config, keep_spaces)
    vocabulary = [*SPECIALS, *BYTES]
    if config.kind == "characters":
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(normalizer.normalize_str(text))
        kept = [character for character in _by_frequency(counts) if counts[character] >= config.min_frequency]
        vocabulary += kept[: None if size is None else max(size - len(vocabulary), 0)]
    ids = {piece: i for i, piece in enumerate(vocabulary)}
    backend = Backend(models.BPE(vocab=ids, merges=[], unk_token=UNK, byte_fallback=True))
    backend.normalizer = normalizer
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    return backend


def _by_frequency(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda character: (-counts[character], character))


def _normalizer(config: SideConfig, keep_spaces: bool) -> normalizers.Normalizer:
    """Makes any white space or control character one space, so that tabs and line marks never enter a vocabulary,
    unless they are to be kept."""
    spaces = [normalizers.Replace(Regex(r"[\s\p{Z}\p{Cc}]+"), " "), normalizers.Strip()]
    unseen = "" if config.kind == "bytes" else f"[{''.join(sorted(INVISIBLE))}]+"  # bytes spell every character
    steps = [] if keep_spaces else [*([normalizers.Replace(Regex(unseen), "")] if unseen else []), *spaces]
    if config.normalize == "letters":
        without_accents = [normalizers.NFD(), normalizers.StripAccents(), normalizers.NFC()]
        steps = [*without_accents, normalizers.Replace(Regex(r"[^\p{L}.!?]+"), " "), *steps]
    elif config.normalize != "none":
        steps.insert(0, getattr(normalizers, config.normalize)())
    if config.folds_case:
        steps.append(normalizers.Lowercase())
    return normalizers.Sequence(steps)


def _bring(path: Path, special: SpecialTokens | None) -> Tokenizer:
    try:
        return (read_model if path.suffix in MODELS else Tokenizer.load)(path, special)
    except (CheckpointError, InputError) as error:
        raise ConfigError(f"tokenizer.file: {error}") from None
