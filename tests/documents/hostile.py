"""Texts that may make a document slow to read, or large in memory: tokens of the format and of others, repeated."""

import importlib.util
import io
import itertools
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from growth import Attack
from transduce.documents.formats import FORMATS, format_of

ANYWHERE = (
    *"\"'\\ \t\n\r\0a0.。!?*_`~#|:;=-+&%$@<>(){}[]^/,éあ\u0301\u200d\u2028\u3000\U0001f600",
    *(
        "\r\n",
        "<g>",
        "</g>",
        "<b>",
        "<b",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?",
        "<!DOCTYPE",
        "<a href=",
        "<v.a",
        "<p>",
    ),
    *("&#1", "&#1;", "&#x", "&amp;", "&lt;", "&a", "[^", "[^a", "[^a]: x\n", "![", "](", "[a](b", "](<", "[[", "]]"),
    *("{{", "}}", "{%", "%}", "{#", "${", "%{", "%0", "%(", "%1$", "%s", "%-", "<%", "{a, plural, other{", "&lt;g&gt;"),
    *(
        "> ",
        "- ",
        "1. ",
        "  - ",
        "    ",
        "***",
        "```\n",
        "~~~",
        ":::",
        "$$",
        "===\n",
        "|-",
        "| a ",
        "# ",
        "\\\n",
        "<div>\n",
    ),
    *(
        'msgid "',
        '""\n',
        '\\"',
        "msgctxt",
        "msgstr[0]",
        "#, ",
        "#~ ",
        "http://",
        "www.a",
        "a@b.",
        "a.",
        "Mr. ",
        "1. a ",
    ),
    *("00:00:01,000 --> 00:00:02,000\n", "-->", "WEBVTT", "NOTE\n", "{\\an8}", "<i>", "<c.a>", "<00:01.000>", "- a\n"),
    *(
        "\n\n",
        " \n",
        "x\n",
        "x\n\n",
        "x ",
        '"a": ',
        '{"a":',
        "a: ",
        "  a:\n",
        "&a ",
        "*a",
        "? ",
        "a=b\n",
        "\\u00e4",
        '"a","b"\n',
    ),
)
"""Tokens of all formats and of texts."""
HALVES = (
    *(("<g>", "</g>"), ("<b>", "</b>"), ("<div>", "</div>"), ("[", "]"), ("[", "](a)"), ("(", ")"), ("{", "}")),
    *(("{{", "}}"), ("<", ">"), ("*", "a*"), ("**a ", "b**"), ("> ", "a"), ("`", "a`"), ("&lt;g&gt;", "&lt;/g&gt;")),
    *(("<g id='1'>", "</g>"), ('{"a":', "}"), ("a:\n ", "b"), ("<i>", "</i>"), ("- ", "a"), (" ", "a"), ("\n", " ")),
    *(("%s", "a "), ("[a]: b\n", "[a]"), ("*[a]: b\n", "a "), ("[^a]: b\n", "[^a]"), ("#~ ", "\n"), ("a", "\u0301")),
)
"""Units of which all of the first come before all of the second."""
DECLARED = (
    Attack(("a", "<g/>"), '<!DOCTYPE tmx [<!ATTLIST g x CDATA "', "", '">]><tmx>'),
    Attack(("a", "&a;"), '<!DOCTYPE tmx [<!ENTITY a "', "", '">]><tmx>'),
    Attack(("<!ENTITY a 'b'>",), "<!DOCTYPE tmx [", "]>"),
    Attack((" a='b'",), "<g", ">"),
    Attack((" xmlns:a='b'",), "<g", ">"),
    Attack(("a", "[a]\n"), "[", "", "]: b\n"),
    Attack(("a", "[a]\n"), "[a]: /", "", "\n"),
    Attack(("a", "[^1]\n"), "[^1]: ", "", "\n"),
    Attack(("a", " *a"), "x: &a ", "", "\ny:"),
)
"""What is long, and said once, before uses of it; and many names of one thing."""


MESSAGES = {
    "a.json": '{"home": {"title": "The dog sees {{name}}.", "n_one": "A dog", "n_other": "{{count}} dogs"},\n'
    ' "list": ["The cat"]}\n',
    "a.arb": '{"@@locale": "en",\n "dogs": "{n, plural, one{A dog} other{{n} dogs}}",\n'
    ' "@dogs": {"placeholders": {"n": {}}}}\n',
    "a.xcstrings": '{"sourceLanguage": "en", "strings": {"The dog": {"comment": "c"}, "%lld dogs": {"localizations":\n'
    ' {"en": {"variations": {"plural": {"one": {"stringUnit": {"state": "new", "value": "%lld dog"}}}}}}}},\n'
    ' "version": "1.0"}\n',
    "a.yaml": "en:\n  title: The dog sees %{name}. # a note\n  long: |\n    The cat\n    sleeps.\n"
    "  'two': \"A \\u00e4 dog\"\n  folded: >-\n    The man\n    sings\n  list: &a\n  - One dog\n  - {b: The child}\n"
    "  other: *a\n",
    "a.properties": "# a note\ntitle = The dog sees {0}.\nlong: The cat \\\n   sleeps\\u00e4\nkey\\ two The man\n",
    "a.strings": '/* a note */\n"title" = "The dog sees %@.";\n// another\nkey = "The \\"cat\\" sleeps\\n";\n',
    "strings.xml": '<?xml version="1.0" encoding="utf-8"?>\n'
    '<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">\n<!-- a note -->\n'
    '<string name="a">The dog sees <xliff:g id="n">%1$s</xliff:g>.</string>\n'
    '<plurals name="p"><item quantity="one">A dog</item><item quantity="other">%d dogs</item></plurals>\n'
    '<string-array name="l"><item>The <b>cat</b></item></string-array>\n</resources>\n',
    "a.csv": 'id,en,de\n1,The dog sees %s.,\n2,"The ""cat"", it\nsleeps",Die Katze\n',
}
"""Files of messages, beside the documents of conftest.py."""


