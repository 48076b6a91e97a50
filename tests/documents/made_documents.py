"""Documents of every format by chance, whose words are all known.

`MAKERS` has a function for each format.
"""

import csv
import io
import json
from collections.abc import Callable
from random import Random
from typing import Any
from xml.sax.saxutils import escape

from documents import (
    test_theorem_android,
    test_theorem_docx,
    test_theorem_odt,
    test_theorem_pptx,
    test_theorem_subtitles,
    test_theorem_tmx,
    test_theorem_xliff,
    test_theorem_xlsx,
    test_theorem_yaml,
)
from documents.made_pages import html_document, markdown_document
from documents.made_texts import ALONE, OWN, Chance, Made

BLANKS = [" "] * 9 + ["\n     ", "\t", "  ", "&#10;", "&#x9;"]
"""White space as XML writes it."""


def json_document(chance: Chance) -> Made:
    def value(depth: int) -> Any:
        if not depth or chance.maybe(0.6):
            return chance.message(lines=("\n", "\t")) if chance.maybe(0.9) else chance.pick(None, True, -1.5e3, [], {})
        return chance.pick(lambda: chance.several(lambda: value(depth - 1)), lambda: mapping(depth - 1))

    def mapping(depth: int) -> dict[str, Any]:
        return {chance.name(): value(depth) for _ in range(chance.random.randint(1, chance.most))}

    def written(found: Any) -> str:
        return json.dumps(found, indent=chance.pick(None, 2), ensure_ascii=chance.maybe(0.5))

    kind = chance.random.randint(0, 3)
    if kind == 0:  # of Chrome's extensions
        found: Any = {
            chance.name(): {
                "message": chance.message(),
                "description": chance.name(),
                "placeholders": {"a": {"content": "$1"}},
            }
            for _ in range(chance.most)
        }
    elif kind == 1:  # of FormatJS
        found = {
            chance.name(): {"defaultMessage": chance.message(), "description": chance.name()}
            for _ in range(chance.most)
        }
    else:
        found = mapping(2)
    return chance.made("a.json", written(found))


def arb_document(chance: Chance) -> Made:
    found: dict[str, Any] = {"@@x-locale": "en"}
    for _ in range(chance.most):
        found[name := chance.name()] = chance.message(tags=chance.maybe(0.3), blocks=False)
        found[f"@{name}"] = {"description": chance.name()}
    found[chance.name()] = f"{chance.phrase()} {chance.icu()} {chance.phrase()}"
    return chance.made("a.arb", json.dumps(found, indent=2, ensure_ascii=chance.maybe(0.5)))


def yaml_document(chance: Chance) -> Made:
    writer = test_theorem_yaml.Writer(chance.random, chance.phrase, lambda lines: chance.message(lines=lines))
    return chance.made("a.yaml", writer.document())


def properties_document(chance: Chance) -> Made:
    lines = []
    for _ in range(chance.most):
        text = chance.message(lines=("\n", "\t")).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
        text = text.replace(" ", " \\\n   ", 1) if chance.maybe(0.2) else text
        lines += [chance.pick("", f"# {chance.name()}"), f"{chance.name()}{chance.pick('=', ' = ', ': ')}{text}"]
    return chance.made("a.properties", "\n".join(lines) + "\n")


def strings_document(chance: Chance) -> Made:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    rows = [
        chance.pick("", "/* ~ */") + f"\n{quoted(chance.name())} = {quoted(chance.message(blocks=False))};\n"
        for _ in range(chance.most)
    ]
    return chance.made("a.strings", "".join(rows).encode(chance.pick("utf-8", "utf-16")))


def xcstrings_document(chance: Chance) -> Made:
    def unit() -> dict[str, Any]:
        return {"stringUnit": {"state": "translated", "value": chance.message(blocks=False)}}

    def variations() -> dict[str, Any]:
        return {"variations": {chance.pick("plural", "device"): {"one": unit(), "other": unit()}}}

    strings = {chance.name(): {"localizations": {"en": chance.pick(unit, variations)}} for _ in range(chance.most)}
    strings |= {chance.message(blocks=False, lines=()): {"comment": chance.name()}}
    catalogue = {"sourceLanguage": "en", "strings": strings, "version": "1.0"}
    return chance.made("a.xcstrings", json.dumps(catalogue, indent=2, separators=(",", " : "), ensure_ascii=False))


PO_HEAD = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: nplurals=2; plural=n != 1;\\n"\n'
    '"Language: de\\n"\n\n'
)
OF_FLAGS = {
    "c-format": ("%s", "%d", "%5.2f", "%%", "%1$s"),
    "python-format": ("%(~)s", "%(~)d"),
    "python-brace-format": ("{~}", "{0}", "{~!r}", "{~:>3}"),
    "php-format": ("%s", "%1$s"),
    "qt-format": ("%1", "%2", "%L3"),
    "qt-plural-format": ("%n", "%1"),
    "": (),
}


def po_document(chance: Chance) -> Made:
    def quoted(text: str) -> str:
        written = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", '\\n"\n"').replace("\t", "\\t")
        return f'"{written}"' if not chance.maybe(0.3) else f'""\n"{written}"'

    rows = []
    for number in range(chance.most):
        flag = chance.random.choice(list(OF_FLAGS))
        row = f"#. {chance.name()}\n#: {chance.name()}.c:3\n" + (f"#, {flag}\n" if flag else "")
        row += f'msgctxt "{chance.name()}{number}"\n'
        chance.kind = f"po {flag}"
        if chance.maybe(0.3):
            forms = [quoted(chance.message(blocks=not flag)) for _ in "ab"]
            row += f"msgid {forms[0]}\nmsgid_plural {forms[1]}\n"
            row += 'msgstr[0] ""\nmsgstr[1] ""\n'
        else:
            row += f'msgid {quoted(chance.message(blocks=not flag))}\nmsgstr ""\n'
        rows.append(row)
    return chance.made("a.po", PO_HEAD + "\n".join(rows))


