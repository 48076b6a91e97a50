"""Turns text into token ids and back, by a Hugging Face tokenizer in one JSON file.

Special tokens and the 256 bytes are in the vocabulary but not registered as "special" with that library: it would find
`<pad>` in a user's text, and drop bytes when decoding.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from tokenizers import Encoding, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Backend

from docsegments.orthography.characters import INVISIBLE, without_invisible
from docsegments.orthography.words import words, words_between
from transduce.base.config import to_tree
from transduce.base.errors import CheckpointError
from transduce.text.detokenization import detokenize
from transduce.text.tokenizer_file import check_backend, read_backend
from transduce.text.tokenizer_settings import BOS, BREAK, EOS, PAD, SPECIALS, UNK, SpecialTokens

OTHER_NAMES = {PAD: ("[PAD]",), UNK: ("[UNK]",), BOS: ("<s>", "[BOS]", "[CLS]"), EOS: ("</s>", "[EOS]", "[SEP]")}
MASKS = ("<mask>", "[MASK]")
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPACE = "▁"  # how subwords write a space
ELSEWHERE, PAST_THE_END, HIDDEN = "\ufdd0", "\ufdd1", "\ufdd2"
"""Code points that no text has: the first stands before pieces of a shared vocabulary that serve the other language
alone, the second after the vocabulary's last piece, where pieces follow that it lacks, the third before pieces that
texts do not mean where they spell them."""
SENTENCEPIECE = ".spm"
"""The ending of a SentencePiece model beside the JSON that was made from it."""
ON_ONE_LINE = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " ")


@dataclass(frozen=True)
class Tokenizers:
    """The two sides' tokenizers, the same object where they share a vocabulary."""

    source: "Tokenizer"
    target: "Tokenizer"

    def with_marks(self, marks: Mapping[str, str]) -> "Tokenizers":
        """Returns the same tokenizers with tokens that mark texts, on both sides."""
        source = self.source.with_marks(marks)
        return Tokenizers(source, source if self.target is self.source else self.target.with_marks(marks))


