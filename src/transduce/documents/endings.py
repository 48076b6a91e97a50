"""Files that are no documents to translate: what they are, by their endings or first bytes, and what to do instead."""

import codecs
from dataclasses import dataclass
from pathlib import PurePath

PACKED = (".gz", ".xz", ".zst", ".bz2")
"""Endings of single files that are compressed; what is in them has its own ending before that."""


@dataclass(frozen=True)
class Refused:
    """Files that are not translated as they are."""

    what: str
    """For messages: `a PDF`."""
    endings: str
    """Separated by blanks."""
    advice: str
    """What to do instead."""
    has_lines: bool = False
    """Whether they are text, whose lines can be translated as they are if someone asks for that."""


_MARKDOWN = "convert it to Markdown or .docx, for example with pandoc"
_OF_MESSAGES = "convert it to PO or XLIFF, for example with the Translate Toolkit"
_TAKE_OUT = "take its texts out, one a line, into a .txt file"
_CODE = "translate the files of messages that it reads, such as PO, JSON or .properties"

REFUSED = (
    Refused("a PDF", ".pdf", "copy its text out, for example with pdftotext, or convert it to .docx"),
    Refused("a page description", ".eps .xps .djvu", "copy its text out into a .txt file"),
    Refused("a Word document of the format before 2007", ".doc .dot .wpd .wps .hwp", "save it as .docx"),
    Refused("an Excel workbook of another format", ".xls .xlsb .xlt .numbers .ods .ots .fods", "save it as .xlsx"),
    Refused("a presentation of another format", ".ppt .pps .key .odp .otp .fodp", "save it as .pptx"),
    Refused("a text document of another format", ".rtf .pages .fodt .sxw .abw", "save it as .docx or .odt"),
    Refused("a drawing", ".odg .vsd .vsdx .svg .dwg .dxf .drawio", "copy its texts out into a .txt file"),
    Refused("an electronic book", ".epub .mobi .azw .azw3 .fb2", "convert it to .docx or HTML"),
    Refused("mail", ".eml .msg .mbox", "copy its text out into a .txt file"),
    Refused("a text with markup", ".tex .ltx .rst .adoc .asciidoc .org .textile .wiki .mediawiki", _MARKDOWN, True),
    Refused("a notebook", ".ipynb", "convert it to Markdown with jupyter nbconvert --to markdown"),
    Refused(
        "subtitles of another format",
        ".ass .ssa .sub .sbv .ttml .dfxp .smi .stl .lrc",
        "convert them to .srt, for example with ffmpeg",
        True,
    ),
    Refused("a compiled catalogue", ".mo .gmo .qm", "translate the PO or .ts file that it was made of"),
    Refused("messages of .NET or Qt", ".resx .resw .resjson .qts", _OF_MESSAGES, True),
    Refused(
        "messages of another format",
        ".ftl .ini .lang .dtd .rc .stringsdict .plist .tbx .dita .docbook",
        _OF_MESSAGES,
        True,
    ),
    Refused(
        "a project of a translation program",
        ".sdlxliff .mqxliff .mxliff .sdlppx .mqxlz .ttx .txml",
        "export it as XLIFF (.xlf)",
    ),
    Refused("settings", ".toml .cfg .conf .env .lock .gradle .editorconfig", _CODE, True),
    Refused("data", ".jsonl .ndjson .geojson .json5 .jsonc .jsonld .sql .bib .proto .avsc", _TAKE_OUT, True),
    Refused(
        "a program",
        ".py .pyi .js .mjs .cjs .jsx .tsx .java .kt .kts .c .h .cc .cpp .cxx .hpp .go .rs .rb .php .swift .m .mm "
        ".scala .groovy .lua .dart .hs .jl .vb .fs .r .sh .bash .zsh .fish .bat .cmd .ps1 .css .scss .sass .less "
        ".vue .svelte .astro .ejs .erb .haml .pug .jinja .j2 .twig .hbs .mustache .tmpl .tpl .liquid .jsp .asp .aspx "
        ".cshtml .diff .patch .cmake .dockerfile .tf",
        _CODE,
        True,
    ),
    Refused(
        "a picture",
        ".png .jpg .jpeg .gif .bmp .tif .tiff .webp .heic .ico .psd .avif",
        "read its text with a program such as tesseract, into a .txt file",
    ),
    Refused(
        "sound or film",
        ".mp3 .wav .flac .ogg .opus .m4a .aac .mp4 .mkv .avi .mov .webm .wmv .mpg .mpeg .flv",
        "translate its subtitles, as .srt or .vtt",
    ),
    Refused(
        "an archive", ".zip .rar .7z .tar .tgz .jar .apk .ipa .deb .rpm .iso .dmg", "unpack it, and translate its files"
    ),
    Refused("a program or library", ".exe .dll .dylib .bin .o .a .class .pyc .wasm .msi", "it is no text"),
    Refused("a font", ".ttf .otf .woff .woff2 .eot", "it is no text"),
    Refused(
        "data of numbers or tables",
        ".parquet .arrow .feather .sqlite .sqlite3 .db .mdb .accdb .npy .npz .pkl .pickle .safetensors .onnx .h5 .hdf5",
        _TAKE_OUT,
    ),
)
"""All that people may hand over; files of endings in no table are translated line by line if they are text."""

