"""Messages by chance, for files of messages; and what a person reads of one."""

import re
from collections import Counter
from random import Random
from typing import Any

WORDS = [
    "the", "dog", "sees", "a", "cat", "&", "men", "run,", "who", "sing.", "Now!", "it's", "über", "犬", "😀", '"so"',
    "back\\slash", "50", "x=y", "a:b", "#1", "- no", "yes", "that;", "(one)", "e.g.", "*", "|", "?", "~",
]  # fmt: skip
PLACEHOLDERS = ["%s", "%1$s", "{name}", "{{count}}", "%{name}", "%@", "$t(key)", "http://a.example/b", "{0}"]
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
PLURAL = ["{n, plural, =0 {", "} one {", "} other {", "} }"]
_TAG = re.compile("<[^<>]+>")


def words(random: Random, most: int = 5) -> str:
    """Some words, placeholders among them."""
    kinds = [*WORDS, *random.sample(PLACEHOLDERS, 2)]
    return " ".join(random.choices(kinds, k=random.randint(1, most)))


def message(random: Random, has_tags: bool = True, lines: tuple[str, ...] = ("\n",)) -> str:
    """A message as a program shows it: a text, with tags and lines, or something that is no text."""
    text = words(random)
    match random.randint(0, 12):
        case 0:
            return random.choice(NO_TEXT)
        case 1:
            return random.choice(["", " ", f" {text}", f"{text} ", f"  {text}"])
        case 2 if lines:
            return f"{text}{random.choice(lines)}{words(random)}{random.choice(['', *lines])}"
        case 3 | 4 if has_tags:
            return f"{text} <b>{words(random)}</b> {words(random)}<br/>{words(random, 2)}"
        case 5 if has_tags:
            return f'<a href="b?c=1">{text}</a> {words(random)} <strong><i>{words(random)}</i></strong>'
        case 6 if has_tags:
            return f"{text} <1>{words(random)}</1>"
    return text


def plural(random: Random) -> str:
    """A message of ICU with branches."""
    first, one, other, last = PLURAL
    texts = [" ".join(random.choices(WORDS[:11], k=3)) for _ in "abc"]
    return f"{first}{texts[0]}{one}{texts[1]}{other}{texts[2]}{last}"


def said(text: str) -> str:
    """What a person reads of a message."""
    for syntax in PLURAL:
        text = text.replace(syntax, " ")
    return _TAG.sub(" ", text)


def tags(text: str) -> Any:
    """The tags of a message, and how many pieces of a plural's syntax it has."""
    return Counter(_TAG.findall(text)), [text.count(syntax) for syntax in PLURAL]
