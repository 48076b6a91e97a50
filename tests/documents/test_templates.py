"""Code of templates and branches of messages in pages stays, in its order, and the texts about it are translated."""

from collections.abc import Callable
from html import escape, unescape

import pytest

from documents import theorem

BLOCKS = [  # the code before, between and after two texts
    ("{% if user %}", "{% else %}", "{% endif %}"),
    ("{{#if a}}", "{{else}}", "{{/if}}"),
    ("{{#each a as |b|}}", "{{^}}", "{{/each}}"),
    ("{{if .a}}", "{{else}}", "{{end}}"),
    ("<% if a %>", "<% else %>", "<% end %>"),
    ("<?php if ($a): ?>", "<?php else: ?>", "<?php endif ?>"),
    ("{if $a}", "{else}", "{/if}"),
    ("@if (a.b()) {", "} @else {", "}"),
    ("@for (a of b; track a.c) {", "} @empty {", "}"),
    ("@if($a)", "@else", "@endif"),
    ("#if($a)", "#else", "#end"),
    ("[% IF a %]", "[% ELSE %]", "[% END %]"),
    ("{n, plural, one {", "} other {", "}}"),
    ("{n, selectordinal, =1 {", "} other {", "}}"),
    ("{{PLURAL:$1|", "|", "}}"),
]
VALUES = [
    "{{ a & b }}",
    "{{{a}}}",
    "{$a}",
    "{{ a|default:'b' }}",
    "@{{ a }}",
    "${a}",
    "<%= a %>",
    "<?= $a ?>",
    "[[${a}]]",
]
PLACES = [
    ("a.html", "<p>", "</p>"),
    ("a.html", "<p>&uuml; <b>&lt; ", "</b> &amp;</p>"),
    ("a.html", '<img alt="&lt; ', '">'),
    ("a.html", '<p>x</p><a title="', ' &amp;">x</a>'),
    ("a.md", "Text.\n\n<div>\n<i>x</i> ", "\n</div>\n"),
]


def translated(change: Callable[[str], str], data: str, name: str) -> str:
    return theorem.translated(change, data.encode(), name).data.decode()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("block", BLOCKS)
def test_blocks_of_templates_are_about_the_same_texts(block: tuple[str, str, str], place: tuple[str, str, str]) -> None:
    first, second, last = block
    name, before, after = place
    if "<" in first and '"' in before:
        pytest.skip("code of a server in an attribute is not read")
    data = f"{before}one {first} the dog sleeps {second} the cat sees {last} two{after}"
    read: list[str] = []

    def capitals(text: str) -> str:
        read.append(text)
        return text.upper()

    assert translated(str, data, name) == data
    new = translated(capitals, data, name)
    assert f"{first} THE DOG SLEEPS {second} THE CAT SEES {last}" in new
    assert (" ".join(read).count("the dog sleeps"), " ".join(read).count("the cat sees")) == (1, 1)
    assert unescape(new).upper() == unescape(data).upper()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", VALUES)
def test_code_for_a_value_is_held_as_the_page_writes_it(value: str, place: tuple[str, str, str]) -> None:
    name, before, after = place
    if "<" in value and '"' in before:
        pytest.skip("code of a server in an attribute is not read")
    written = value if "<" in value else escape(value, quote=False)
    data = f"{before}The dog {written} sleeps.{after}"
    assert translated(str, data, name) == data
    assert f"THE DOG {written} SLEEPS." in translated(str.upper, data, name)


def test_a_message_that_tags_divide_is_read_as_one() -> None:
    page = "<p>{n, plural, one {<b>a dog</b>} other {# <b>dogs</b>{a, select, b {, too} other {}}}}</p>"
    assert translated(str.upper, page, "a.html") == (
        "<p>{n, plural, one {<b>A DOG</b>} other {# <b>DOGS</b>{a, select, b {, TOO} other {}}}}</p>"
    )
