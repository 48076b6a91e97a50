"""Text that cannot be read: lines to translate, references, prefixes, glossaries, plain and packed."""

from bad_inputs.damages import (
    append,
    copy,
    cut,
    empty,
    folder,
    garbage,
    link,
    remove,
    write,
    write_gz,
    write_xz,
    write_zst,
)
from bad_inputs.row import Damage, row
from transduce.corpora.formats import DOCUMENTS

LATIN = "Der Hund schläft.\nEine schöne Frau.\n".encode("latin-1")
PLAIN = "The dog sleeps.\n"

PACKED = {".gz": write_gz, ".xz": write_xz, ".zst": write_zst}


def _packed(ending: str) -> list[tuple[str, tuple[str, ...], list[Damage]]]:
    """What may be wrong with a compressed file: a name, the words, the damages."""
    name = f"text{ending}"
    whole = PACKED[ending](name, PLAIN * 500)
    return [
        ("not there", (name, "cannot be opened"), []),
        ("plain text all the same", (name, "damaged"), [write(name, PLAIN)]),
        ("empty", (name,), [write(name, "")]),
        ("cut off", (name, "damaged after line"), [whole, cut(name)]),
        ("cut off in its head", (name, "damaged"), [write(name, b"\x1f\x8b\x08")]),
        ("garbage", (name, "damaged"), [garbage(name)]),
        *(
            [("garbage after its end", (name, "damaged"), [PACKED[ending](name, PLAIN), append(name, b"\1\2\3" * 9)])]
            if ending != ".xz"  # which Python's library passes over, after all the text
            else []
        ),
        ("a folder", (name, "is a folder"), [folder(name)]),
        ("not UTF-8 inside", (name, "line 1 is not UTF-8"), [PACKED[ending](name, LATIN)]),
        ("packed in another way", (name, "damaged"), [PACKED[".xz" if ending == ".gz" else ".gz"](name, PLAIN)]),
        ("a link to itself", (name, "cannot be opened"), [link(name, name)]),
    ]


