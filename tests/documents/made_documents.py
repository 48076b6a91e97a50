"""Documents of every format by chance, whose words are all known: each occurs once, so that it is found wherever it is.

`MAKERS` has a function for each format. A word of `Made.words` is of a text that people read; one of `Made.code` is of a
placeholder, a template or code, which no translation may change.
"""

import csv
import html
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any
from xml.sax.saxutils import escape

from transduce.documents.segment import Mark
from transduce.documents.text.families import FAMILIES
from transduce.documents.text.families import GENERAL as GENERAL_FAMILIES
from transduce.documents.text.placeholders import hold

from documents import (
    test_theorem_android,
    test_theorem_docx,
    test_theorem_odt,
    test_theorem_pptx,
    test_theorem_subtitles,
    test_theorem_tmx,
    test_theorem_xliff,
    test_theorem_xlsx,
)

VOWELS, CONSONANTS = "aeiou", "bdfgklmnprstvz"
TAIL = "q"
"""The last letter of every made word, so that it is no word of a language, and none is part of another."""

GENERAL = (
    "{~}", "{{~}}", "{{ ~.~ }}", "{{ ~ | ~ }}", "${~}", "%(~)s", "%{~}", "%s", "%1$s", "%d", "%5.2f", "%@", "$~", "%n",
    "https://~.example/~?a=~", "{0}", "{0:N2}", "{~, number}", "{~, date, short}", "{ $~ }", "<%= ~ %>", "[% ~ %]",
    "#{~}", "<?= $~ ?>", "{{{~}}}", "{$~}", "&nbsp;", "{{~ ~}}", "{{>~}}", "{{~, uppercase}}", "{{ '~' | ~ }}",
    "{%= ~ %}", "{!! $~ !!}", "%%", "~@~.example", "%~%", "%1", "@{~}", "{{~ ~=1}}",
)  # fmt: skip
"""Placeholders, with `~` for each new name."""
GENERAL += tuple(
    example
    for name, family in FAMILIES.items()
    if name in GENERAL_FAMILIES and name not in ("tags", "plural forms", "icu", "gcc", "terminals")
    for example in family.examples
    if all(isinstance(part, Mark) and part.is_held for part in hold([example]))
)
OWN = {
    "json": (
        "$~$", "$1", "@:~.~", "@.lower:~", ":~", "$t(~)", "$t(~.~, {{ ~ }})", "{{- ~}}", "@:{'~'}", "<~/>",
        "{{~, ~(~: ~)}}", "@:(~.~)", "__~__",
    ),
    "yaml": ("%{~}", "%~%", "%{~_~}", "{{ ~ }}"),
    "strings": ("%@", "%1$@", "%ld", "%lld", "%#@~@", "%2$lu", "%.1f", "%%"),
    "properties": ("{0}", "{1,number,integer}", "${~}", "{2,date,short}"),
    "android": ("%s", "%1$s", "%2$d", "%%", "%1$,d"),
}  # fmt: skip
"""Placeholders of a format beside these."""
OWN["xcstrings"] = (*OWN["strings"], "%arg")
ALONE = {"arb": ("{~}", "{~}"), "xcstrings": OWN["strings"], "strings": OWN["strings"], "android": OWN["android"]}
"""Placeholders of formats that have no others."""
BLOCKS = (
    ("{% if ~ %}", "{% else %}", "{% endif %}"),
    ("{% for ~ in ~ %}", "{% endfor %}"),
    ("{%- unless ~.~ -%}", "{%- endunless -%}"),
    ("{#if ~}", "{:else}", "{/if}"),
    ("{{#if ~}}", "{{else}}", "{{/if}}"),
    ("{{#each ~}}", "{{/each}}"),
    ("{{^~}}", "{{/~}}"),
    ("{{if .~}}", "{{else}}", "{{end}}"),
    ("<% if ~ %>", "<% else %>", "<% end %>"),
    ("<?php if ($~): ?>", "<?php else: ?>", "<?php endif; ?>"),
    ("{if $~}", "{else}", "{/if}"),
    ("{foreach $~ as $~}", "{/foreach}"),
    ("[% IF ~ %]", "[% ELSE %]", "[% END %]"),
    ("{% blocktrans %}", "{% endblocktrans %}"),
    ("{% trans %}", "{% pluralize %}", "{% endtrans %}"),
    ("{% case ~ %}{% when '~' %}", "{% else %}", "{% endcase %}"),
    ("{{#unless ~.~}}", "{{else}}", "{{/unless}}"),
    ("{{#with ~ as |~|}}", "{{/with}}"),
    ("{{#~}}", "{{/~}}"),
    ("{{range .~}}", "{{end}}"),
    ("{{- with .~ -}}", "{{- end -}}"),
    ("<% ~.each do |~| %>", "<% end %>"),
    ("<%- if (~) { -%>", "<%- } else { -%>", "<%- } -%>"),
    ("<?php foreach ($~ as $~): ?>", "<?php endforeach; ?>"),
    ("<? if ($~): ?>", "<? else: ?>", "<? endif; ?>"),
    ("<?php if ($~) { ?>", "<?php } else { ?>", "<?php } ?>"),
    ("@if($~)", "@else", "@endif"),
    ("@foreach($~ as $~)", "@endforeach"),
    ("<#if ~>", "<#else>", "</#if>"),
    ("#if($~)", "#else", "#end"),
    ("{section name=~ loop=$~}", "{/section}"),
    ("{{#if ~}}", "{{else if ~}}", "{{/if}}"),
    ("{% if ~ > 1 and ~ %}", "{% elif ~ %}", "{% endif %}"),
)
"""Tags of templates about a text."""