OWN |= {f"po {flag}": texts for flag, texts in OF_FLAGS.items()}
ALONE |= {f"po {flag}": texts for flag, texts in OF_FLAGS.items() if flag}


def csv_document(chance: Chance) -> Made:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=chance.pick(",", ";", "\t"), lineterminator=chance.pick("\n", "\r\n"))
    writer.writerow(["id", "source", "note"])
    for _ in range(chance.most):
        writer.writerow([chance.name(), chance.message(lines=("\n",)), chance.name()])
    return chance.made("a.csv", stream.getvalue())


def android_document(chance: Chance) -> Made:
    def text(is_cdata: bool = False, is_quoted: bool = False) -> str:
        found = chance.message(tags=is_cdata or chance.maybe(0.3), blocks=False, lines=() if is_quoted else ("\\n",))
        found = found.replace('"', '\\"')
        return (found if is_cdata else escape(found)) + chance.random.choice((" ", " ", "\n      "))

    return chance.made("strings.xml", test_theorem_android.Writer(chance.random, text).document())


def _with_blanks(chance: Chance) -> str:
    return escape(chance.message()) + chance.random.choice(BLANKS)


def xliff_document(chance: Chance) -> Made:
    writer = test_theorem_xliff.Writer(chance.random, lambda: _with_blanks(chance))
    inline = writer.inline

    def with_breaks(depth: int, version: int) -> str:
        if chance.maybe(0.2):
            n, text = writer.id(), chance.phrase
            lb = [
                f'<x id="{n}" ctype="lb"/>',
                f'<ph id="{n}" ctype="lb">&lt;br/&gt;</ph>',
                f'<x id="{n}" ctype="x-html-br"/>',
            ]
            if version == 2:
                lb = [f'<ph id="{n}" type="fmt" subType="xlf:lb"/>']
            return f"{text()}{chance.random.choice(lb)}{text()} "
        return str(inline(depth, version))

    writer.inline = with_breaks
    return chance.made("a.xlf", writer.document())


def tmx_document(chance: Chance) -> Made:
    writer = test_theorem_tmx.Writer(chance.random, lambda: _with_blanks(chance))
    inline = writer.inline

    def with_breaks(depth: int) -> str:
        if chance.maybe(0.2):
            writer.number += 1
            return f'{chance.phrase()}<ph x="{writer.number}" type="lb">&lt;br/&gt;</ph>{chance.phrase()} '
        return str(inline(depth))

    writer.inline = with_breaks
    return chance.made("a.tmx", writer.document())


def docx_document(chance: Chance) -> Made:
    writer = test_theorem_docx.Writer(chance.random)
    writer.words = lambda: chance.pick("", "", "\n") + chance.message(tags=False, blocks=False, lines=()) + " "
    return chance.made("a.docx", writer.document())


def odt_document(chance: Chance) -> Made:
    def words() -> str:
        return str(chance.pick(" ", "\n  ")) + chance.message(tags=False, blocks=False, lines=()) + " "

    return chance.made("a.odt", test_theorem_odt.Writer(chance.random, words).document())


def pptx_document(chance: Chance) -> Made:
    def words() -> str:
        return str(chance.pick("", " ")) + chance.message(tags=False, blocks=False, lines=()) + " "

    return chance.made("a.pptx", test_theorem_pptx.Writer(chance.random, words).document())


def xlsx_document(chance: Chance) -> Made:
    def words() -> str:
        return str(chance.pick("", " ")) + chance.message(tags=False, blocks=False) + " "

    return chance.made("a.xlsx", test_theorem_xlsx.Writer(chance.random, words).document())


def _subtitles(chance: Chance, kind: str) -> Made:
    def words() -> str:
        text = chance.phrase()
        return chance.pick(
            text,
            text,
            text,
            f"♪ {text} ♪",
            f"[{text}]",
            f"{chance.word().upper()}: {text}",
            f"{text} &amp; {chance.word()}",
        )

    return chance.made(f"a.{kind}", test_theorem_subtitles.Writer(chance.random, kind, words).document())


def srt_document(chance: Chance) -> Made:
    return _subtitles(chance, "srt")


def vtt_document(chance: Chance) -> Made:
    return _subtitles(chance, "vtt")


def text_document(chance: Chance) -> Made:
    def paragraph() -> str:
        lines = chance.several(lambda: chance.message(tags=chance.maybe(0.2), blocks=False, lines=()), 1, 3)
        return chance.pick("", "", "- ", "1. ", "  * ") + "\n".join(lines)

    return chance.made("a.text", "\n\n".join(chance.several(paragraph, 2, 6)) + "\n")


MAKERS: dict[str, Callable[[Chance], Made]] = {
    "text": text_document,
    "markdown": markdown_document,
    "html": html_document,
    "tmx": tmx_document,
    "xliff": xliff_document,
    "po": po_document,
    "srt": srt_document,
    "vtt": vtt_document,
    "json": json_document,
    "arb": arb_document,
    "xcstrings": xcstrings_document,
    "yaml": yaml_document,
    "properties": properties_document,
    "strings": strings_document,
    "android": android_document,
    "csv": csv_document,
    "pptx": pptx_document,
    "xlsx": xlsx_document,
    "odt": odt_document,
    "docx": docx_document,
}
"""Makers of documents by the names of their formats."""


def made_document(kind: str, seed: int) -> Made:
    """Makes a document of a format; the same for the same seed."""
    return MAKERS[kind](Chance(Random(f"{kind} {seed}"), kind, seed % 4 + 1))
