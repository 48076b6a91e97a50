"""TMX: every unit has its text in the other language, with all its codes, and nothing else changes."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

etree = pytest.importorskip("lxml.etree")

CODES = {"bpt", "ept", "it", "ph", "ut"}
LANG = "{http://www.w3.org/XML/1998/namespace}lang"


class Writer:
    """Writes translation memories by chance."""

    def __init__(self, random: Random, words: Callable[[], str]) -> None:
        self.random, self.words = random, words
        self.number = 0

    def content(self, depth: int = 2) -> str:
        return self.words() + "".join(
            self.words() if self.random.random() < 0.6 else self.inline(depth) for _ in range(self.random.randint(0, 3))
        )

    def inline(self, depth: int) -> str:
        self.number += 1
        n = self.number
        codes: list[Callable[[], str]] = [
            lambda: f'<ph x="{n}">&lt;br/&gt;</ph>',
            lambda: f'<ph x="{n}">&lt;img alt="<sub>{self.words()}<hi>two</hi></sub>" title="<sub>x</sub>"&gt;</ph>',
            lambda: f'<it x="{n}" pos="begin">[i]</it>',
            lambda: f'<ut x="{n}">{{code}}</ut>',
            lambda: f'<x id="{n}"/>',
            lambda: "<!-- a comment --><?a b?>",
        ]
        pairs: list[Callable[[], str]] = [
            lambda: f'<bpt i="{n}">&lt;b&gt;</bpt>{self.content(depth - 1)}<ept i="{n}">&lt;/b&gt;</ept>',
            lambda: f'<hi type="x">{self.content(depth - 1)}</hi>',
            lambda: f'<g id="{n}">{self.content(depth - 1)}</g>',
            lambda: f"<b>{self.content(depth - 1)}</b>",
            lambda: f'<bpt i="{n}">&lt;a title="<sub>{self.words()}</sub>"&gt;</bpt>{self.words()}<ept i="{n}">a</ept>',
        ]
        return self.random.choice([*codes, *(pairs if depth > 0 else [])])()

    def unit(self) -> str:
        variants = [("en", self.content()), ("fr", "le chien")]
        variants += self.random.choice([[], [("de-AT", "HUND")], [("de", " ")]])
        if self.random.random() < 0.1:
            variants = [("fr", "le chien")]
        self.random.shuffle(variants)
        prefix, n = self.random.choice(["xml:lang", "xml:lang", "lang"]), self.random.randint(1, 9)
        texts = "".join(f'\n  <tuv {prefix}="{code}"><seg>{text}</seg></tuv>' for code, text in variants)
        return f'<tu tuid="{n}"><note>the dog</note><prop type="a">the dog</prop>{texts}</tu>'

    def document(self) -> bytes:
        units = "\n".join(self.unit() for _ in range(self.random.randint(1, 3)))
        whole = f'<tu><tuv xml:lang="en"><seg>the dog</seg></tuv></tu>{units}'
        text = (
            '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header srclang="en"><note>the dog</note></header>'
            f"<body>{whole}</body></tmx>"
        )
        return text.replace("\n", self.random.choice(["\n", "\r\n"])).encode(self.random.choice(["utf-8", "utf-16"]))


def texts_of(element: Any) -> str:
    """What an element says, without codes but with the texts in them."""
    is_code = not isinstance(element.tag, str) or element.tag in CODES
    said = " " if is_code else element.text or ""
    for child in element:
        said += texts_of(child) + ("" if is_code else child.tail or "")
    return said


def variant(unit: Any, language: str) -> Any:
    """The <seg> of a unit in a language, with or without a region; None if it has none."""
    for one in unit.iter("tuv"):
        if (one.get(LANG) or one.get("lang")).split("-")[0] == language and texts_of(one).strip():
            return one.find("seg")
    return None


def shown(data: bytes) -> list[str]:
    """Each unit in the target language, or else in the source language, or else in any."""
    found = []
    for unit in etree.fromstring(data).iter("tu"):
        segments = [variant(unit, language) for language in ("de", "en", "fr")]
        found.append(texts_of(next(one for one in segments if one is not None)))
    return found


def counts(element: Any) -> Counter[Any]:
    return Counter((one.tag, tuple(one.attrib.items())) for one in element.iter() if one is not element)


def skeleton(data: bytes) -> Any:
    """All but texts in the target language, in which are the same codes as in the source's."""
    root = etree.fromstring(data)
    inside = []
    for unit in root.iter("tu"):
        source, target = variant(unit, "en"), variant(unit, "de")
        if source is not None and (target is None or texts_of(target) != "HUND"):
            inside.append(counts(source if target is None else target))
        for one in list(unit.iter("tuv")):
            if (one.get(LANG) or one.get("lang")).startswith("de"):
                unit.remove(one)
            one.tail = ""
    return inside, etree.tostring(root, method="c14n")