@dataclass(frozen=True)
class Made:
    """A document by chance."""

    name: str
    data: bytes
    words: frozenset[str]
    code: frozenset[str]
    placeholders: tuple[str, ...] = ()
    """Placeholders as the format's reader shows them."""


@dataclass
class Chance:
    """Words and messages by chance."""

    random: Random
    kind: str = ""
    most: int = 4
    """How many things are beside each other at most."""
    words: set[str] = field(default_factory=set)
    code: set[str] = field(default_factory=set)
    placeholders: list[str] = field(default_factory=list)

    def made(self, name: str, data: bytes | str) -> Made:
        """The document of the words so far."""
        data = data.encode() if isinstance(data, str) else data
        return Made(name, data, frozenset(self.words), frozenset(self.code), tuple(dict.fromkeys(self.placeholders)))

    def maybe(self, share: float) -> bool:
        """True for a share of the calls."""
        return self.random.random() < share

    def pick(self, *choices: Any) -> Any:
        """One of some texts, or what one of some functions makes."""
        choice = self.random.choice(choices)
        return choice() if callable(choice) else choice

    def several(self, make: Callable[[], Any], least: int = 1, most: int = 4) -> list[Any]:
        """What a function makes, several times."""
        return [make() for _ in range(self.random.randint(least, max(min(most, self.most), least)))]

    def word(self) -> str:
        """A new word that people read."""
        self.words.add(word := self._new())
        return word

    def name(self) -> str:
        """A new word of code."""
        self.code.add(word := self._new())
        return word

    def _new(self) -> str:
        while True:
            syllables = [
                self.random.choice(CONSONANTS) + self.random.choice(VOWELS) for _ in range(self.random.randint(2, 4))
            ]
            if (word := "".join([*syllables, TAIL])) not in self.words | self.code:
                return word

    def phrase(self, most: int = 4) -> str:
        """Some words, with the signs of a sentence here and there."""
        found = self.several(self.word, 1, most)
        if self.maybe(0.3):
            found[0] = found[0].capitalize()
        signs = [
            self.pick("", "", "", "", ",", " –" if self.kind != "properties" else ";", ":", ".") for _ in found[1:]
        ]
        return " ".join(
            word + sign for word, sign in zip(found, [*signs, self.pick("", "", ".", "!", "?")], strict=True)
        )

    def filled(self, pattern: str) -> str:
        """A pattern with a new name for each `~`."""
        while "~" in pattern:
            pattern = pattern.replace("~", self.name(), 1)
        return pattern

    def placeholder(self) -> str:
        """A placeholder of the format."""
        own = OWN.get(self.kind, ())
        others = ALONE.get(self.kind, GENERAL)
        text = self.filled(self.random.choice(own if own and self.maybe(0.5) else others))
        self.placeholders.append(text)
        return text

    def message(self, tags: bool = True, blocks: bool = True, lines: tuple[str, ...] = ("\n",)) -> str:
        """A message as a program has it."""
        if blocks and self.maybe(0.05):
            return self.pick(
                lambda: f"{self.phrase()}|{self.phrase()}", lambda: f"{self.phrase()} | {self.phrase()}", lambda: f"{{0}} {self.phrase()}|[1,*] {self.phrase()}"
            )
        return " ".join(self.several(lambda: self._part(tags, blocks, lines), 1, 3))

    def _part(self, tags: bool, blocks: bool, lines: tuple[str, ...]) -> str:
        phrase, placeholder = self.phrase, self.placeholder
        choices: list[Callable[[], str]] = [
            *[phrase] * 4,
            *[lambda: f"{phrase()} {placeholder()}"] * 2,
            lambda: f"{placeholder()} {phrase()}",
            lambda: f"({placeholder()}) {placeholder()} {phrase()}",
            lambda: f"{phrase()}: {placeholder()}{'/' if (last := placeholder())[0] in '%{$[' else ' / '}{last}",
            lambda: f'{phrase()} "{phrase()}" {phrase()}',
        ]
        if lines:
            choices.append(lambda: f"{phrase()}{self.random.choice(lines)}{phrase()}")
        if tags:
            choices += [
                lambda: f"{phrase()} <b>{phrase()}</b> {phrase()}",
                lambda: f"{phrase()}{self.pick('<br>', '<br/>', '<br />', '</p><p>', '<hr>')}{phrase()}",
                lambda: f'{phrase()} <a href="{self.name()}?b=1">{phrase()} <i>{phrase()}</i></a>',
                lambda: f"{phrase()} <1>{phrase()}</1> <{(name := self.name())}>{phrase()}</{name}>",
                lambda: f"<p>{phrase()}</p><p>{phrase()} {placeholder()}</p>",
                lambda: f"<ul><li>{phrase()}</li><li>{phrase()}</li></ul>",
                lambda: f"{phrase()}<sup>1</sup> {phrase()} &amp; {phrase()}",
                lambda: f'<img src="{self.name()}">{phrase()}<!-- {self.name()} --> {phrase()}',
            ]
        if blocks:
            choices += [self.block, self.icu]
        return self.random.choice(choices)()

    def block(self, inner: Callable[[], str] | None = None, blocks: tuple[tuple[str, ...], ...] = BLOCKS) -> str:
        """A text in a block of a template language."""
        begin, *middle, end = self.random.choice(blocks)
        inner, between = inner or self.phrase, " " if begin[0] in "@#" else self.pick("", " ")
        parts = [self.filled(begin), inner()]
        for tag in middle if self.maybe(0.5) else ():
            parts += [self.filled(tag), inner()]
        return between.join([*parts, end if "~" not in end else end.replace("~", parts[0].strip("{^#}"))])

    def icu(self, inner: Callable[[], str] | None = None) -> str:
        """A message of ICU with branches."""
        inner, name, other = inner or self.phrase, self.name(), self.name()
        return self.pick(
            lambda: f"{{{name}, plural, one {{# {inner()}}} other {{# {inner()}}}}}",
            lambda: f"{{{name}, plural, =0 {{{inner()}}} one{{{inner()}}} other{{{inner()} {{{name}}}}}}}",
            lambda: f"{{{name}, select, {other} {{{inner()}}} other {{{inner()}}}}}",
            lambda: f"{{{name}, selectordinal, one {{#st {inner()}}} other {{# {inner()}}}}}",
            lambda: f"{{{name}, select, other {{{{{other}, plural, other {{{inner()}}}}}}}}}",
            lambda: f"{{{name}, plural, offset:1 =1 {{{inner()}}} one {{{inner()} #}} other {{{inner()}}}}}",
            lambda: f"{{0,choice,0#{self.word()}|1#{self.word()}|2#{{0}} {self.word()}}}",
        )


