"""Texts as words for phrases: punctuation apart, the first word in its usual case, and back."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Regex, pre_tokenizers

from docsegments.orthography.characters import UNSPACED
from transduce.text.detokenization import WORD_PATTERN, detokenize

_WORDS = pre_tokenizers.Split(Regex(WORD_PATTERN), behavior="removed", invert=True)
_BESIDE = re.compile(rf"(?<={UNSPACED.pattern}) ++|(?<=[^\w ]) ++(?={UNSPACED.pattern})")


def words_of(text: str) -> list[str]:
    """Returns the words of a text; each character of a script without spaces is one."""
    return [word for word, _ in _WORDS.pre_tokenize_str(UNSPACED.sub(r" \g<0> ", text))]


def text_of(words: Sequence[str]) -> str:
    """Returns the text of words as it is normally written."""
    return _BESIDE.sub("", detokenize(words))


def counted_within(sentences: Iterable[Sequence[str]]) -> Counter[str]:
    """Returns how often each word stands within sentences, where nothing asks for a capital letter."""
    return Counter(word for words in sentences for word in words[1:])


def usual_case(words: Sequence[str], within: Counter[str]) -> list[str]:
    """Returns the words of a sentence with a small first letter, if the first word is mostly written so elsewhere."""
    if not words:
        return []
    first, *others = words
    small = first[:1].lower() + first[1:]
    return [small if within[small] > within[first] else first, *others]


def with_capital(words: Sequence[str]) -> list[str]:
    """Returns the words of a sentence with a capital first letter."""
    return [words[0][:1].upper() + words[0][1:], *words[1:]] if words else []
