"""YAML: every message is translated, and nothing else changes."""

import io
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from docsegments.document import Languages
from docsegments.document_formats import read_document
from documents.chance import said, tags
from documents.theorem import in_capitals

yaml = pytest.importorskip("ruamel.yaml")
pytest.importorskip("yaml")


class Writer:
    """Writes YAML by chance, in all its styles."""

    def __init__(self, random: Random, plain: Callable[[], str], message: Callable[[tuple[str, ...]], str]) -> None:
        self.random, self.plain, self.message = random, plain, message
        self.anchors = self.keys = 0

    def document(self) -> bytes:
        text = self.mapping(0, 2)
        if self.random.random() < 0.3:
            text = f"%YAML 1.1\n---\n{text}...\n"
        if self.random.random() < 0.3:
            text = text.replace("\n", "\r\n")
        return text.encode(self.random.choice(["utf-8", "utf-8-sig", "utf-16"]))

    def mapping(self, indent: int, depth: int) -> str:
        return "".join(self.member(indent, depth) for _ in range(self.random.randint(1, 4)))

    def member(self, indent: int, depth: int) -> str:
        comment = self.random.choice(["", "", "# the dog: 'x'\n", "\n"])
        key = self.random.choice(["a", "the dog", "'it''s'", '"x: y"', "é", "one", "other"])
        self.keys += 1
        number = str(self.keys)
        key = f"{key[:-1]}{number}{key[-1]}" if key[-1] in "'\"" else key + number
        return comment + " " * indent + key + ":" + self.value(indent, depth)

    def value(self, indent: int, depth: int) -> str:
        kind = self.random.randint(0, 9)
        if kind == 0 and depth:
            return "\n" + self.mapping(indent + 2, depth - 1)
        if kind == 1 and depth:
            return "\n" + "".join(
                " " * indent + "-" + self.value(indent + 2, depth - 1) for _ in range(self.random.randint(1, 3))
            )
        if kind == 2:
            return " [" + ", ".join(self.flow() for _ in range(self.random.randint(0, 3))) + "]\n"
        if kind == 3:
            return " {" + ", ".join(f"k{n}: {self.flow()}" for n in range(self.random.randint(0, 3))) + "}\n"
        if kind == 4:
            return self.random.choice([" 5", " ~", "", " 2001-12-14", " 1e3", " true"]) + "\n"
        if kind in (5, 6):
            return self.block(indent + 2)
        if kind == 7 and self.random.random() < 0.5:
            return f" !!str {self.flow()}\n"
        if kind == 7:
            self.anchors += 1
            return f" &a{self.anchors} {self.flow()}\n"
        if kind == 8 and self.anchors:
            return f" *a{self.random.randint(1, self.anchors)}\n"
        return f" {self.plain_lines(indent + 2)}\n"

    def flow(self) -> str:
        text = self.message(())
        kind = self.random.randint(0, 3)
        if kind == 0:
            return json.dumps(text, ensure_ascii=False)
        if kind == 1:
            return "'" + text.replace("'", "''") + "'"
        if kind == 2:
            return json.dumps(self.message(("\n",)), ensure_ascii=False)
        return self.plain()

    def plain_lines(self, indent: int) -> str:
        if self.random.random() < 0.7:
            return self.plain() + self.random.choice(["", "  ", " # the dog"])
        return f"{self.plain()}\n{' ' * indent}{self.plain()}"

    def block(self, indent: int) -> str:
        sign = self.random.choice("|>") + self.random.choice(["", "", "-", "+", "2", "2-"])
        lines = []
        for number in range(self.random.randint(1, 4)):
            extra = "  " if number and self.random.random() < 0.2 else ""
            lines.append(" " * indent + extra + self.plain())
            lines += [""] * self.random.choice([0, 0, 0, 1, 2])
        return f" {sign}{self.random.choice(['', ' # the dog'])}\n" + "\n".join(lines) + "\n"