@dataclass(frozen=True)
class Place:
    """A document with a place for a text."""

    kind: str
    name: str
    before: str
    after: str
    encoding: str = "utf-8"
    member: str = ""
    """The file that the text is in, in a document that is an archive."""

    def document(self, text: str) -> bytes:
        """The document with that text."""
        data = (self.before + text + self.after).encode(self.encoding, "replace")
        if not self.member:
            return data
        written = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(_documents()[self.name])) as old, zipfile.ZipFile(written, "w") as new:
            for one in old.namelist():  # not compressed, which would be refused for another reason
                new.writestr(one, data if one == self.member else old.read(one))
        return written.getvalue()

    def __str__(self) -> str:
        """Where it is, shortly."""
        return f"{self.kind} {self.member} {self.before[-25:]!r} HERE {self.after[:15]!r}"


def places(kind: str, most: int) -> list[Place]:
    """Places in the documents of a format: all of one, and after words, tags and lines of it."""
    found = [Place(kind, f"a{FORMATS[kind].endings[0] if FORMATS[kind].endings else '.text'}", "", "")]
    found = [place for place in found if not _is_archive(kind)]
    for name, member, text, encoding in _texts(kind):
        ends = [match.end() for match in re.finditer(r"[a-z]{2,}(?=[ .<\"\n])|\n|>|\Z", text)]
        within = (Place(kind, name, text[:end], text[end:], encoding, member) for end in ends)
        found += {(one.before[-12:], one.after[:3]): one for one in within}.values()
    step = max(len(found) / most, 1)
    return [found[int(n * step)] for n in range(min(most, len(found)))]


def attacks(kind: str) -> list[Attack]:
    """Texts made of the format's own tokens, and of all others'."""
    lines, tokens = [], []
    for _, _, text, _ in _texts(kind):
        lines += text.splitlines(keepends=True) if len(text) < 5000 else []
        tokens += re.findall(r"<[^<>]*>|\w+|\s+|[^\w\s]+", text)
    own = [*_spread([*dict.fromkeys(lines)], 30), *_spread([*dict.fromkeys(tokens)], 30)]
    units = list(dict.fromkeys([*ANYWHERE, *(unit for unit in own if len(unit) < 150)]))
    found = [Attack((unit,)) for unit in units]
    found += [Attack((f"{unit}\n",)) for unit in units[::2]]
    found += [Attack((f"{unit} a ",)) for unit in units[1::2]]
    found += [Attack(halves) for halves in HALVES]
    found += [Attack(("".join(halves),)) for halves in HALVES]
    found += [Attack((one + other,)) for one, other in itertools.permutations(_spread(units, 10), 2)]
    return list(dict.fromkeys([*found, *DECLARED]))


@cache
def _documents() -> dict[str, bytes]:
    """One of each format, as the tests of documents have them."""
    spec = importlib.util.spec_from_file_location("documents_of_tests", Path(__file__).with_name("conftest.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, bytes] = module.documents()
    return {**{name: text.encode() for name, text in MESSAGES.items()}, **found}


def _texts(kind: str) -> Iterator[tuple[str, str, str, str]]:
    """Name, file within an archive, text and encoding of each document of a format."""
    for name, data in _documents().items():
        if (format_of(name) or Path(name).suffix[1:]) != kind or name.startswith("crlf"):
            continue
        if zipfile.is_zipfile(io.BytesIO(data)):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                xml = [one for one in archive.infolist() if one.filename.endswith(".xml")]
                for one in sorted(xml, key=lambda one: "dog" not in archive.read(one).decode())[:2]:
                    yield name, one.filename, archive.read(one).decode(), "utf-8"
            continue
        for encoding in ("utf-8-sig", "utf-16", "latin-1"):
            try:
                text = data.decode(encoding)
            except UnicodeError:
                continue
            yield name, "", text, "utf-8" if encoding == "utf-8-sig" else encoding
            break


def _is_archive(kind: str) -> bool:
    return any(member for _, member, _, _ in _texts(kind))


def _spread(units: Sequence[str], most: int) -> list[str]:
    step = max(len(units) / most, 1)
    return [units[int(n * step)] for n in range(min(most, len(units)))]