ROWS = [
    *(
        row(f"{ending}: {what}", f"translate run text{ending}", 2, words, *damages, prints=True)
        for ending in PACKED
        for what, words, damages in _packed(ending)
    ),
    *(
        row(
            f"a document: {ending}",
            f"translate run text{ending} --format lines",
            2,
            ending,
            write(f"text{ending}", content),
            prints=True,
        )
        for ending, content in (
            (".docx", PLAIN),
            (".srt", "1\n00:00:01,000 --> 00:00:02,000\nThe dog sleeps.\n"),
            (".po", 'msgid "The dog sleeps."\nmsgstr ""\n'),
            (".tmx", '<tmx version="1.4"><body><tu><tuv xml:lang="en"><seg>a</seg></tuv></tu></body></tmx>\n'),
        )
    ),
    *(
        row(
            f"a document by its name: {ending}",
            f"translate run text{ending} --format lines",
            2,
            (f"text{ending}", kind),
            write(f"text{ending}", PLAIN),
        )
        for ending, kind in DOCUMENTS.items()
    ),
    row(
        "a spreadsheet",
        "translate run text.xlsx",
        2,
        "text.xlsx: is no Excel workbook, or damaged",
        garbage("text.xlsx"),
    ),
    # Plain text to translate
    row("no such text", "translate run nowhere.en", 2, "nowhere.en: cannot be opened (No such file"),
    row("a folder to translate", "translate run cache", 2, "cache is a folder"),
    row("a run to translate", "translate run run", 2, "run is a folder"),
    row("a link to itself", "translate run loop", 2, "loop: cannot be opened", link("loop", "loop")),
    row("a link to nowhere", "translate run loop", 2, "loop: cannot be opened", link("loop", "nowhere")),
    row("Latin-1", "translate run text", 2, ("text: line 1 is not UTF-8", "0xe4", "iconv"), write("text", LATIN)),
    row(
        "Latin-1 on a later line",
        "translate run text",
        2,
        "text: line 2 is not UTF-8",
        write("text", b"Ja.\n" + LATIN[18:]),
        prints=True,
    ),
    row(
        "UTF-16", "translate run text", 2, ("text: line 1 is not UTF-8", "0xff"), write("text", PLAIN.encode("utf-16"))
    ),
    row(
        "UTF-16 without a mark", "translate run text", 2, "text", write("text", PLAIN.encode("utf-16-le")), prints=True
    ),
    row("UTF-32", "translate run text", 2, "line 1 is not UTF-8", write("text", PLAIN.encode("utf-32"))),
    row(
        "half a character at the end",
        "translate run text",
        2,
        "line 2 is not UTF-8",
        write("text", PLAIN.encode() + "ö".encode()[:1]),
        prints=True,
    ),
    row("surrogates", "translate run text", 2, "line 1 is not UTF-8", write("text", b"\xed\xa0\x80\n")),
    row("overlong characters", "translate run text", 2, "line 1 is not UTF-8", write("text", b"\xc0\xaf\n")),
    row(
        "a program", "translate run text", 2, "text: a program or library", write("text", b"\x7fELF\x02\x01\x01\0\xff")
    ),
    row(
        "a picture",
        "translate run text.png",
        2,
        "text.png: a picture cannot be",
        write("text.png", b"\x89PNG\r\n\x1a\n"),
    ),
    *(
        row(
            f"a PDF: {name}",
            f"translate run {name}",
            2,
            (f"{name}: a PDF cannot be translated", "pdftotext"),
            write(name, b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"),
        )
        for name in ("text.pdf", "text.txt")
    ),
    row("zero bytes", "translate run text", 2, "text: what is no text cannot be translated", write("text", b"a\0b\n")),
    row(
        "markup",
        "translate run text",
        2,
        ("text: XML or HTML cannot", ".html"),
        write("text", b"<?xml version='1.0'?>"),
    ),
    row("an archive", "translate run text", 2, ("text: an archive (ZIP)", ".docx"), write("text", b"PK\x03\x04\x14\0")),
    row("an old document", "translate run text.doc", 2, "save it as .docx", write("text.doc", b"a")),
    row(
        "code", "translate run text.py", 2, ("a program cannot be translated", "--format lines"), write("text.py", b"a")
    ),
    row("a compressed document", "translate run text.po.gz", 2, "unpack it first", write("text.po.gz", b"a")),
    row(
        "weights as text",
        "translate run run/model/weights.safetensors",
        2,
        "weights.safetensors: data of numbers or tables cannot be translated",
    ),
    row("Latin-1 on standard input", "translate run", 2, "-: line 1 is not UTF-8", stdin=LATIN),
    row("UTF-16 on standard input", "translate run", 2, "-: line 1 is not UTF-8", stdin=PLAIN.encode("utf-16")),
    row(
        "a packed file on standard input",
        "translate run",
        2,
        "-: line 1: compressed data cannot be translated",
        stdin=b"\x1f\x8b\x08\0\0",
    ),
    row("neither a model nor text", "translate nowhere text", 2, "text: line 1 is not UTF-8", write("text", LATIN)),
    # Prefixes
    row("no such prefixes", "translate run test.en --prefix-file no", 2, "no: cannot be opened"),
    row("a folder of prefixes", "translate run test.en --prefix-file run", 2, "run is a folder"),
    row(
        "fewer prefixes than lines",
        "translate run test.en --prefix-file p",
        2,
        ("p ends before line 3",),
        write("p", "\n\n"),
        prints=True,
    ),
    row("no prefixes", "translate run test.en --prefix-file p", 2, ("p ends before line 1",), write("p", "")),
    row(
        "more prefixes than lines",
        "translate run test.en --prefix-file p",
        2,
        ("p has more lines than", "7"),
        write("p", "\n" * 9),
        prints=True,
    ),
    row("prefixes in Latin-1", "translate run test.en --prefix-file p", 2, "p: line 1 is not UTF-8", write("p", LATIN)),
    row(
        "prefixes that were cut off",
        "translate run test.en --prefix-file p.gz",
        2,
        "p.gz: damaged",
        write_gz("p.gz", "\n" * 7),
        cut("p.gz"),
    ),
    row(
        "a prefix of words that the model lacks",
        "translate run test.en --prefix Quark",
        2,
        ("prefix 'Quark'", "vocabulary lacks"),
    ),
    row(
        "a prefix that is banned",
        "translate run test.en --prefix Der --glossary g",
        2,
        ("'Der'", "banned"),
        write("g", "\tDer\tban\n"),
    ),
    row(
        "a prefix for sampling with a ban",
        "translate run test.en --prefix Der --sample --glossary g",
        2,
        "banned",
        write("g", "\tDer\tban\n"),
    ),
    # Glossaries
    row("no such glossary", "translate run test.en --glossary no", 2, "no: cannot be opened"),
    row("a folder as a glossary", "translate run test.en --glossary run", 2, "run is a folder"),
    row(
        "a glossary in CSV with an open quotation mark",
        "translate run test.en --glossary g.csv",
        2,
        "g.csv: line 2: its cells cannot be distinguished",
        write("g.csv", 'dog,Hund\n"cat,Katze\n'),
    ),
    row(
        "a term base that ends early",
        "translate run test.en --glossary g.tbx",
        2,
        "g.tbx: line 1: not well-formed XML",
        write("g.tbx", "<tbx><text><body><conceptEntry>"),
    ),
    row(
        "a term base of other languages",
        "translate run test.en --glossary g.tbx",
        2,
        "no concept has terms in 'en' and 'de'; its languages are fr",
        write("g.tbx", "<tbx><conceptEntry><langSec xml:lang='fr'/></conceptEntry></tbx>"),
    ),
    row("an empty glossary", "translate run test.en --glossary g", 2, "g: the glossary is empty", write("g", "")),
    row("a blank glossary", "translate run test.en --glossary g", 2, "g: the glossary is empty", write("g", "\n \n")),
    row("a glossary in Latin-1", "translate run test.en --glossary g", 2, "g: line 1 is not UTF-8", write("g", LATIN)),
    row(
        "a glossary without tabs",
        "translate run test.en --glossary g",
        2,
        ("g: line 1", "a tab"),
        write("g", "dog Hund\n"),
    ),
    row(
        "a glossary with commas",
        "translate run test.en --glossary g",
        2,
        ("g: line 2", "a tab"),
        write("g", "dog\tHund\ncat,Katze\n"),
    ),
    row(
        "a glossary without targets",
        "translate run test.en --glossary g",
        2,
        ("g: line 1", "a target phrase"),
        write("g", "dog\t\n"),
    ),
    row("a glossary of four columns", "translate run test.en --glossary g", 2, "g: line 1", write("g", "a\tb\tc\td\n")),
    row(
        "a glossary that bans in another word",
        "translate run test.en --glossary g",
        2,
        ("g: line 1", "'ban'"),
        write("g", "dog\tHund\tbanned\n"),
    ),
    row(
        "a glossary that bans in capitals",
        "translate run test.en --glossary g",
        2,
        ("g: line 1", "'ban'"),
        write("g", "dog\tHund\tBAN\n"),
    ),
    row(
        "a glossary for sampling",
        "translate run test.en --glossary terms.tsv --sample",
        2,
        ("terms.tsv: required phrases", "--sample"),
    ),
    row(
        "a glossary for groups",
        "translate run test.en --glossary terms.tsv --groups 2",
        2,
        "terms.tsv: required phrases",
    ),
    row(
        "a glossary that wants and bans the same",
        "translate run test.en --glossary g",
        2,
        ("Hund", "banned"),
        write("g", "\tHund\n\tHund\tban\n"),
    ),
    row(
        "a glossary of words that the model lacks",
        "translate run test.en --glossary g",
        0,
        "0 of 7 required phrases",
        write("g", "\tQuark\n"),
    ),
    row(
        "a glossary with a blank form",
        "translate run test.en --glossary g",
        2,
        ("g: line 1", "blank form"),
        write("g", "dog|\tHund\n"),
    ),
    row("a use of no glossary", "translate run test.en --glossary-use exact", 2, "add --glossary"),
    row("an unknown use", "translate run test.en --glossary terms.tsv --glossary-use soft", 2, "'soft' is not one of"),
    row(
        "a use that is gone",
        "translate run test.en --glossary terms.tsv --glossary-use hint",
        2,
        "'hint' is not one of",
    ),
    row("forms for no glossary", "data forms no train.tsv -o new.tsv", 2, "no: cannot be opened"),
    row("forms from no pairs", "data forms terms.tsv no.tsv -o new.tsv", 2, "no.tsv: cannot be opened"),
    row("forms from three files", "data forms terms.tsv a b c -o new.tsv", 2, "cannot be opened"),
    row("forms from a blank file", "data forms terms.tsv g.tsv -o new.tsv", 2, "no sentence pairs", write("g.tsv", "")),
    row("forms in a term base", "data forms terms.tsv train.tsv -o new.tbx", 2, "ends in .tsv"),
    row("forms over a glossary", "data forms terms.tsv train.tsv -o terms.tsv", 2, "terms.tsv exists"),
    row(
        "a glossary that was cut off",
        "translate run test.en --glossary g.gz",
        2,
        "g.gz: damaged",
        write_gz("g.gz", "dog\tHund\n" * 90),
        cut("g.gz"),
    ),
    # References and finished outputs
    row("no such reference", "evaluate test.de --reference no", 2, "no: cannot be opened"),
    row("no such source", "evaluate run --source no --reference test.de", 2, "no: cannot be opened"),
    row("a folder as reference", "evaluate test.de --reference run", 2, "run is a folder"),
    row("a folder as source", "evaluate run --source run --reference test.de", 2, "run is a folder"),
    row("a reference in Latin-1", "evaluate test.de --reference r", 2, "r: line 1 is not UTF-8", write("r", LATIN)),
    row("outputs in Latin-1", "evaluate o --reference test.de", 2, "o: line 1 is not UTF-8", write("o", LATIN)),
    row("outputs in Latin-1 on standard input", "evaluate - --reference test.de", 2, "-: line 1 is not", stdin=LATIN),
    row("no outputs", "evaluate o --reference test.de", 2, ("o", "0", "7"), empty("test.en"), copy("test.en", "o")),
    row("no references", "evaluate test.de --reference r", 2, ("r", "7", "0"), write("r", "")),
    row(
        "neither outputs nor references", "evaluate o --reference r", 2, ("no", "lines"), write("o", ""), write("r", "")
    ),
    row(
        "neither sources nor references",
        "evaluate run --source o --reference r",
        2,
        ("no", "lines"),
        write("o", ""),
        write("r", ""),
    ),
    row(
        "nothing to compare",
        "compare a b --source c --reference d",
        2,
        ("no", "lines"),
        *(write(name, "") for name in "abcd"),
    ),
    row(
        "source and reference of other lengths",
        "evaluate run --source dev.en --reference test.de",
        2,
        ("dev.en has 11 lines", "test.de has 7"),
    ),
    row("outputs that are the model's weights", "evaluate own.json --reference test.de", 2, ("own.json", "7")),
    row(
        "training text in Latin-1",
        "compare test.de dev.de --source dev.en --reference dev.de --train t",
        2,
        "test.de",
        write("t", LATIN),
    ),
    row(
        "training text that cannot be read",
        "compare a dev.de --source dev.en --reference dev.de --train t",
        2,
        "t: line 1 is not UTF-8",
        copy("dev.de", "a"),
        write("t", LATIN),
    ),
    row("an exporter's sentences that are not there", "export run -o out --sentences no", 2, "no: cannot be opened"),
    row("an exporter's sentences in Latin-1", "export run -o out --sentences s", 2, "s: line 1", write("s", LATIN)),
    row("no sentences for an exporter", "export run -o out --sentences s", 2, "no sentence to compare", write("s", "")),
    row("blank sentences for an exporter", "export run -o out --sentences s", 2, "blank", write("s", "\n \n")),
    row("a folder of sentences for an exporter", "export run -o out --sentences run", 2, "run is a folder"),
    # Pairs to score and to learn a shortlist from
    *(
        row(f"{what}: {verb}", f"{verb} {files}", 2, words, *damages, prints=True, **more)
        for verb in ("score run", "shortlist run --out out")
        for what, files, words, damages, more in (
            ("no such pairs", "--pairs no.tsv", "no.tsv: cannot be opened", (), {}),
            ("no such source", "--source no --target test.de", "no: cannot be opened", (), {}),
            ("no such target", "--source test.en --target no", "no: cannot be opened", (), {}),
            ("a folder of pairs", "--pairs run", "run", (), {}),
            ("pairs of no format", "--pairs test.en", ("test.en", ".tsv, .csv"), (), {}),
            ("pairs in Latin-1", "--pairs p.tsv", "p.tsv: line 1 is not", (write("p.tsv", b"a\t\xe4\n"),), {}),
            (
                "pairs of one column",
                "--pairs p.tsv",
                "line 2 has 1 of the 2 columns",
                (write("p.tsv", "a\tb\nc\n"),),
                {},
            ),
            (
                "pairs that were cut off",
                "--pairs p.tsv.gz",
                "p.tsv.gz: damaged",
                (write_gz("p.tsv.gz", "a\tb\n" * 99), cut("p.tsv.gz")),
                {},
            ),
            ("pairs in damaged JSON", "--pairs p.jsonl", "p.jsonl: line 1 is not JSON", (write("p.jsonl", "{\n"),), {}),
            ("pairs of unequal length", "--source dev.en --target test.de", ("dev.en has 11", "test.de has 7"), (), {}),
            ("pairs on standard input", "--pairs -", "standard input", (), {}),
            ("sources on standard input", "--source - --target test.de", "standard input", (), {}),
        )
    ),
    row("no pairs to score", "score run --pairs p.tsv", 0, "0 pairs", write("p.tsv", "")),
    row(
        "no pairs for a shortlist",
        "shortlist run --out out --pairs p.tsv",
        2,
        "p.tsv: no sentence pairs",
        write("p.tsv", ""),
    ),
    row(
        "blank pairs for a shortlist",
        "shortlist run --out out --pairs p.tsv",
        2,
        ("p.tsv: no sentence pairs are left",),
        write("p.tsv", "\t\n \t \n"),
    ),
    row(
        "unknown words for a shortlist",
        "shortlist run --out out --pairs p.tsv",
        2,
        ("p.tsv", "unknown"),
        write("p.tsv", "Quark\tQuark\n"),
    ),
    row("a shortlist where the training data have gone", "shortlist run --out out", 2, "train.en", remove("train.en")),
]