def parsed(data: bytes) -> Any:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = data.decode(encoding)
    loader = yaml.YAML()
    loader.preserve_quotes = True
    return loader.load(io.StringIO(text, newline="")), text


def leaves(found: Any, path: tuple[Any, ...] = ()) -> Any:
    if isinstance(found, dict):
        yield path, dict
        for number, (key, inner) in enumerate(found.items()):
            yield from leaves(inner, (*path, number, key))
    elif isinstance(found, list):
        yield path, list
        for number, inner in enumerate(found):
            yield from leaves(inner, (*path, number))
    elif isinstance(found, yaml.comments.TaggedScalar):
        yield path, str(found.value)
    else:
        yield path, found


def shown(data: bytes) -> list[str]:
    return [said(str(leaf)) for _, leaf in leaves(parsed(data)[0]) if isinstance(leaf, str)]


def skeleton(data: bytes) -> Any:
    found, text = parsed(data)
    kept = [(path, tags(str(leaf)) if isinstance(leaf, str) else leaf) for path, leaf in leaves(found)]
    comments = [line for line in text.splitlines() if line.startswith(("#", "%", "...", "---"))]
    return kept, comments, data[:2], text.count("# the dog"), len(re.findall(r"&a\d", text))


def test_a_language_that_is_the_first_key_becomes_the_target_language() -> None:
    data = b"# the dog\nen-GB: # x\n  a: the dog\n  order: [':day', \"%d.%m.%Y\"]\n"
    wanted = b"# the dog\nde: # x\n  a: THE DOG\n  order: [':day', \"%d.%m.%Y\"]\n"
    assert in_capitals(data, "en.yml").data == wanted
    assert in_capitals(b"en:\n", "en.yml").data == b"en:\n"


def test_aliases_are_translated_once_and_never_expanded() -> None:
    bomb = "a0: &a0 the dog\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    translated = in_capitals(bomb.encode(), "a.yml")
    assert translated.data.decode() == bomb.replace("the dog", "THE DOG")
    assert len(translated.segments) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: the dog", "a: THE DOG"),
        ("a: no way", "a: NO WAY"),
        ("a: nO 'o'", "a: NO 'O'"),
        ("a: the 'dog'", "a: THE 'DOG'"),
        ("a: 'the: dog'", "a: 'THE: DOG'"),
        ('a: "the \\t dog\\n"', 'a: "THE \\t DOG\\n"'),
        ("a: |2-\n   the dog\n  runs", 'a: " THE DOG\\nRUNS"'),
        ("a: |\n  the\n   dog # x\n\n# y\n", "a: |\n  THE\n   DOG # X\n\n# y\n"),
        ("a: >-\n  the dog\n  runs now\n\n  and sings\nb: 1", "a: >-\n  THE DOG\n  RUNS NOW\n\n  AND SINGS\nb: 1"),
        ("a: the dog\n  runs # x", "a: THE DOG RUNS # x"),
        ("a: \"the dog\n  runs\"", 'a: "THE DOG RUNS"'),
        ("[the dog, {a: b c}]", "[THE DOG, {a: B C}]"),
    ],
)  # fmt: skip
def test_styles_are_kept(before: str, after: str) -> None:
    assert in_capitals(before.encode(), "a.yaml").data.decode() == after


def test_what_would_be_read_as_another_value_is_put_in_quotation_marks() -> None:
    document = read_document(b"a: nein\nb: eins: zwei\n".replace(b": zwei", b""), "a.yaml", Languages("de", "en"))
    texts = iter(["no", "one: two"])
    units = [unit.write(unit.source.__class__((next(texts),))) for unit in document.units]
    assert document.save([edit for edits in units for edit in edits]) == b"a: 'no'\nb: 'one: two'\n"


def test_yes_and_no_are_named() -> None:
    told = [one for one in in_capitals(b"a: Yes\nb: the dog\n", "a.yaml").segments if one.origin == "untranslated"]
    assert [(one.source, one.where) for one in told] == [("Yes", "line 1")]
