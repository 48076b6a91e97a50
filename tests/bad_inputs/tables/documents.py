"""Documents that cannot be read, memories that are none, and options that do not go with them."""

import io
import zipfile

from bad_inputs.damages import folder, garbage, write
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
ELSEWHERE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n'
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
ARCHIVES = (".docx", ".pptx", ".xlsx", ".odt")


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
    ("an unknown charset", ".po", PO.replace("UTF-8", "KLINGON"), ("unknown encoding 'KLINGON'",)),
    ("a charset of no text", ".po", PO.replace("UTF-8", "hex"), ("encoding 'hex'",)),
    ("another charset", ".po", PO.encode() + b"# " + LATIN, ("is not UTF-8",)),
    ("no messages", ".po", 'msgid ""\nmsgstr "Language: de\\n"\n', ("no messages",)),
    ("cut off", ".xlf", XLIFF[:90], ("not well-formed XML",)),
    ("a bomb of entities", ".xlf", BOMB + XLIFF, ("line 1: it declares the entity 'a'",)),
    ("an entity from elsewhere", ".xlf", ELSEWHERE + XLIFF, ("it declares the entity 'a'",)),
    ("another root", ".xlf", "<html/>", ("no XLIFF but begins with <html>",)),
    ("another version", ".xlf", XLIFF.replace("1.2", "3.1"), ("version '3.1'; supported are 1.2 and 2.0",)),
    ("another source language", ".xlf", XLIFF.replace('"en"', '"fr"'), ("'fr', not 'en'",)),
    ("another target language", ".xlf", XLIFF.replace('"de"', '"fr"'), ("'fr', not 'de'",)),
    ("nothing to translate", ".xlf", XLIFF.replace("trans-unit", "note"), ("no texts to translate",)),
    ("Latin-1", ".xlf", XLIFF.encode() + b"<!--" + LATIN + b"-->", ("line 2 is not UTF-8",)),
    ("an unknown encoding", ".xlf", "<?xml version='1.0' encoding='x'?>" + XLIFF, ("unknown encoding 'x'",)),
    ("cut off", ".xliff", XLIFF[:90], ("not well-formed XML",)),
    ("cut off", ".tmx", TMX[:60], ("not well-formed XML",)),
    ("a bomb of entities", ".tmx", BOMB + TMX, ("it declares the entity 'a'",)),
    ("another root", ".tmx", XLIFF, ("no TMX but begins with <xliff>",)),
    ("no text in the language", ".tmx", TMX.replace('"en"', '"fr"'), ("no text in 'en'; it has fr",)),
    ("too deep", ".tmx", "<tmx>" + "<a>" * 3000, ("more than 200 elements",)),
    (
        "a bomb of attributes",
        ".tmx",
        '<!DOCTYPE a [<!ATTLIST a b CDATA "c">]>' + TMX,
        ("it declares attributes of 'a'",),
    ),
    ("half of UTF-16", ".tmx", TMX.encode("utf-16")[:-1], ("is not UTF-16",)),
    ("no cues", ".srt", "The dog sleeps.\n", ("no cues",)),
    ("Latin-1", ".srt", SRT.encode() + LATIN, ("line 4 is not UTF-8", "iconv")),
    ("no head", ".vtt", SRT, ("must begin with WEBVTT",)),
    ("no cues", ".vtt", "WEBVTT\n", ("no cues",)),
    ("zero bytes", ".html", "<p>\0", ("zero bytes",)),
    ("Latin-1", ".html", LATIN, ("line 1 is not UTF-8",)),
    ("an unknown encoding", ".html", "<meta charset=klingon>", ("unknown encoding 'klingon'",)),
    ("Latin-1", ".md", LATIN, ("line 1 is not UTF-8",)),
    ("no archive", ".docx", "The dog sleeps.", ("no Word document, or damaged",)),
    ("another archive", ".docx", archive(a=b"b"), ("which of its files the text is in",)),
    ("a bomb", ".docx", archive(word__document_xml=b"<a>" + b" " * 40_000_000), ("bytes when unpacked",)),
    ("cut off inside", ".docx", archive(word__document_xml=b"<a>"), ("word/document.xml: line 1: not well-formed",)),
    ("cut off", ".docx", archive(word__document_xml=b"<a/>")[:-30], ("no Word document, or damaged",)),
    ("cut off", ".json", '{"a": "The dog', ("is not JSON",)),
    ("too deep", ".json", "[" * 9_000, ("more than 200 lists and objects",)),
    ("another language", ".json", '{"fr": {"a": "Le chien"}}', ("'fr', not 'en'",)),
    ("a catalogue of another ending", ".json", WHOLE[".xcstrings"], ("must end in .xcstrings",)),
    ("cut off", ".yaml", "a: [b", ("is not YAML",)),
    ("too deep", ".yaml", "- " * 100_000, ("more than 200 lists and mappings",)),
    ("control characters", ".yaml", "a: \x07", ("is not YAML",)),
    ("a broken escape", ".properties", "a=\\u12\n", ("line 1", "four digits")),
    ("cut off", ".strings", '"a" = "b', ("line 1: expected",)),
    ("compiled", ".strings", b"bplist00\xd1", ("a compiled property list", "made of")),
    ("of another kind", ".xcstrings", "{}", ("needs strings and sourceLanguage",)),
    ("cut off", ".xml", "<resources>", ("not well-formed XML",)),
    ("another root", ".xml", "<html/>", ("begins with <html>",)),
    ("a bomb of entities", ".xml", BOMB + "<resources/>", ("declares the entity 'a'",)),
    ("a list", ".arb", "[]", ("must be one object",)),
    ("no known column", ".csv", "a,b\n1,2\n", ("its first row is 'a', 'b'", "--source-column")),
    ("a quotation mark alone", ".csv", 'source\n"a"b\n', ("line 2", "cannot be distinguished")),
    ("no archive", ".pptx", "The dog sleeps.", ("no PowerPoint presentation, or damaged",)),
    ("another archive", ".pptx", archive(a=b"b"), ("which of its files the text is in",)),
    ("a bomb", ".xlsx", archive(a=b" " * 40_000_000), ("bytes when unpacked",)),
    ("another archive", ".odt", archive(a=b"b"), ("holds no content.xml",)),
    ("cut off inside", ".odt", archive(content_xml=b"<a>"), ("content.xml: line 1: not well-formed",)),
    ("a PDF", ".json", b"%PDF-1.7\n", ("is no JSON file of messages but a PDF", "pdftotext")),
    ("with a password", ".xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ("or one with a password",)),
    ("a bomb of entities", ".docx", archive(word__document_xml=BOMB.encode() + b"<x/>"), ("declares the entity 'a'",)),
]

