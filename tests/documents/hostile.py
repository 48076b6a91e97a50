"""Texts that may make a document slow to read, or large in memory: tokens of the format and of others, repeated."""

import io
import itertools
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from docsegments.document_formats import FORMATS
from documents.made_documents import made_document
from documents.made_texts import Made
from growth import Attack

ANYWHERE = (
    *"\"'\\ \t\n\r\0a0.。!?*_`~#|:;=-+&%$@<>(){}[]^/,éあ\u0301\u200d\u2028\u3000\U0001f600",
    "<g>", "</g>", "<b>", "<b", "<!--", "-->", "<![CDATA[", "]]>", "<?", "<!DOCTYPE", "<v.a", "<p>", "&#1",
    "&#1;", "&#x", "&amp;", "&lt;", "&a", "[^", "[^a", "![", "](", "[a](b", "](<", "[[", "]]", "{{", "}}", "{%",
    "%}", "{#", "${", "%{", "%0", "%(", "%1$", "%s", "%-", "<%", "&lt;g&gt;", "***", "~~~", ":::", "$$", "|-",
    '\\"', "msgctxt", "msgstr[0]", "http://", "www.a", "a@b.", "a.", "WEBVTT", "{\\an8}", "<i>", "<c.a>",
    "<00:01.000>", '{"a":', "*a", "\\u00e4", "\r\n", "<a href=", "[^a]: x\n", "{a, plural, other{", "> ", "- ",
    "1. ", "  - ", "    ", "```\n", "===\n", "| a ", "# ", "\\\n", "<div>\n", 'msgid "', '""\n', "#, ", "#~ ",
    "Mr. ", "1. a ", "00:00:01,000 --> 00:00:02,000\n", "NOTE\n", "- a\n", "\n\n", " \n", "x\n", "x\n\n", "x ",
    '"a": ', "a: ", "  a:\n", "&a ", "? ", "a=b\n", '"a","b"\n',
)  # fmt: skip
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
        with zipfile.ZipFile(io.BytesIO(_made(self.kind)[0].data)) as old, zipfile.ZipFile(written, "w") as new:
            for one in old.namelist():  # not compressed, which would be refused for another reason
                new.writestr(one, data if one == self.member else old.read(one))
        return written.getvalue()

    def __str__(self) -> str:
        """Where it is, shortly."""
        return f"{self.kind} {self.member} {self.before[-25:]!r} HERE {self.after[:15]!r}"


def places(kind: str, most: int) -> list[Place]:
    """Places in the documents of a format: all of one, and after words, tags and lines of it."""
    found = [] if FORMATS[kind].is_archive else [Place(kind, _made(kind)[0].name, "", "")]
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
def _made(kind: str) -> list[Made]:
    return [made_document(kind, seed) for seed in ((3,) if FORMATS[kind].is_archive else (3, 7))]


def _texts(kind: str) -> Iterator[tuple[str, str, str, str]]:
    """Name, file within an archive, text and encoding of documents of a format."""
    for made in _made(kind):
        if FORMATS[kind].is_archive:
            with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
                texts = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".xml")}
            for name in sorted(texts, key=lambda name: -sum(word in texts[name] for word in made.words))[:2]:
                yield made.name, name, texts[name], "utf-8"
        else:
            encoding = "utf-16" if made.data[:2] == b"\xff\xfe" else "utf-8"
            yield made.name, "", made.data.decode(encoding), encoding


def _spread(units: Sequence[str], most: int) -> list[str]:
    step = max(len(units) / most, 1)
    return [units[int(n * step)] for n in range(min(most, len(units)))]
