"""What a tokenizer's normalisation does to text, by examples."""

from transduce.text.tokenizer import Tokenizer

EXAMPLES = ("Cafe\u0301", "ÉCOLE", "ﬁn", "½", "Ｆｕｌｌ", "5\u00a0km", "two  spaces", "to-day;", "O’Neill", "ｶﾞ")
"""Letters apart from their accents, capitals, ligatures, fractions, full-width letters, spaces, marks."""


def normalization_examples(tokenizer: Tokenizer) -> dict[str, str]:
    """Of the examples those that normalisation changes, and what becomes of each."""
    normalizer = tokenizer.backend.normalizer
    if normalizer is None:
        return {}
    found = {text: normalizer.normalize_str(text).strip() for text in EXAMPLES}
    return {text: normal for text, normal in found.items() if normal != text}


def describe_normalization(examples: dict[str, str]) -> str:
    """The same on one line; what one cannot see is spelled by its code."""
    return ", ".join(f"{_visible(text)} becomes {_visible(normal)}" for text, normal in examples.items())


def _visible(text: str) -> str:
    """A text in quotes, with combining marks and odd spaces as \\u0301 and the like."""
    shown = "".join(
        character if character.isalnum() or character.isascii() or character in "’½" else ascii(character)[1:-1]
        for character in text
    )
    return f'"{shown}"'
