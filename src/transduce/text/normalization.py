"""Shows by examples how a tokenizer normalises text."""

from transduce.text.tokenizer import Tokenizer

EXAMPLES = ("Cafe\u0301", "ÉCOLE", "ﬁn", "½", "Ｆｕｌｌ", "5\u00a0km", "two  spaces", "to-day;", "O’Neill", "ｶﾞ")
"""Examples: letters apart from their accents, capitals, ligatures, fractions, full-width letters, spaces, marks."""


def normalization_examples(tokenizer: Tokenizer) -> dict[str, str]:
    """Returns the examples that normalisation changes, each with its result."""
    normalizer = tokenizer.backend.normalizer
    if normalizer is None:
        return {}
    results = {text: normalizer.normalize_str(text).strip() for text in EXAMPLES}
    return {text: normal for text, normal in results.items() if normal != text}


def describe_normalization(examples: dict[str, str]) -> str:
    """Describes the examples on one line; invisible characters are spelled by their codes."""
    return ", ".join(f"{_visible(text)} becomes {_visible(normal)}" for text, normal in examples.items())


def _visible(text: str) -> str:
    """Returns a text in quotes, with combining marks and odd spaces as \\u0301 and the like."""
    shown = "".join(
        character if character.isalnum() or character.isascii() or character in "’½" else ascii(character)[1:-1]
        for character in text
    )
    return f'"{shown}"'
