"""Words and messages by chance, each word of which occurs once, so that it is found wherever it is."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from docsegments.segment import Mark
from docsegments.text.placeholder_families import FAMILIES
from docsegments.text.placeholder_families import GENERAL as GENERAL_FAMILIES
from docsegments.text.placeholders import hold

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
    if len(example) > 1 and all(isinstance(part, Mark) and part.is_held for part in hold([example]))
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
        """One of some patterns, filled, or what one of some functions makes."""
        choice = self.random.choice(choices)
        if isinstance(choice, str):
            return self.filled(choice)
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
        """A pattern with a new name of code for each `~`, and a phrase for each `§`."""
        return re.sub("[~§]", lambda match: self.name() if match[0] == "~" else self.phrase(), pattern)

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
                "§|§",
                "§ | §",
                "{0} §|[1,*] §",
            )
        return " ".join(self.several(lambda: self._part(tags, blocks, lines), 1, 3))

    def _part(self, tags: bool, blocks: bool, lines: tuple[str, ...]) -> str:
        phrase, placeholder = self.phrase, self.placeholder
        choices: list[Any] = [
            *[phrase] * 4,
            *[lambda: f"{phrase()} {placeholder()}"] * 2,
            lambda: f"{placeholder()} {phrase()}",
            lambda: f"({placeholder()}) {placeholder()} {phrase()}",
            lambda: f"{phrase()}: {placeholder()}{'/' if (last := placeholder())[0] in '%{$[' else ' / '}{last}",
            '§ "§" §',
        ]
        if lines:
            choices.append(lambda: f"{phrase()}{self.random.choice(lines)}{phrase()}")
        if tags:
            choices += [
                "§ <b>§</b> §",
                lambda: f"{phrase()}{self.pick('<br>', '<br/>', '<br />', '</p><p>', '<hr>')}{phrase()}",
                '§ <a href="~?b=1">§ <i>§</i></a>',
                lambda: f"{phrase()} <1>{phrase()}</1> <{(name := self.name())}>{phrase()}</{name}>",
                lambda: f"<p>{phrase()}</p><p>{phrase()} {placeholder()}</p>",
                "<ul><li>§</li><li>§</li></ul>",
                "§<sup>1</sup> § &amp; §",
                '<img src="~">§<!-- ~ --> §',
            ]
        if blocks:
            choices += [self.block, self.icu]
        return str(self.pick(*choices))

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
