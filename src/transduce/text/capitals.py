"""Texts in capitals alone, and how they are usually written."""

import re

from transduce.text.tokenizer import Tokenizer

WORD = re.compile(r"[^\W\d_]+")


def in_usual_case(text: str, tokenizer: Tokenizer) -> str:
    """Returns a text in capitals as it is usually written.

    Each word is in lower case, or has a first capital if that takes fewer tokens: a vocabulary of words or subwords
    holds the frequent spelling. The first word has a capital.
    """

    def cost(spelled: str) -> tuple[int, int]:
        ids = tokenizer.encode(spelled)
        return ids.count(tokenizer.unknown), len(ids)

    first, *others = [*WORD.findall(text), ""]
    usual = iter([first.capitalize(), *(min(word.lower(), word.capitalize(), key=cost) for word in others)])
    return WORD.sub(lambda _: next(usual), text)
