"""Text that cannot be read: lines to translate, references, prefixes, glossaries, plain and packed."""

from bad_inputs.damages import (
    cut,
    garbage,
    write,
    write_xz,
    write_zst,
)
from bad_inputs.row import row

PLAIN = "The dog sleeps.\n"


ROWS = [
    row("translate run text.xz", "text.xz: cannot be opened"),
    row(
        "translate run text.xz",
        "text.xz: damaged",
        write_xz("text.xz", "The dog sleeps.\n"),
        cut("text.xz"),
        prints=True,
    ),
    row("translate run a.zst", "a.zst: damaged", write_zst("a.zst", "The dog sleeps.\n"), cut("a.zst"), prints=True),
    row("translate run text.xlsx", "text.xlsx: is no Excel workbook, or damaged", garbage("text.xlsx")),
    # Plain text to translate
    row("translate run text", "text", write("text", PLAIN.encode("utf-16-le")), prints=True),
    row("translate run text.png", "text.png: a picture cannot be", write("text.png", b"\x89PNG\r\n\x1a\n")),
    row("translate run", "-: line 1: compressed data cannot be translated", stdin=b"\x1f\x8b\x08\0\0"),
    row("translate run test.en --context", "the model reads no context; train one with data.context"),
    # Prefixes
    row("translate run test.en --prefix-file p", ("p ends before line 3",), write("p", "\n\n"), prints=True),
    row("translate run test.en --prefix-file p", ("p has more lines than", "7"), write("p", "\n" * 9), prints=True),
    row("translate run test.en --prefix Quark", ("prefix 'Quark'", "vocabulary lacks")),
    row("translate run test.en --prefix Der --glossary g", ("'Der'", "banned"), write("g", "\tDer\tban\n")),
    # Glossaries
    row(
        "translate run test.en --glossary g.csv",
        "g.csv: line 2: its cells cannot be distinguished",
        write("g.csv", 'dog,Hund\n"cat,Katze\n'),
    ),
    row(
        "translate run test.en --glossary g.tbx",
        "g.tbx: line 1: not well-formed XML",
        write("g.tbx", "<tbx><text><body><conceptEntry>"),
    ),
    row(
        "translate run test.en --glossary g.tbx",
        "no concept has terms in 'en' and 'de'; its languages are fr",
        write("g.tbx", "<tbx><conceptEntry><langSec xml:lang='fr'/></conceptEntry></tbx>"),
    ),
    row("translate run test.en --glossary g", "g: the glossary is empty", write("g", "")),
    row("translate run test.en --glossary g", ("g: line 1", "a tab"), write("g", "dog Hund\n")),
    row("translate run test.en --glossary terms.tsv --sample", ("terms.tsv: required phrases", "--sample")),
    row("translate run test.en --glossary g", "0 of 7 required phrases", write("g", "\tQuark\n"), status=0),
    row("translate run test.en --glossary g", ("g: line 1", "blank form"), write("g", "dog|\tHund\n")),
    row("translate run test.en --glossary-use exact", "add --glossary"),
    row("translate run test.en --glossary terms.tsv --glossary-use soft", "'soft' is not one of"),
    row("translate run test.en --glossary terms.tsv --glossary-use hint", "'hint' is not one of"),
    row("data forms terms.tsv g.tsv -o new.tsv", "no sentence pairs", write("g.tsv", "")),
    row("data forms terms.tsv train.tsv -o new.tbx", "ends in .tsv"),
    # References and finished outputs
    row("evaluate o --reference r", ("no", "lines"), write("o", ""), write("r", "")),
    row("export run -o out --sentences s", "no sentence to compare", write("s", "")),
    # Pairs to score and to learn a shortlist from
    row("score run --pairs p.tsv", "0 pairs", write("p.tsv", ""), status=0),
    row(
        "translate run text.pdf",
        ("text.pdf: a PDF cannot be translated", "pdftotext"),
        write("text.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"),
    ),
    row("translate run text", ("text: XML or HTML cannot", ".html"), write("text", b"<?xml version='1.0'?>")),
    row("translate run text.doc", "save it as .docx", write("text.doc", b"a")),
    row("translate run text.po.gz", "unpack it first", write("text.po.gz", b"a")),
]