# ---------------------------------------------------------------------------------------------------- messages


def json_document(chance: Chance) -> Made:
    def value(depth: int) -> Any:
        if not depth or chance.maybe(0.6):
            return chance.message(lines=("\n", "\t"))
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
    def scalar(indent: int) -> str:
        text = chance.message(lines=("\n",))
        style = chance.random.randint(0, 3)
        if style == 0 or (style == 1 and "\n" in text):
            return f" {json.dumps(text, ensure_ascii=chance.maybe(0.5))}\n"
        if style == 1:
            return " '" + text.replace("'", "''") + "'\n"
        blanks = " " * indent
        return f" {chance.pick('|', '|-', '>', '>-')}\n" + "".join(
            f"{blanks}{line.strip()}\n" for line in text.split("\n")
        )

    def mapping(indent: int, depth: int) -> str:
        lines = []
        for _ in range(chance.random.randint(1, chance.most)):
            comment = chance.pick("", "", f"{' ' * indent}# {chance.name()}\n")
            inner = scalar(indent + 2)
            if depth and chance.maybe(0.3):
                inner = "\n" + mapping(indent + 2, depth - 1)
            elif chance.maybe(0.2):
                inner = "\n" + "".join(f"{' ' * indent}  -{scalar(indent + 4)}" for _ in "ab")
            lines.append(f"{comment}{' ' * indent}{chance.name()}:{inner}")
        return "".join(lines)

    return chance.made("a.yaml", mapping(0, 2))


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
        f"{chance.pick('', f'/* {chance.name()} */')}\n{quoted(chance.name())} = {quoted(chance.message(blocks=False))};\n"
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
            row += f'msgid {quoted(chance.message())}\nmsgid_plural {quoted(chance.message())}\nmsgstr[0] ""\nmsgstr[1] ""\n'
        else:
            row += f'msgid {quoted(chance.message())}\nmsgstr ""\n'
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


