"""Android's strings.xml: every message is translated, and nothing else changes."""

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from docsegments.document import Languages
from docsegments.document_formats import read_document
from documents.chance import NO_TEXT
from documents.theorem import in_capitals

etree = pytest.importorskip("lxml.etree")

XLIFF = "urn:oasis:names:tc:xliff:document:1.2"
TEXTS = ("string", "item")


class Writer:
    """Writes resources by chance."""

    def __init__(self, random: Random, text: Callable[..., str]) -> None:
        self.random, self.text = random, text
        self.number = 0

    def content(self, depth: int = 2) -> str:
        kind = self.random.randint(0, 11)
        if kind == 0 or not depth:
            return self.text()
        if kind == 1:
            return f'{self.text()} <xliff:g id="x" example="the dog">%s</xliff:g> {self.content(depth - 1)}'
        if kind == 2:
            return f"<![CDATA[<b>{self.text(is_cdata=True)}</b> {self.text(is_cdata=True)}]]>"
        if kind == 3:
            return f'"{self.text(is_quoted=True)}"'
        if kind == 4:
            return f"{self.text()}<!-- the dog -->{self.text()}"
        if kind == 5:
            return self.random.choice(["@string/the_dog", "?attr/the_dog", "\\@dog", "\\?the dog", "", " ", *NO_TEXT])
        if kind == 6:
            return f"{self.text()} <![CDATA[& <i>{self.text(is_cdata=True)}</i>]]>"
        if kind == 7:
            return f"{self.text()} &lt;b>{self.text()}&lt;/b>"
        tag = self.random.choice(["b", "i", 'font color="red"', 'annotation font="the_dog"'])
        return f"{self.text()} <{tag}>{self.content(depth - 1)}</{tag.split()[0]}> {self.text()}"

    def resource(self) -> str:
        self.number += 1
        name = f'name="m{self.number}"'
        kind = self.random.randint(0, 6)
        if kind == 0:
            return f'<string {name} translatable="false">the dog</string>'
        if kind == 1:
            items = "".join(f"\n    <item>{self.content()}</item>" for _ in range(self.random.randint(0, 3)))
            return f"<string-array {name}>{items}</string-array>"
        if kind == 2:
            forms = "".join(f'<item quantity="{form}">{self.content()}</item>' for form in ("one", "other"))
            return f"<plurals {name}>{forms}</plurals>"
        if kind == 3:
            return self.random.choice([f"<color {name}>#ff0000</color>", f"<string {name}/>", "<!-- the dog -->"])
        return f"<string {name}>{self.content()}</string>"

    def document(self) -> bytes:
        rows = "\n  ".join(self.resource() for _ in range(self.random.randint(1, 5)))
        text = f'<?xml version="1.0"?>\n<resources xmlns:xliff="{XLIFF}">\n  {rows}\n</resources>\n'
        return text.encode(self.random.choice(["utf-8", "utf-8-sig", "utf-16"]))


def shown(data: bytes) -> list[str]:
    texts = []
    for element in etree.fromstring(data).iter(*TEXTS):
        if element.get("translatable") != "false":
            texts.append(android("".join(element.xpath(".//text()"))))
    return texts


def android(text: str) -> str:
    """What Android makes of a text, but for white space; and without the tags in it."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    if re.fullmatch(r"\s*[@?]\w+/\w+\s*", text):
        return ""
    text = re.sub(r"\\[nt]", " ", text)
    text = re.sub(r"(?<!\\)\"", "", text.replace("\\\\", "\0")).replace("\\", "").replace("\0", "\\")
    return re.sub("<[^<>]+>", " ", text)


def skeleton(data: bytes) -> Any:
    found = []
    inner: Counter[Any] = Counter()
    for element in etree.fromstring(data).iter():
        name = element.tag if isinstance(element.tag, str) else "comment"
        attributes = tuple(sorted(element.attrib.items()))
        around = [str(one.tag) for one in element.iterancestors()]
        if any(tag in TEXTS for tag in around):
            text = element.text if name.endswith("}g") or name == "comment" else ""
            inner[next(one.get("name") for one in element.iterancestors("string", "plurals", "string-array")), name,
                  attributes, text] += 1  # fmt: skip
        else:
            text = element.text if name not in TEXTS or element.get("translatable") == "false" else ""
            found.append((name, attributes, around, text))
    return found, inner, data[:2]


def translated(content: str) -> str:
    data = f'<resources xmlns:xliff="{XLIFF}"><string name="a">{content}</string></resources>'
    found = re.search(r'name="a">(.*)</string>', in_capitals(data.encode(), "a.xml").data.decode(), re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("it\\'s <b>a</b> dog\\n%1$s", "IT\\'S <b>A</b> DOG\\n%1$s"),
        ("<![CDATA[<b>a</b> & dog]]>", "<![CDATA[<b>A</b> & DOG]]>"),
        ('"it\'s  a dog"', '"IT\\\'S  A DOG"'),
        ("\n   a dog\n   runs\n  ", "\n   A DOG\n   RUNS\n  "),
        ("\\@ a dog", "\\@ A DOG"),
        ("@string/a", "@string/a"),
        ("a &lt;dog&amp;", "A &lt;DOG&amp;"),
        ("a\\u00a0dog", "A\\u00a0DOG"),
        ("a <xliff:g id='n'>dog</xliff:g> runs", "A <xliff:g id='n'>dog</xliff:g> RUNS"),
    ],
)
def test_what_is_written(before: str, after: str) -> None:
    assert translated(before) == after


def test_messages_have_names() -> None:
    data = (
        b"<resources><string name='a'>x y</string><string-array name='b'><item>p</item><item>q</item></string-array>"
        b"<plurals name='c'><item quantity='one'>a dog</item><item quantity='other'>dogs</item></plurals></resources>"
    )
    units = read_document(data, "a.xml", Languages("en", "pl")).units
    assert [unit.id for unit in units] == ["a", "b[0]", "b[1]", "c.one", "c.other"]
    assert units[-1].notes == ("pl has further plural forms, which the file lacks: few, many",)
