"""What a translation brings into a message is written as the program reads it: percent signs, apostrophes, < and &."""

import json
import re
from collections.abc import Callable
from typing import Any, cast

import pytest

from documents import theorem

XLIFF = (
    '<xliff version="1.2"><file original="a" source-language="en" datatype="html"><body><trans-unit id="1">'
    "<source>{}</source></trans-unit></body></file></xliff>"
)
PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n{}msgid "{}"\nmsgstr ""\n'
ANDROID = "<resources><string name='a'>{}</string></resources>"


def translated(change: Callable[[str], str], data: str, name: str) -> str:
    return theorem.translated(change, data.encode(), name).data.decode()


def message(text: Any, change: Callable[[str], str], **others: Any) -> str:
    """Returns the translation of a message of JSON."""
    value = json.loads(translated(change, json.dumps({"a": text, **others}), "a.json"))["a"]
    return cast(str, value["defaultMessage"] if isinstance(value, dict) else value)


def with_percent(text: str) -> str:
    return text.replace("room", "20 % d'espace")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", '{"a": "%d room"}'),
        ("a.yaml", "a: '%s room'\n"),
        ("a.properties", "a=%1$s room\n"),
        ("a.strings", '"a" = "%@ room";\n'),
        ("a.xcstrings", '{"sourceLanguage":"en","strings":{"%lld room":{}},"version":"1.0"}'),
        ("a.csv", "id,en\n1,%(n)s room\n"),
        ("a.po", PO.format("", "%d room")),
        ("a.po", PO.format("#, c-format\n", "%d room")),
        ("strings.xml", ANDROID.format("%d room")),
        ("a.xlf", XLIFF.format("%d room")),
    ],
)
def test_a_percent_sign_beside_arguments_of_printf_is_doubled(name: str, data: str) -> None:
    new = translated(with_percent, data, name)
    assert re.search("20 %% d(''|\\\\'|')espace", new), new


def test_a_percent_sign_elsewhere_is_one() -> None:
    for text in ("room", "{n} room", "%1 room", "%n room", "{{x}} room", "%name% room"):
        assert "20 % d'espace" in message(text, with_percent)
    assert message("5 % yes %d room", with_percent) == "5 % yes %d 20 %% d'espace"  # C has no `% y`
    assert "20 % d'espace" in translated(with_percent, PO.format("#, qt-format\n", "%1 room"), "a.po")


def elided(text: str) -> str:
    return text.replace("of ", "dell'").replace("the ", "l'")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dog of {name}", "dog dell''{name}"),
        ("it is of <b>texts</b>", "it is <b>dell'texts</b>"),
        ("{n, plural, one {dog of {x}} other {the #}}", "{n, plural, one {dog dell''{x}} other {l''#}}"),
        ("{n, plural, one {the dog} other {dogs}}", "{n, plural, one {l'dog} other {dogs}}"),
        ("it''s of {x}", "it''s dell''{x}"),
        ("'{'x'}' of {x}", "'{'x'}' dell''{x}"),
    ],
)
def test_apostrophes_quote_nothing_where_icu_reads_the_file(text: str, wanted: str) -> None:
    assert message({"defaultMessage": text, "description": ""}, elided) == wanted


def test_an_apostrophe_before_a_brace_is_curved_where_the_reader_is_unknown() -> None:
    assert message("dog of {name}", elided) == "dog dell’{name}"
    assert message("dog of {name}", elided, b="{n, plural, one {a} other {b}}") == "dog dell''{name}"
    assert message("dog of {{name}} and the cat", elided) == "dog dell'{{name}} and l'cat"
    assert message("'{x}' of {name}", elided) == "'{x}' dell'{name}"  # as the source does
    assert translated(elided, "a=dog of {0}\n", "a.properties") == "a=dog dell''{0}\n"
    assert "dell’{x}" in translated(elided, XLIFF.format("{n, plural, one {dog of {x}} other {#}}"), "a.xlf")


def with_signs(text: str) -> str:
    return text.replace("less", "<&<x")


@pytest.mark.parametrize(
    ("name", "data", "wanted"),
    [
        ("a.json", '{"a": "less <b>dog</b>"}', "&lt;&amp;&lt;x "),
        ("a.json", '{"a": "less &uuml;"}', "&lt;&amp;&lt;x "),
        ("a.json", '{"a": "less dog"}', "<&<x "),
        ("a.json", '{"a": "less < <b>dog</b>"}', "<&amp;<x "),
        ("strings.xml", ANDROID.format("less <b>dog</b>"), "&lt;&amp;&lt;x "),
        ("strings.xml", ANDROID.format("less &lt;b>dog&lt;/b>"), "&amp;lt;&amp;amp;&amp;lt;x "),
        ("strings.xml", ANDROID.format("<![CDATA[less <b>dog</b>]]>"), "[&lt;&amp;&lt;x "),
        ("a.xlf", XLIFF.format('less <g id="1">dog</g>'), "&lt;&amp;&lt;x "),
        ("a.xlf", XLIFF.format("less &lt;b&gt;dog&lt;/b&gt;"), "&amp;lt;&amp;amp;&amp;lt;x "),
    ],
)
def test_signs_of_markup_are_text_in_a_message_with_markup(name: str, data: str, wanted: str) -> None:
    assert wanted in translated(with_signs, data, name)