# ---------------------------------------------------------------------------------------------------- writers


def _with_words(writer: Any, chance: Chance, text: Callable[[], str], *methods: str) -> Any:
    """A writer of documents whose words are known."""
    for method in methods:
        setattr(writer, method, text)
    return writer


def android_document(chance: Chance) -> Made:
    writer = test_theorem_android.Writer(chance.random)

    def text(is_cdata: bool = False, is_quoted: bool = False) -> str:
        found = chance.message(tags=is_cdata or chance.maybe(0.3), blocks=False, lines=() if is_quoted else ("\\n",))
        found = found.replace('"', '\\"')
        return (found if is_cdata else escape(found)) + " "

    writer.text = text
    return chance.made("strings.xml", writer.document())


def xliff_document(chance: Chance) -> Made:
    writer = test_theorem_xliff.Writer(chance.random)
    writer.words = lambda: escape(chance.message()) + " "
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
    writer = test_theorem_tmx.Writer(chance.random)
    writer.words = lambda: escape(chance.message()) + " "
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
    writer = test_theorem_odt.Writer(chance.random)
    writer.words = lambda: chance.pick(" ", "\n  ") + chance.message(tags=False, blocks=False, lines=()) + " "
    return chance.made("a.odt", writer.document())


def pptx_document(chance: Chance) -> Made:
    writer = test_theorem_pptx.Writer(chance.random)
    writer.words = lambda: chance.pick("", " ") + chance.message(tags=False, blocks=False, lines=()) + " "
    return chance.made("a.pptx", writer.document())


def xlsx_document(chance: Chance) -> Made:
    writer = test_theorem_xlsx.Writer(chance.random)
    writer.text = lambda: chance.pick("", " ") + chance.message(tags=False, blocks=False) + " "
    return chance.made("a.xlsx", writer.document())


def _subtitles(chance: Chance, kind: str) -> Made:
    writer = test_theorem_subtitles.Writer(chance.random, kind)

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

    writer.words = words
    return chance.made(f"a.{kind}", writer.document())


def srt_document(chance: Chance) -> Made:
    return _subtitles(chance, "srt")


def vtt_document(chance: Chance) -> Made:
    return _subtitles(chance, "vtt")


def text_document(chance: Chance) -> Made:
    def paragraph() -> str:
        lines = chance.several(lambda: chance.message(tags=chance.maybe(0.2), blocks=False, lines=()), 1, 3)
        return chance.pick("", "", "- ", "1. ", "  * ") + "\n".join(lines)

    return chance.made("a.text", "\n\n".join(chance.several(paragraph, 2, 6)) + "\n")


# ---------------------------------------------------------------------------------------------------- pages


