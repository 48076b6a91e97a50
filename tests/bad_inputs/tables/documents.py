"""Documents that cannot be read, memories that are none, and options that do not go with them."""

import io
import zipfile

from bad_inputs.damages import folder, write
from bad_inputs.row import Damage, row

PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "The dog sleeps."\nmsgstr ""\n'
XLIFF = (
    '<xliff version="1.2"><file source-language="en" target-language="de"><body><trans-unit id="1">'
    "<source>The dog sleeps.</source></trans-unit></body></file></xliff>\n"
)
TMX = '<tmx version="1.4"><body><tu><tuv xml:lang="en"><seg>The dog sleeps.</seg></tuv></tu></body></tmx>\n'
SRT = "1\n00:00:01,000 --> 00:00:02,000\nThe dog sleeps.\n"
VTT = "WEBVTT\n\n00:01.000 --> 00:02.000\nThe dog sleeps.\n"
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n'
LATIN = "Der Hund schläft.".encode("latin-1")
WHOLE = {
    ".po": PO,
    ".xlf": XLIFF,
    ".tmx": TMX,
    ".srt": SRT,
    ".vtt": VTT,
    ".html": "<p>The dog",
    ".md": "# The dog\n",
    ".json": '{"a": "The dog sleeps."}\n',
    ".yaml": "a: The dog sleeps.\n",
    ".properties": "a=The dog sleeps.\n",
    ".strings": '"a" = "The dog sleeps.";\n',
    ".xcstrings": '{"sourceLanguage": "en", "strings": {"The dog sleeps.": {}}, "version": "1.0"}\n',
    ".xml": '<resources><string name="a">The dog sleeps.</string></resources>\n',
    ".arb": '{"a": "The dog sleeps."}\n',
    ".csv": "id,source\n1,The dog sleeps.\n",
}