ROWS = [
    *(
        row(
            f"{ending[1:]}: {what}",
            f"translate run text{ending}",
            2,
            (f"text{ending}: ", *words),
            write(f"text{ending}", text),
        )
        for what, ending, text, words in BROKEN
    ),
    *(
        row(
            f"{ending[1:]}: {what}", f"translate run text{ending}", 2, (f"text{ending}", words), damage(f"text{ending}")
        )
        for ending in (*WHOLE, ".pot", ".markdown", ".htm", ".xhtml", ".xliff", ".yml", ".tsv", *ARCHIVES)
        for what, words, damage in (
            ("empty", "is empty", lambda path: write(path, "")),
            ("a folder", "is a folder", folder),
        )
    ),
    *(
        row(f"{ending[1:]}: not there", f"translate run text{ending}", 2, "cannot be opened (No such")
        for ending in WHOLE
    ),
    *(
        row(f"{ending[1:]}: garbage", f"translate run text{ending}", 2, f"text{ending}", garbage(f"text{ending}"))
        for ending in (*WHOLE, *ARCHIVES)
    ),
    # Options
    row(
        "a column of no table", "translate run text.po --source-column a", 2, "--source-column is for CSV", whole(".po")
    ),
    row("a column of lines", "translate run test.en --target-column a", 2, "--target-column is not for lines of text"),
    row(
        "a column that there is not",
        "translate run text.csv --source-column x",
        2,
        "no column 'x'; its first row is 'id', 'source'",
        whole(".csv"),
    ),
    row("an unknown format", "translate run text.po --format ods", 2, "--format", whole(".po")),
    row("lines with a log", "translate run test.en --log log", 2, ("--log is not for lines", "--format")),
    row("lines with a memory", "translate run test.en --memory terms.tsv", 2, "--memory is not for lines of text"),
    row(
        "an encoding that there is not",
        "translate run text.srt --encoding klingon",
        2,
        "unknown encoding 'klingon'",
        whole(".srt"),
    ),
    row(
        "an encoding of no text",
        "translate run text.srt --encoding punycode",
        2,
        "unknown encoding 'punycode'",
        whole(".srt"),
    ),
    row(
        "an encoding for an archive",
        "translate run text.docx --encoding gbk",
        2,
        "is an archive, which has no encoding",
        write("text.docx", archive(a=b"b")),
    ),
    row("an encoding of lines", "translate run test.en --encoding gbk", 2, "--encoding is not for lines of text"),
    row("lines again", "translate run test.en --retranslate", 2, "--retranslate is not for lines of text"),
    row(
        "translations kept and replaced",
        "translate run text.po --retranslate --fill-only",
        2,
        ("--fill-only", "--retranslate", "leave one of them out"),
        whole(".po"),
    ),
    row(
        "a document with --resume",
        "translate run text.po -o o.po --resume",
        2,
        "--resume is not for a document",
        whole(".po"),
    ),
    row(
        "a document with --n-best",
        "translate run text.md --n-best 2",
        2,
        "--n-best is not for a document",
        whole(".md"),
    ),
    row(
        "a document with --prefix",
        "translate run text.md --prefix Der",
        2,
        "--prefix is not for a document",
        whole(".md"),
    ),
    row(
        "a language by its name",
        "translate run text.po --target-language german",
        2,
        "'german' is no code",
        whole(".po"),
    ),
    row(
        "a language that the model does not write",
        "translate run text.po --target-language fr",
        2,
        "to de, not to fr",
        whole(".po"),
    ),
    row(
        "a language that the model does not read",
        "translate run text.po --source-language fr",
        2,
        "from en, not from fr",
        whole(".po"),
    ),
    row(
        "no text in the language asked for",
        "translate run text.tmx --source-language en-GB",
        2,
        "no text in 'en-GB'",
        write("text.tmx", TMX.replace('"en"', '"it"')),
    ),
    row("a document over another", "translate run text.po -o text.po", 2, "text.po exists", whole(".po")),
    row("a document into no folder", "translate run text.po -o no/o.po", 2, "its folder does not exist", whole(".po")),
    row("a log over another", "translate run text.po -o o.po --log text.po", 2, "text.po exists", whole(".po")),
    row(
        "a document and a memory from one stream", "translate run - --format po --memory -", 2, "can be read only once"
    ),
    row("a document for a language model", "translate lm text.po", 2, "is a language model", whole(".po")),
    # Memories
    row("no such memory", "translate run text.po --memory none.tmx", 2, "none.tmx: cannot be opened", whole(".po")),
    row(
        "a memory of another ending",
        "translate run text.po --memory test.en",
        2,
        "a translation memory is a file",
        whole(".po"),
    ),
    row(
        "a memory without tabs",
        "translate run text.po --memory m.tsv",
        2,
        "m.tsv: line 1 has no tab",
        whole(".po"),
        write("m.tsv", "a\n"),
    ),
    row(
        "an empty memory",
        "translate run text.po --memory m.tsv",
        2,
        "m.tsv: no translations",
        whole(".po"),
        write("m.tsv", ""),
    ),
    row(
        "a memory that is cut off",
        "translate run text.po --memory m.tmx",
        2,
        "m.tmx: line 1: not well",
        whole(".po"),
        write("m.tmx", "<tmx>"),
    ),
    row(
        "a memory without the language",
        "translate run text.po --memory m.tmx",
        2,
        "m.tmx: no text in 'en'",
        whole(".po"),
        write("m.tmx", TMX.replace('"en"', '"it"')),
    ),
    # To learn from
    row(
        "training on a memory that is cut off",
        "train own.tmx",
        2,
        "own.tmx: line 1: not well-formed",
        write("own.tmx", TMX[:60]),
    ),
    row(
        "training on a memory of one language",
        "train own.tmx",
        2,
        "target language is not known",
        write("own.tmx", TMX),
    ),
    row("training on an empty catalogue", "train own.po", 2, "own.po: is no PO catalogue", write("own.po", "")),
    row(
        "training on a catalogue of another language",
        "train own.po data.source=it data.target=fr",
        2,
        "'de', not 'fr'",
        write("own.po", PO.replace("UTF-8", "UTF-8\\nLanguage: de")),
    ),
    row("training on a damaged packed memory", "train own.tmx.gz", 2, "own.tmx.gz: damaged", write("own.tmx.gz", "x")),
    row(
        "training on subtitles without cues",
        "train a.en.srt a.de.srt",
        2,
        "a.en.srt: no cues",
        write("a.en.srt", "a"),
        write("a.de.srt", SRT),
    ),
    row(
        "training on subtitles and text",
        "train a.en.srt test.de",
        2,
        "a.en.srt: subtitles is not supported",
        write("a.en.srt", SRT),
    ),
    row(
        "training on units without translations",
        "train own.xlf",
        2,
        "own.xlf: no sentence pairs",
        write("own.xlf", XLIFF),
    ),
]