class Pages:
    """Pages of HTML."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance

    def text(self) -> str:
        """Characters of a text."""
        chance = self.chance
        text = html.escape(chance.phrase(), quote=False)
        return str(chance.pick(
            text, text, text,
            lambda: f"{text} &nbsp;{chance.phrase()}", lambda: f"{text} &amp; {chance.phrase()}",
            lambda: f"{text} {self.code()}", lambda: f"{self.code()} {text}", lambda: f"{text} &lt; {chance.phrase()}",
            lambda: f"{text} &mdash; {chance.phrase()}&hellip;", lambda: f"{text} &#8220;{chance.phrase()}&#x201d;",
            lambda: f"{text}&nbsp;{chance.phrase()}", lambda: f"{text}\n  {chance.phrase()}",
        ))  # fmt: skip

    def code(self) -> str:
        chance = self.chance
        text = chance.filled(chance.pick(
            "{{ ~ }}", "{{ ~ | ~ }}", "{{ ~.~() }}", "<%= ~ %>", "<?= $~ ?>", "{$~}", "{{{~}}}", "${~}", "{~}", "{{> ~}}",
            "{% ~ '~' %}", "{{ ~ && ~ }}", "@{~}", "%s", "{!! $~ !!}", "{{ '~' | translate }}", "[% ~ %]", "{# ~ #}",
            "{{!-- ~ --}}", "<% ~ %>", "<?php echo $~; ?>", "https://~.example/~?a=~",
        ))  # fmt: skip
        if not text.startswith("<"):
            chance.placeholders.append(text)
        return text

    def attribute(self) -> str:
        chance = self.chance
        return str(chance.pick(
            "", "", "", "", "",
            lambda: f' title="{chance.phrase()}"', lambda: f" class='{chance.name()}'", lambda: f' href="/{chance.name()}?a&b"',
            lambda: f' v-if="{chance.name()} > 1"', lambda: f' :title="{chance.name()}"', lambda: f' @click="{chance.name()}()"',
            lambda: f" *ngIf='{chance.name()}; else {chance.name()}'", lambda: f' [title]="{chance.name()}"',
            lambda: f' title="{chance.phrase()} {{{{ {chance.name()} }}}}"', lambda: f' data-{chance.name()}="{chance.name()}"',
            lambda: f" {{% if {chance.name()} %}}hidden{{% endif %}}", lambda: f' class="<?= ${chance.name()} ?>"',
            lambda: f' aria-label="{self.chance.block()}"', lambda: f' title="{self.chance.icu()}"',
            lambda: f' #{chance.name()} id="{chance.name()}"', lambda: f" title='{chance.phrase()} &amp; {chance.phrase()}'",
        ))  # fmt: skip

    def inline(self, depth: int = 2) -> str:
        """A piece of a sentence; blanks are about it."""
        chance = self.chance

        def inner() -> str:
            return self.flow(depth - 1)

        def text() -> str:
            return chance.phrase()

        def bold() -> str:
            return f"{chance.phrase()} <b>{chance.phrase()}</b>"

        leaves = [
            *[self.text] * 6, self.code,
            lambda: f"{self.text()}<br{chance.pick('', '/', ' /')}>{self.text()}",
            lambda: f'<img src="{chance.name()}" alt="{chance.phrase()}">',
            lambda: f"<code>{chance.name()}()</code>", lambda: f"<kbd>{chance.name()}</kbd>",
            lambda: f'<span translate="no">{chance.name()}</span>', lambda: f"<!-- {chance.name()} -->",
            lambda: f"{self.text()}<sup>1</sup>", lambda: f'<input placeholder="{chance.phrase()}">',
            lambda: f"<svg><title>{chance.phrase()}</title><path/></svg>", lambda: f"<math><mi>{chance.name()}</mi></math>",
            lambda: f"{chance.phrase()} <BR>{chance.phrase()}", lambda: f"{text()}<sup><a href='#{chance.name()}'>[1]</a></sup>",
            lambda: f"<ruby>{chance.phrase()}<rp>(</rp><rt>{chance.name()}</rt><rp>)</rp></ruby>",
        ]  # fmt: skip
        nests = [
            lambda: f"<b{self.attribute()}>{inner()}</b>", lambda: f"<em>{inner()}</em>",
            lambda: f"<a href='{chance.name()}'{self.attribute()}>{inner()}</a>", lambda: f"<span{self.attribute()}>{inner()}</span>",
            lambda: chance.block(inner), lambda: chance.icu(lambda: chance.pick(chance.phrase, bold)),
            lambda: f"<label>{inner()}</label>",
            lambda: f"<u>{chance.block(inner)}</u>", lambda: f"<q>{inner()}</q>",
            lambda: f"<STRONG>{inner()}</STRONG>", lambda: f"@if ({chance.name()}) {{ {chance.phrase()} }}",
            lambda: f"@if ({chance.name()}) {{ <b>{chance.phrase()}</b> }} @else {{ {chance.phrase()} }}",
        ]  # fmt: skip
        return str(chance.pick(*leaves, *(nests * 2 if depth else [])))

    def flow(self, depth: int = 2) -> str:
        """A sentence or more."""
        return " ".join([self.text(), *self.chance.several(lambda: self.inline(depth), 0, 3)])

    def block(self, depth: int = 2) -> str:
        """A block."""
        chance, flow = self.chance, self.flow

        def inner() -> str:
            return "".join(chance.several(lambda: self.block(depth - 1), 1, 2))

        def items(name: str) -> str:
            rows = chance.several(lambda: f"<{name}{self.attribute()}>{flow()}{chance.pick('', f'</{name}>')}")
            return chance.block(lambda: "".join(rows)) if chance.maybe(0.3) else "".join(rows)

        leaves = [
            *[lambda: f"<p{self.attribute()}>{flow()}</p>"] * 5,
            lambda: f"<h1>{flow()}</h1>", lambda: f"<ul>{items('li')}</ul>",
            lambda: f"<table><caption>{flow()}</caption><tr>{items('td')}</tr></table>",
            lambda: f"<dl><dt>{flow()}<dd>{flow()}</dl>", lambda: f"<p>{flow()}\n",
            lambda: f"<select>{''.join(chance.several(lambda: f'<option>{chance.phrase()}'))}</select>",
            lambda: f"<select><option value='{chance.name()}'>{chance.phrase()}</select>",
            lambda: f"<pre>{chance.name()}</pre>", lambda: f"<script>{chance.name()} < 1</script>",
            lambda: f"<style>.{chance.name()} > b {{}}</style>", lambda: f"<button>{flow(1)}</button>",
            lambda: f'<input type="submit" value="{chance.phrase()}">', lambda: f"<textarea>{chance.phrase()}</textarea>",
            lambda: f"<!-- {chance.name()} <p> -->", lambda: f"<template>{chance.phrase()}</template>",
            lambda: f"<noscript><p>{chance.phrase()}</p></noscript>", lambda: f"<textarea>{chance.name()}</textarea>",
            lambda: f"<div>{chance.phrase()}<p>{flow()}</p>{chance.phrase()}</div>",
            lambda: f"<!--[if IE]>{chance.name()}<![endif]-->", lambda: f"<video>{chance.phrase()}</video>",
            lambda: f"<figure><img alt='{chance.phrase()}' src=x><figcaption>{flow()}</figcaption></figure>",
            lambda: f"<svg><text>{chance.phrase()}</text></svg>", lambda: f"@for ({chance.name()}; track x) {{ <p>{flow()}</p> }}",
            lambda: f"<ul><li v-for='{chance.name()} in {chance.name()}' :key='{chance.name()}.id'>{flow()}</li></ul>",
            lambda: f"<iframe srcdoc='<p>{chance.phrase()}</p>'></iframe>", lambda: chance.block(flow), chance.icu,
        ]  # fmt: skip
        nests = [
            lambda: f"<div{self.attribute()}>{inner()}</div>", lambda: f"<blockquote>{inner()}</blockquote>",
            lambda: f"<section>\n{inner()}\n</section>", lambda: chance.block(inner),
            lambda: f"<details><summary>{flow()}</summary>{inner()}</details>",
        ]  # fmt: skip
        return str(chance.pick(*leaves, *(nests * 2 if depth else [])))

    def page(self) -> str:
        """A page, or a part of one."""
        chance = self.chance
        body = "\n".join(chance.several(self.block, 1, 5))
        if chance.maybe(0.5):
            return body
        extends = chance.pick("", f"{{% extends '{chance.name()}' %}}\n", f"<?php include('{chance.name()}'); ?>\n")
        return (
            f"{extends}<!DOCTYPE html>\n<html lang=en><head><title>{self.text()}</title>"
            f"<meta name=description content='{chance.phrase()}'></head><body>{body}</body></html>\n"
        )


def html_document(chance: Chance) -> Made:
    return chance.made("a.html", Pages(chance).page())


# ---------------------------------------------------------------------------------------------------- Markdown


def markdown_document(chance: Chance) -> Made:
    phrase, several, pick = chance.phrase, chance.several, chance.pick

    def code() -> str:
        text = chance.filled(
            pick("{{ ~ }}", "{{< ~ >}}", "{% ~ %}", "<%= ~ %>", "https://~.example/~", "{{ ~.~ | ~ }}", "{~}")
        )
        if not text.startswith("<"):
            chance.placeholders.append(text)
        return text

    def inline(depth: int = 1) -> str:
        leaves = [
            *[phrase] * 5, lambda: f"`{chance.name()}`", code, lambda: f'![{phrase()}]({chance.name()}.png "{phrase()}")',
            lambda: f"<kbd>{chance.name()}</kbd>", lambda: f"{phrase()}<br>{phrase()}", lambda: f"{phrase()}  \n{phrase()}",
            lambda: f"{phrase()}\\\n{phrase()}", lambda: f"{phrase()}\n{phrase()}", lambda: f"{phrase()} &amp; {phrase()}",
            lambda: f"{phrase()} \\* {phrase()}", lambda: f"<!-- {chance.name()} -->",
        ]  # fmt: skip
        nests = [
            lambda: f"*{line(0)}*", lambda: f"**{line(0)}**", lambda: f"[{line(0)}]({chance.name()}.html)",
            lambda: f'[{line(0)}]({chance.name()} "{phrase()}")', lambda: f"~~{phrase()}~~", lambda: f"<b>{line(0)}</b>",
            lambda: chance.block(phrase, MARKDOWN_BLOCKS), lambda: f'<span title="{phrase()}">{line(0)}</span>',
        ]  # fmt: skip
        return str(pick(*leaves, *(nests if depth else [])))

    def line(depth: int = 1) -> str:
        return " ".join([phrase(), *several(lambda: inline(depth), 0, 3)])

    def flat(depth: int = 1) -> str:
        return " ".join(line(depth).replace("\\\n", " ").split())

    def block() -> str:
        return str(pick(
            *[line] * 4,
            lambda: f"{'#' * chance.random.randint(1, 4)} {flat()}", lambda: f"{flat()}\n---",
            lambda: "\n".join(several(lambda: f"- {flat()}")), lambda: "\n".join(several(lambda: f"1. {flat()}")),
            lambda: f"- {flat()}\n  - {flat()}\n\n    {flat()}", lambda: f"> {flat()}\n> {flat()}",
            lambda: f"| {phrase()} | {phrase()} |\n|---|---|\n| {phrase()} | `{chance.name()}` |",
            lambda: f"```\n{chance.name()}\n```", lambda: f"# {flat()}\n\n    {chance.name()}",
            lambda: f"<div>\n<p>{phrase()} <b>{phrase()}</b></p>\n</div>", lambda: f"<!-- {chance.name()} -->",
            lambda: f"- [ ] {flat()}\n- [x] {flat()}", lambda: f"{phrase()}[^1]\n\n[^1]: {flat()}",
            lambda: f"<div>\n{Pages(chance).block(0)}\n</div>", lambda: f"<p>{Pages(chance).flow(1)}</p>",
            lambda: "\n\n".join([(blocks := chance.random.choice(MARKDOWN_BLOCKS)) and chance.filled(blocks[0]), line(), blocks[-1]]),
        ))  # fmt: skip

    front = pick("", "", f'---\ntitle: "{phrase()}"\n{chance.name()}: {chance.name()}\n---\n\n')
    return chance.made("a.md", front + "\n\n".join(several(block, 2, 6)) + "\n")


MARKDOWN_BLOCKS = tuple(one for one in BLOCKS if one[0][:2] in ("{%", "{{", "<%") and "~}}" not in one[-1])

MAKERS: dict[str, Callable[[Chance], Made]] = {
    name.removesuffix("_document"): maker for name, maker in list(globals().items()) if name.endswith("_document")
}
"""Makers of documents by the names of their formats."""


def made_document(kind: str, seed: int) -> Made:
    """Makes a document of a format; the same for the same seed."""
    return MAKERS[kind](Chance(Random(f"{kind} {seed}"), kind, seed % 4 + 1))