class Tokenizer:
    """Encodes text to ids without special tokens, and decodes ids to normally spaced text."""

    def __init__(
        self,
        backend: Backend,
        special: SpecialTokens | None = None,
        sentencepiece: bytes | None = None,
        marks: Mapping[str, str] | None = None,
    ) -> None:
        self.backend = backend
        self.sentencepiece = sentencepiece
        """The SentencePiece model that it was made from, which exports return."""
        self.named = special
        """The names of its special tokens, if a text that spells one means it; None if no text does."""
        backend.no_truncation()  # a file that is brought may cut and pad in silence,
        backend.no_padding()
        backend.encode_special_tokens = special is None  # and take a text that spells "[CLS]" for the token
        names = SPECIALS if special is None else (special.pad, special.unknown, special.bos, special.eos)
        self.pad, self.unknown, self.bos, self.eos = (_special_id(backend, name) for name in names)
        mask_names = MASKS if special is None else [special.mask] if special.mask is not None else []
        masks = (backend.token_to_id(name) for name in mask_names)
        self.mask: int | None = next((token for token in masks if token is not None), None)
        """The token that hides another; None for a tokenizer without one."""
        self.marks = {mark: _special_id(backend, name) for mark, name in (marks or {}).items()}
        """The tokens that mark texts: of languages, by their codes, in a model of several directions; BREAK in one that
        reads context."""
        self._specials = {self.pad, self.bos, self.eos, *self.marks.values()}
        self._not_in_texts = self._specials if special is None else set()
        vocabulary = backend.get_vocab()
        self._size = vocabulary.get(PAST_THE_END, 1 + max(vocabulary.values()))  # a file may leave out some ids
        self._has_more = PAST_THE_END in vocabulary
        self._elsewhere = {piece[1:]: token for piece, token in vocabulary.items() if piece.startswith(ELSEWHERE)}
        byte_ids = [token for piece in BYTES if (token := _id_of(backend, piece)) is not None]
        self._bytes = byte_ids if len(byte_ids) == len(BYTES) else None
        self._byte_of = {token: byte for byte, token in enumerate(self._bytes or ())}
        self.joins_words = isinstance(backend.model, models.WordLevel)
        """True if the spacing of tokens depends on those beside them."""
        self._spaces_all = isinstance(backend.pre_tokenizer, pre_tokenizers.WhitespaceSplit)
        self.newline_is_text = special is not None and isinstance(backend.decoder, decoders.ByteLevel)
        """True if a line of running text ends with a newline, a character like any other, and the end token ends all of
        a text; else the end token ends each line."""

    def __len__(self) -> int:
        return self._size

    def encode(self, text: str) -> list[int]:
        """Returns the ids of the text's tokens; none for a blank text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each text's tokens; UnicodeEncodeError for one that UTF-8 cannot encode."""
        return self._encode([self._known(text) for text in texts])

    def _known(self, text: str) -> str:
        """Returns the text without invisible characters, if the vocabulary lacks these: they would make words
        unknown."""
        if text.isascii() or self._knows_invisible or not (INVISIBLE & set(text)):
            return text
        return without_invisible(text)

    @cached_property
    def _knows_invisible(self) -> bool:
        """True if the vocabulary has characters that cannot be seen, or keeps texts as they are, blanks included, or if
        a model of SentencePiece says itself what becomes of them, which engines that read it do too."""
        if self.sentencepiece is not None and self.named is None:
            return True
        normalizer = self.backend.normalizer
        if normalizer is None or normalizer.normalize_str("a  b") == "a  b":
            return True
        spells_all = self._bytes is not None and normalizer.normalize_str("\u200b") != ""
        return spells_all or any(INVISIBLE & set(piece) for piece in self.backend.get_vocab())

    @cached_property
    def has_letters(self) -> bool:
        """True if the vocabulary spells letters, unlike one of numbers or signs alone."""
        pieces = self.backend.get_vocab().keys() - set(BYTES)
        of_texts = [piece for piece in pieces if not (piece[:1] in "<[" and piece[-1:] in ">]")]
        return not of_texts or any(any(map(str.isalpha, piece)) for piece in of_texts)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            encodings = self.backend.encode_batch(list(texts), add_special_tokens=False)
        except TypeError:  # of which the library says something else
            for text in texts:
                text.encode()
            raise
        return [self._ids(encoding, text) for encoding, text in zip(encodings, texts, strict=True)]

    def encode_with_places(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Returns the ids of each text's tokens, and the span of characters of each token.

        Of a character that is spelled in several bytes, each byte's token has the span of the whole. Accents and other
        marks that tokens leave out belong to their letters.
        """
        encoded = []
        all_ids = self._encode(texts)
        encodings = self.backend.encode_batch(list(texts), add_special_tokens=False)
        for text, encoding, ids in zip(texts, encodings, all_ids, strict=True):
            spans: list[tuple[int, int]] = []
            if len(ids) == len(encoding.ids):
                spans = list(encoding.offsets)
            else:
                for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
                    is_spelled = token == self.unknown or token in self._not_in_texts
                    spans += [(start, end)] * (len(text[start:end].encode()) if is_spelled else 1)
                spans = spans[: len(ids)] + [spans[-1]] * (len(ids) - len(spans))
            encoded.append((ids, _with_marks(text, spans)))
        return encoded

    def words_of(self, text: str) -> list[range]:
        """Returns the numbers of the words that each token of a text belongs to, see `orthography.words`: nearly always
        one, but several in scripts without spaces."""
        text = self._known(text)
        encoding = self.backend.encode(text, add_special_tokens=False)
        if len(encoding.ids) != len(self.encode(text)):  # some are spelled in bytes, of the text as it is normalised
            text = self._normal(text)
            encoding = self.backend.encode(text, add_special_tokens=False)
        starts = [start for start, _ in words(text)]
        ranges: list[range] = []
        bytes_of: tuple[int, int] | None = None  # a span of which each byte is a token
        offsets_of_bytes: Iterator[int] = iter(())
        for token, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True):
            if (start, stop) != bytes_of:
                bytes_of = (start, stop)
                offsets_of_bytes = (offset for offset in range(start, stop) for _ in text[offset].encode())
            if token in self._byte_of and stop - start > 1:
                ranges.append(words_between(starts, (offset := next(offsets_of_bytes, stop - 1)), offset + 1))
                continue
            is_spelled = self._bytes is not None and (token == self.unknown or token in self._not_in_texts)
            if is_spelled:
                for offset in range(start, stop):
                    ranges += [words_between(starts, offset, offset + 1)] * len(text[offset].encode())
            else:
                start += len(text[start:stop]) - len(text[start:stop].lstrip())
                ranges.append(words_between(starts, min(start, max(stop - 1, 0)), stop))
        return ranges

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Returns the tokens as the vocabulary spells them."""
        return [(self.backend.id_to_token(token) or "").lstrip(ELSEWHERE + HIDDEN) for token in ids]

    @property
    def bytes_of_characters(self) -> dict[int, bytes]:
        """The bytes of tokens that spell parts of characters."""
        return {token: bytes([byte]) for token, byte in self._byte_of.items()}

    def normal(self, text: str) -> str:
        """Returns a text as the tokenizer normalises it, with single spaces, none around it."""
        return " ".join(self._normal(self._known(text)).replace(SPACE, " ").split())

    def decode(self, ids: Iterable[int], on_one_line: bool = True) -> str:
        """Returns normal text: special tokens go, unknown ones read <unk>, bytes that are not UTF-8 read U+FFFD; on one
        line, line ends, tabs and control characters, which bytes may spell, are spaces."""
        kept = self._with_whole_characters([i for i in ids if i not in self._specials])
        if self.joins_words:
            text = (" ".join if self._spaces_all else detokenize)(self.pieces(kept))
        else:
            text = str(self.backend.decode(kept, skip_special_tokens=False))
        if self.unknown in kept:
            text = text.replace(self.pieces([self.unknown])[0], UNK)
        return text.translate(ON_ONE_LINE) if on_one_line and not text.isprintable() else text

    @property
    def end_text(self) -> str:
        """The text of the end token in running text."""
        return self.pieces([self.eos])[0] if self.newline_is_text else "\n"

    @cached_property
    def line_ends(self) -> list[int]:
        """The number of lines of running text that each token of the vocabulary ends."""
        if not self.newline_is_text:
            return [int(token == self.eos) for token in range(len(self))]
        return [self.decode([token], on_one_line=False).count("\n") for token in range(len(self))]

    def save(self, path: Path) -> None:
        """Writes the tokenizer's JSON, and beside it the SentencePiece model that it was made from."""
        path.write_text(self.backend.to_str(pretty=True), encoding="utf-8")
        if self.sentencepiece is not None:
            path.with_suffix(SENTENCEPIECE).write_bytes(self.sentencepiece)

    def with_marks(self, marks: Mapping[str, str]) -> "Tokenizer":
        """Returns the same tokenizer with tokens that mark texts, which are added at the end if it lacks them."""
        return Tokenizer(Backend.from_str(self.backend.to_str()), self.named, self.sentencepiece, marks)

    def in_context(self, ids: list[int], before: Sequence[list[int]], longest: int) -> list[int]:
        """Returns the ids of a source after those of the sentences before it, each with a break: as many of the nearest
        as have `longest` tokens at most, itself included."""
        for sentence in reversed(before):
            if len(sentence) + 1 + len(ids) > longest:
                break
            ids = [*sentence, self.marks[BREAK], *ids] if sentence else ids
        return ids

    def without_context(self, ids: Sequence[int]) -> Sequence[int]:
        """Returns the ids of a source after the last break: the sentence that is translated."""
        mark = self.marks.get(BREAK)
        return next((ids[i + 1 :] for i in range(len(ids) - 1, -1, -1) if ids[i] == mark), ids)

    @staticmethod
    def load(path: Path, special: SpecialTokens | None = None, marks: Mapping[str, str] | None = None) -> "Tokenizer":
        """Reads a tokenizer's JSON; special tokens that it lacks are added, unless `special` names them.

        Raises CheckpointError for a file that is none, has ids far apart, cannot encode any text, or lacks a special
        token or one that marks texts.
        """
        backend = read_backend(path)
        check_special(backend.token_to_id, special, path)
        for name in (marks or {}).values():
            if _id_of(backend, name) is None:
                raise CheckpointError(f"{path}: it has no token {name!r}, which marks texts")
        original = path.with_suffix(SENTENCEPIECE)
        tokenizer = Tokenizer(backend, special, original.read_bytes() if original.is_file() else None, marks)
        check_backend(tokenizer.backend, path)
        return tokenizer

    def with_backend(self, backend: Backend, marks: Mapping[str, str] | None = None) -> "Tokenizer":
        """Returns a tokenizer with the same special tokens by another backend, and tokens that mark texts (default: its
        own)."""
        if marks is None:
            marks = dict(zip(self.marks, self.pieces(self.marks.values()), strict=True))
        return Tokenizer(backend, self.named, marks=marks)

    @property
    def content(self) -> str:
        """A hash that changes when the tokenizer does."""
        named = "" if self.named is None else repr(self.named)
        return hashlib.sha256((self.backend.to_str() + named).encode()).hexdigest()

    def _with_whole_characters(self, ids: list[int]) -> list[int]:
        """Returns the same ids, but bytes that are not UTF-8 replaced: the library would replace valid ones too."""
        if self._bytes is None or not self._byte_of.keys() & set(ids):
            return ids
        whole: list[int] = []
        for is_byte, run in groupby(ids, key=self._byte_of.__contains__):
            if is_byte:
                text = bytes(self._byte_of[token] for token in run).decode(errors="replace")
                whole += [self._bytes[byte] for byte in text.encode()]
            else:
                whole += run
        return whole

    def _ids(self, encoding: Encoding, text: str) -> list[int]:
        ids: list[int] = encoding.ids
        if self._elsewhere and self.unknown in ids:
            ids = [
                self._elsewhere.get(piece, token) if token == self.unknown else token
                for piece, token in self._unknown_pieces(encoding, text)
            ]
        if self._has_more:
            ids = [token if token < self._size else self.unknown for token in ids]
        if self._bytes is None or not (self.unknown in ids or self._not_in_texts.intersection(ids)):
            return ids
        if self.backend.normalizer is not None:  # offsets are those of the text as it was, but normal text is wanted
            text = self._normal(text)
            encoding = self.backend.encode(text, add_special_tokens=False)
        result = []
        for token, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True):
            is_spelled = token == self.unknown or token in self._not_in_texts  # the latter: "<pad>" in a text
            result += [self._bytes[byte] for byte in text[start:stop].encode()] if is_spelled else [token]
        return result

    def _unknown_pieces(self, encoding: Encoding, text: str) -> list[tuple[str, int]]:
        """Returns each token with its piece, as the text spells it if it is unknown."""
        pieces: list[str] = encoding.tokens
        if isinstance(self.backend.model, models.BPE):  # which only says that it is unknown
            text = self._normal(text)
            encoding = self.backend.encode(text, add_special_tokens=False)
            pieces = [text[start:stop].replace(" ", SPACE) for start, stop in encoding.offsets]
        return list(zip(pieces, encoding.ids, strict=True))

    def _normal(self, text: str) -> str:
        """Returns the text after normalisation, without a leading space that encoding it again would double."""
        normalizer = self.backend.normalizer
        if normalizer is None:
            return text
        normal: str = normalizer.normalize_str(text)
        return normal[1:] if normalizer.normalize_str(normal) == f" {normal}" else normal


def check_special(id_of: Callable[[str], int | None], special: SpecialTokens | None, path: Path) -> None:
    """Raises CheckpointError for a file that lacks a token that is to serve as a special one."""
    for role, name in ({} if special is None else to_tree(special)).items():
        if id_of(name) is None:
            raise CheckpointError(f"{path}: it has no token {name!r} to serve as {role}")


def _with_marks(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the spans of tokens, each with the combining marks after it, which normalisation may have left out."""
    starts = [*(start for start, _ in spans[1:]), len(text)][: len(spans)]
    extended = []
    for (start, end), after in zip(spans, starts, strict=True):
        while end < after and unicodedata.combining(text[end]):
            end += 1
        extended.append((start, end))
    return extended


def _id_of(backend: Backend, piece: str) -> int | None:
    token: int | None = backend.token_to_id(piece)
    return backend.token_to_id(HIDDEN + piece) if token is None else token


def _special_id(backend: Backend, name: str) -> int:
    for candidate in (name, *OTHER_NAMES.get(name, ())):
        token = _id_of(backend, candidate)
        if token is not None:
            return token
    backend.add_special_tokens([name])
    return _special_id(backend, name)
