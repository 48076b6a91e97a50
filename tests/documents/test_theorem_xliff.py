"""XLIFF: every text to be translated is so, by segments and with its codes, and nothing else changes."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from documents.theorem import in_capitals

etree = pytest.importorskip("lxml.etree")

CODES = {"x", "bx", "ex", "bpt", "ept", "ph", "it", "cp", "sc", "ec", "sm", "em"}


class Writer:
    """Writes XLIFF files by chance."""

    def __init__(self, random: Random, words: Callable[[], str]) -> None:
        self.random, self.words = random, words
        self.number = 0

    def id(self) -> int:
        self.number += 1
        return self.number

    def inline(self, depth: int, version: int) -> str:
        n = self.id()

        def inner() -> str:
            return self.content(depth - 1, version)

        codes: list[Callable[[], str]] = [
            lambda: f'<x id="{n}" equiv-text="a"/>',
            lambda: f'<ph id="{n}">&lt;br/&gt;</ph>',
            lambda: f'<ph id="{n}">&lt;img alt="<sub>{self.words()}</sub>"/&gt;</ph>',
            lambda: f'<it id="{n}" pos="open">[i]</it>',
            lambda: "<!-- a comment --><?a b?>",
        ]
        pairs: list[Callable[[], str]] = [
            lambda: f'<g id="{n}">{inner()}</g>',
            lambda: f'<bpt id="{n}">&lt;b&gt;</bpt>{inner()}<ept id="{n}">&lt;/b&gt;</ept>',
            lambda: f'<bx id="{n}"/>{inner()}<ex id="{n}"/>',
            lambda: f'<mrk mtype="term">{inner()}</mrk>',
            lambda: f'<g id="{n}"/>',
        ]
        if version == 2:
            codes = [
                lambda: f'<ph id="{n}"/>',
                lambda: '<cp hex="0007"/>',
                lambda: "<!-- a comment -->",
                lambda: f'<mrk id="{n}" translate="no">KEPT</mrk> ',
            ]
            pairs = [
                lambda: f'<pc id="{n}">{inner()}</pc>',
                lambda: f'<sc id="{n}"/>{inner()}<ec startRef="{n}"/>',
                lambda: f'<mrk id="{n}" type="term">{inner()}</mrk>',
                lambda: f'<sm id="{n}" translate="no"/>NOT <pc id="9{n}">THIS</pc><em startRef="{n}"/> ',
                lambda: f'<mrk id="{n}" translate="no">NOT <mrk id="8{n}" translate="yes">{inner()}</mrk></mrk> ',
            ]
        return self.random.choice([*codes, *(pairs if depth > 0 else [])])()

    def content(self, depth: int, version: int) -> str:
        parts = (
            self.words() if self.random.random() < 0.6 else self.inline(depth, version)
            for _ in range(self.random.randint(1, 4))
        )
        return self.words() + "".join(parts)

    def unit(self) -> str:
        n, space = self.id(), self.random.choice(["", ' xml:space="preserve"'])
        source = self.content(2, 1)
        target = self.random.choice(
            ["", "", "<target/>", '<target state="new">old words</target>', '<target state="final">ALT</target>']
        )
        if self.random.random() < 0.4:
            target = self.random.choice(["", "<target/>"])
            segments = "".join(
                f'<mrk mtype="seg" mid="{m}">{self.content(1, 1)}</mrk>' + self.random.choice(["", " "])
                for m in range(self.random.randint(1, 3))
            )
            whole = self.random.choice([segments, '<g id="1">' + segments + "</g>"])
            target = f"<seg-source>{whole}</seg-source>{target}"
        return (
            f'<trans-unit id="{n}" approved="no">\n  <source{space}>{source}</source>{target}<note>the dog</note>\n'
            "</trans-unit>"
        )

    def document(self) -> bytes:
        rows = range(self.random.randint(1, 3))
        kept = '<trans-unit id="k" translate="no"><source>not this</source></trans-unit>'
        if self.random.random() < 0.6:
            body = "\n".join([*(self.unit() for _ in rows), kept])
            text = f'<xliff version="1.2"><file source-language="en" original="f"><body>{body}</body></file></xliff>'
        else:
            segments = "\n".join(
                f"<segment><source>{self.content(2, 2)}</source></segment>"
                + self.random.choice(["", "<ignorable><source> </source></ignorable>", "<ignorable><source>kept "
                                      "words</source></ignorable>"])
                for _ in rows
            )  # fmt: skip
            text = (
                '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de">'
                f'<file id="f"><unit id="u"><notes><note>the dog</note></notes>{segments}</unit></file></xliff>'
            )
        return text.replace("\n", self.random.choice(["\n", "\r\n"])).encode(self.random.choice(["utf-8", "utf-16"]))


def name_of(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else "comment"


def texts_of(element: Any) -> str:
    """What an element says, without codes but with the texts in them."""
    said = element.text or "" if name_of(element) not in {*CODES, "comment"} else " "
    for child in element:
        said += texts_of(child)
        said += child.tail or "" if name_of(element) not in CODES else ""
    return said


def pairs(root: Any) -> list[tuple[Any, Any]]:
    """Source and target of each text to be translated."""
    found = []
    for element in root.iter("{*}trans-unit", "{*}segment", "{*}ignorable"):
        if element.get("translate") != "no":
            source = element.find("{*}seg-source")
            source = element.find("{*}source") if source is None else source
            target = element.find("{*}target")
            has_target = target is not None and texts_of(target).strip() not in ("", "old words")
            found.append((source, target if has_target else None))
    return found


def shown(data: bytes) -> list[str]:
    found = []
    for source, target in pairs(etree.fromstring(data)):
        said = source if target is None else target
        segments = list(said.iter("{*}mrk"))
        segments = [one for one in segments if one.get("mtype") == "seg"]
        found += [texts_of(one) for one in segments or [said]]
    return found


def counts(element: Any) -> Counter[Any]:
    """Its elements, and the order of its segments."""
    inner = [one for one in element.iter() if one is not element]
    order = tuple(one.get("mid") for one in inner if one.get("mtype") == "seg")
    return Counter([(name_of(one), tuple(one.attrib.items())) for one in inner] + [order])


def skeleton(data: bytes) -> Any:
    """All but the targets, in which is the same as in the sources; and how many tabs and line ends are in each."""
    root = etree.fromstring(data)
    inside = []
    for source, target in pairs(root):
        said = source if target is None or target.get("state") == "final" else target
        inside.append((counts(said), source.get("xml:space")))
    for target in list(root.iter("{*}target")):
        target.getparent().remove(target)
    for element in root.iter("{*}source", "{*}seg-source"):
        element.tail = ""
    return inside, etree.tostring(root, method="c14n")


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [
        ('maxwidth="5" size-unit="char"', "has 7 characters, and the document allows 5"),
        ('maxwidth="7" size-unit="char"', None),
        ('maxwidth="90"', "may be no wider than 90 (pixel)"),
        ('maxwidth="9" size-unit="byte"', "may be no wider than 9 (byte)"),
    ],
)
def test_a_translation_that_may_be_too_long_is_named(limit: str, wanted: str | None) -> None:
    unit = f'<trans-unit id="1" {limit}><source>The dog</source></trans-unit>'
    file = f'<file source-language="en" target-language="de" datatype="x" original="a"><body>{unit}</body></file>'
    (one,) = in_capitals(f'<xliff version="1.2">{file}</xliff>'.encode(), "a.xlf").segments
    assert one.review == ((wanted,) if wanted else ())


def test_a_translation_that_may_be_too_long_is_named_in_xliff_2() -> None:
    unit = '<unit id="1" slr:sizeRestriction="5"><segment><source>The dog</source></segment></unit>'
    file = f'<xliff xmlns:slr="urn:s" version="2.0" srcLang="en" trgLang="de"><file id="f">{unit}</file></xliff>'
    (one,) = in_capitals(file.encode(), "a.xlf").segments
    assert one.review == ("has 7 characters, and the document allows 5",)