def archive(**files: bytes) -> bytes:
    """A zip archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return data.getvalue()


def whole(ending: str) -> Damage:
    """A document that nothing is wrong with."""
    return write(f"text{ending}", WHOLE[ending])


BROKEN: list[tuple[str, str, str | bytes, tuple[str, ...]]] = [
    ("cut off", ".po", 'msgid "The dog\n', ("line 1",)),
    ("no catalogue", ".po", "The dog sleeps.\n", ("no msgid",)),
    ("another language", ".po", PO.replace("UTF-8", "UTF-8\\nLanguage: fr"), ("'fr', not 'de'",)),
    ("another charset", ".po", PO.encode() + b"# " + LATIN, ("is not UTF-8",)),
    ("no messages", ".po", 'msgid ""\nmsgstr "Language: de\\n"\n', ("no messages",)),
    ("a bomb of entities", ".xlf", BOMB + XLIFF, ("line 1: it declares the entity 'a'",)),
    ("another root", ".xlf", "<html/>", ("no XLIFF but begins with <html>",)),
    ("another version", ".xlf", XLIFF.replace("1.2", "3.1"), ("version '3.1'; supported are 1.2 and 2.0",)),
    ("nothing to translate", ".xlf", XLIFF.replace("trans-unit", "note"), ("no texts to translate",)),
    ("cut off", ".xliff", XLIFF[:90], ("not well-formed XML",)),
    ("no cues", ".srt", "The dog sleeps.\n", ("no cues",)),
    ("no head", ".vtt", SRT, ("must begin with WEBVTT",)),
    ("zero bytes", ".html", "<p>\0", ("zero bytes",)),
    ("another archive", ".docx", archive(a=b"b"), ("which of its files the text is in",)),
    ("a bomb", ".docx", archive(word__document_xml=b"<a>" + b" " * 40_000_000), ("bytes when unpacked",)),
    ("cut off", ".json", '{"a": "The dog', ("is not JSON",)),
    ("too deep", ".json", "[" * 9_000, ("more than 200 lists and objects",)),
    ("a catalogue of another ending", ".json", WHOLE[".xcstrings"], ("must end in .xcstrings",)),
    ("cut off", ".yaml", "a: [b", ("is not YAML",)),
    ("too deep", ".yaml", "- " * 100_000, ("more than 200 lists and mappings",)),
    ("a broken escape", ".properties", "a=\\u12\n", ("line 1", "four digits")),
    ("cut off", ".strings", '"a" = "b', ("line 1: expected",)),
    ("compiled", ".strings", b"bplist00\xd1", ("a compiled property list", "made of")),
    ("of another kind", ".xcstrings", "{}", ("needs strings and sourceLanguage",)),
    ("another root", ".xml", "<html/>", ("begins with <html>",)),
    ("a list", ".arb", "[]", ("must be one object",)),
    ("no known column", ".csv", "a,b\n1,2\n", ("its first row is 'a', 'b'", "--source-column")),
    ("a quotation mark alone", ".csv", 'source\n"a"b\n', ("line 2", "cannot be distinguished")),
    ("another archive", ".odt", archive(a=b"b"), ("holds no content.xml",)),
]

ROWS = [
    *(
        row(f"translate run text{ending}", (f"text{ending}: ", *words), write(f"text{ending}", text))
        for what, ending, text, words in BROKEN
    ),
    row("translate run text.po", ("text.po", "is empty"), write("text.po", "")),
    row("translate run text.po", ("text.po", "is a folder"), folder("text.po")),
    row("translate run text.po", "cannot be opened (No such"),
    # Options
    row("translate run text.po --source-column a", "--source-column is for CSV", whole(".po")),
    row("translate run test.en --target-column a", "--target-column is not for lines of text"),
    row("translate run text.csv --source-column x", "no column 'x'; its first row is 'id', 'source'", whole(".csv")),
    row("translate run text.srt --encoding klingon", "unknown encoding 'klingon'", whole(".srt")),
    row(
        "translate run text.docx --encoding gbk",
        "is an archive, which has no encoding",
        write("text.docx", archive(a=b"b")),
    ),
    row(
        "translate run text.po --retranslate --fill-only",
        ("--fill-only", "--retranslate", "leave one of them out"),
        whole(".po"),
    ),
    row("translate run text.po --target-language german", "'german' is no code", whole(".po")),
    row("translate run text.po --target-language fr", "to de, not to fr", whole(".po")),
    row(
        "translate run text.tmx --source-language en-GB",
        "no text in 'en-GB'",
        write("text.tmx", TMX.replace('"en"', '"it"')),
    ),
    row("translate run - --format po --memory -", "can be read only once"),
    row("translate lm text.po", "is a language model", whole(".po")),
    # Memories
    row("translate run text.po --memory none.tmx", "none.tmx: cannot be opened", whole(".po")),
    row("translate run text.po --memory test.en", "a translation memory is a file", whole(".po")),
    row("translate run text.po --memory m.tsv", "m.tsv: line 1 has no tab", whole(".po"), write("m.tsv", "a\n")),
    row("translate run text.po --memory m.tsv", "m.tsv: no translations", whole(".po"), write("m.tsv", "")),
    # To learn from
    row("train own.tmx.gz", "own.tmx.gz: damaged", write("own.tmx.gz", "x")),
    row("train a.en.srt test.de", "a.en.srt: subtitles is not supported", write("a.en.srt", SRT)),
    row("train own.xlf", "own.xlf: no sentence pairs", write("own.xlf", XLIFF)),
    row("translate run text.tmx", ("text.tmx: ", "more than 200 elements"), write("text.tmx", "<tmx>" + "<a>" * 3000)),
    row(
        "translate run text.tmx",
        ("text.tmx: ", "it declares attributes of 'a'"),
        write("text.tmx", '<!DOCTYPE a [<!ATTLIST a b CDATA "c">]>' + TMX),
    ),
    row("translate run text.yaml", ("text.yaml: ", "is not YAML"), write("text.yaml", "a: \x07")),
    row(
        "translate run text.xlsx",
        ("text.xlsx: ", "or one with a password"),
        write("text.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ),
    row("translate run text.po -o o.po --resume", "--resume is not for a document", whole(".po")),
    row("train own.tmx", "own.tmx: line 1: not well-formed", write("own.tmx", TMX[:60])),
    row("train own.tmx", "target language is not known", write("own.tmx", TMX)),
    row("train own.po", "own.po: is no PO catalogue", write("own.po", "")),
    row("train a.en.srt a.de.srt", "a.en.srt: no cues", write("a.en.srt", "a"), write("a.de.srt", SRT)),
]
