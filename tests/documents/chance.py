"""What a person reads of a message; and messages that are no text."""

import re
from collections import Counter

NO_TEXT = [
    "home.title",
    "snake_case",
    "#ff00aa",
    "https://a.example/?b=c",
    "camelCase",
    "dd.MM.yyyy",
    ":day",
    "12px",
    "-",
]
_TAG = re.compile("<[^<>]+>")


def said(text: str) -> str:
    """What a person reads of a message."""
    return _TAG.sub(" ", text)


def tags(text: str) -> Counter[str]:
    """The tags of a message."""
    return Counter(_TAG.findall(text))