_BY_ENDING = {ending: one for one in REFUSED for ending in one.endings.split()}

_OLD_OFFICE = Refused(
    "a document of Office before 2007, or one with a password",
    "",
    "save it as .docx, .pptx or .xlsx, without a password",
)
ARCHIVE = Refused(
    "an archive (ZIP)", "", "give it the ending of its format, such as .docx, .xlsx or .odt, or unpack it"
)
_COMPRESSED = Refused("compressed data", "", "unpack it first")
_COMPILED = Refused("a compiled property list", "", "translate the file that it was made of")
OTHER = Refused("what is no text", "", "it holds zero bytes")
_FIRST_BYTES = (
    (b"%PDF-", _BY_ENDING[".pdf"]),
    (b"%!PS", _BY_ENDING[".eps"]),
    (b"PK\3\4", ARCHIVE),
    (b"PK\5\6", ARCHIVE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _OLD_OFFICE),
    (b"{\\rtf", _BY_ENDING[".rtf"]),
    (b"AT&TFORM", _BY_ENDING[".djvu"]),
    (b"\x1f\x8b", _COMPRESSED),
    (b"\xfd7zXZ\0", _COMPRESSED),
    (b"\x28\xb5\x2f\xfd", _COMPRESSED),
    (b"7z\xbc\xaf\x27\x1c", _BY_ENDING[".7z"]),
    (b"Rar!\x1a\x07", _BY_ENDING[".rar"]),
    (b"\x89PNG\r\n\x1a\n", _BY_ENDING[".png"]),
    (b"\xff\xd8\xff", _BY_ENDING[".jpg"]),
    (b"GIF87a", _BY_ENDING[".gif"]),
    (b"GIF89a", _BY_ENDING[".gif"]),
    (b"\x7fELF", _BY_ENDING[".exe"]),
    (b"bplist0", _COMPILED),
    (b"\xde\x12\x04\x95", _BY_ENDING[".mo"]),
    (b"\x95\x04\x12\xde", _BY_ENDING[".mo"]),
)
_MARKUP = Refused("XML or HTML", "", "give it the ending of its format, such as .html or .xlf", True)
_BEGINS_MARKUP = ("<?xml", "<!doctype", "<html", "<svg")
HEAD = 2**16
"""Bytes of a file that tell whether it is text."""


def ending_of(name: str) -> str:
    """The ending of a file's name, in small letters; where it is compressed, that of what is in it."""
    path = PurePath(name)
    if path.suffix.lower() in PACKED:
        path = path.with_suffix("")
    return path.suffix.lower()


def is_packed(name: str) -> bool:
    """Whether a file is compressed, by its ending."""
    return PurePath(name).suffix.lower() in PACKED


def refused_by_ending(name: str) -> Refused | None:
    """What a file is that is not translated, by its ending; None for any other."""
    return _BY_ENDING.get(ending_of(name))


def refused_by_content(data: bytes) -> Refused | None:
    """What is no text, by its first bytes, or for a zero byte among them; None for text, UTF-16 too."""
    found = next((one for first, one in _FIRST_BYTES if data.startswith(first)), None)
    if found is not None or not data:
        return found
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    return OTHER if b"\0" in data[:HEAD] and not is_wide else None


def refused_as_lines(data: bytes) -> Refused | None:
    """The same for what is to be translated line by line, which markup is not."""
    start = data[:200].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    if start.startswith(tuple(sign.encode() for sign in _BEGINS_MARKUP)):
        return _MARKUP
    return refused_by_content(data)
