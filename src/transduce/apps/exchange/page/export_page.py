"""Exports a model as a web page that translates: one file with engine, model, vocabulary and card, for any browser."""

import base64
import codecs
import gzip
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from markdown_it import MarkdownIt

from docsegments.language_codes import english_name
from docsegments.sentences import words_at_stops
from transduce.analysis.design import palettes
from transduce.analysis.page import escape_text, json_block
from transduce.apps.exchange.firefox.arithmetic import open_student
from transduce.apps.exchange.firefox.export_firefox import export_firefox
from transduce.apps.exchange.firefox.import_firefox import FirefoxFiles
from transduce.apps.exchange.firefox.write_student import search_settings
from transduce.apps.exchange.page.page_engine import PageEngine, load_engine
from transduce.base.config import Settings
from transduce.base.errors import InputError
from transduce.base.files import check_absent, made_parents, new_file
from transduce.base.verification import CARD
from transduce.bundle.model_bundle import EXPORT
from transduce.corpora.catalogue.download import Progress
from transduce.inference.engines.engine_table import is_firefox
from transduce.inference.engines.exported import ExportedModel

SUFFIXES = (".html", ".htm")
SCRIPTS = ("unpacked.js", "sentences.js", "page.js")
WORKER = ("unpacked.js", "worker.js")
FIRST, BELOW, ABOVE, MARK = 0x100, 0xD800 - 0x100, 0xFFFE - 0xE000, 0x21
"""The characters that hold files; see unpacked.js."""

# Nothing may be loaded or sent; WebAssembly may be compiled, and the engine's thread be made of what the page holds.
POLICY = (
    "default-src 'none'; script-src '{script}' 'wasm-unsafe-eval'; style-src '{style}'; worker-src blob:; "
    "img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'"
)


class PageExport(Settings, frozen=True):
    """A record of an exported page."""

    bytes: int
    """The size of the page."""
    source: str
    """The language it translates from."""
    target: str
    """The language it translates to."""
    engine: str
    """Name and licence of the engine that it holds."""

    def describe(self) -> str:
        """Returns one line for people."""
        return f"{self.source} to {self.target}, {self.bytes / 1e6:.1f} MB; it holds {self.engine}"


@dataclass(frozen=True)
class PageModel:
    """A model in Firefox's form that a page can hold."""

    source: str
    """Code of the language it translates from."""
    target: str
    """Code of the language it translates to."""
    files: dict[str, bytes]
    """Contents of the model's files: model, source (the vocabulary), target if it has its own, and shortlist if any."""
    card: str
    """The model's description, in Markdown; may be empty."""


def export_page(
    model: Path,
    file: Path,
    texts: Sequence[str] = (),
    engine: Path | None = None,
    progress: Progress | None = None,
) -> PageExport:
    """Writes a page that translates as the model does in Firefox's form.

    Args:
        model: the folder of a model or a run, or one in Firefox's form.
        file: the page to write; ends in .html, and must not exist.
        texts: sentences like those to be translated, by which a model is exported to Firefox's form (`export_firefox`);
            a folder in that form needs none.
        engine: the npm package of the engine (default: the one in the cache, fetched if it is not there).
        progress: a function that is called while the engine is fetched.

    Raises:
        InputError: if the page exists or has another ending, the model cannot be exported, or the package is another.
        CheckpointError: if the model is damaged.
        DataError: if the engine cannot be fetched.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise InputError(f"{file}: a page ends in {SUFFIXES[0]}; name it {file.name}{SUFFIXES[0]}")
    check_absent(file, "choose another name")
    read = read_page_model(model) if is_firefox(model) else None
    held = load_engine(engine, progress)
    if read is None:
        with tempfile.TemporaryDirectory() as folder:
            export_firefox(model, Path(folder) / "model", texts)
            read = read_page_model(Path(folder) / "model")
    # In UTF-8 the files in it would be a quarter longer; the mark at its beginning decides in every browser.
    content = codecs.BOM_UTF16_LE + render_page(read, held).encode("utf-16-le")
    with made_parents(file), new_file(file) as new:
        new.write_bytes(content)
    return PageExport(bytes=len(content), source=read.source, target=read.target, engine=held.notice)


def read_page_model(folder: Path) -> PageModel:
    """Reads and verifies a folder that `transduce export --to firefox` wrote, or the uncompressed files of a model that
    was released for Firefox.

    Raises:
        CheckpointError: if a file is missing, damaged or changed, or does not fit the others.
        InputError: if it is a model of another kind.
    """
    if (folder / EXPORT).exists():
        ExportedModel.load(folder)  # an error for a file that has changed
    files = FirefoxFiles.open(folder)
    open_student(files.paths, files.config, files.tokenizers)
    paths = files.paths
    contents = {"model": paths.model, "source": paths.source_vocabulary}
    if not paths.is_shared:
        contents["target"] = paths.target_vocabulary
    if paths.shortlist.exists():
        contents["shortlist"] = paths.shortlist
    card = folder / CARD
    return PageModel(
        files.config.source,
        files.config.target,
        {name: path.read_bytes() for name, path in contents.items()},
        card.read_text(encoding="utf-8", errors="replace") if card.is_file() else "",
    )


def render_page(model: PageModel, engine: PageEngine) -> str:
    """Returns the page as HTML that loads nothing."""
    names = (english_name(model.source), english_name(model.target))
    facts = {
        "source": model.source,
        "target": model.target,
        "names": names,
        "words": words_at_stops(),
        "worker": "\n".join(map(_file, WORKER)),
        "settings": f"{search_settings()}ssplit-mode: sentence\n",
    }
    script = '\n"use strict";\n' + "\n".join(map(_file, SCRIPTS))
    style = f"\n{palettes()}\n{_file('page.css')}"
    return _file("page.html").format(
        policy=POLICY.format(script=_hash(script), style=_hash(style)),
        title=escape_text(" to ".join(names)),
        style=style,
        card=_card(model.card),
        engine=escape_text(engine.notice),
        facts=json_block(facts),
        script=script,
        data="\n".join(_blocks({"script": engine.script, "engine": engine.program} | model.files)),
    )


def _blocks(files: dict[str, bytes]) -> Iterator[str]:
    """Yields elements that hold files; no browser runs their type."""
    for name, content in files.items():
        packed = gzip.compress(content, 9, mtime=0)
        text = _as_text(packed)
        yield f'<script type="application/gzip" data-file="{name}" data-bytes="{len(packed)}">{text}</script>'


def _as_text(content: bytes) -> str:
    """Returns bytes as characters of UTF-16 that unpacked.js reads: two bytes each, with a mark before 1 of 28."""
    values = np.frombuffer(content + b"\0" * (len(content) % 2), "<u2").astype(np.uint32)
    is_beyond = values >= BELOW + ABOVE
    values -= np.where(is_beyond, BELOW + ABOVE, 0).astype(np.uint32)
    codes = np.where(values < BELOW, values + FIRST, values - BELOW + 0xE000)
    marked = np.insert(codes, np.flatnonzero(is_beyond), MARK)
    return marked.astype("<u2").tobytes().decode("utf-16-le")


def _card(text: str) -> str:
    """Returns a model's card as HTML of plain elements: no HTML of its own, links or pictures, nor code, which is for
    other uses of the model."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink"])
    tokens = [token for token in markdown.parse(text) if token.type not in ("code_block", "fence")]
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def _hash(content: str) -> str:
    """Returns the hash by which a policy names an element's text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode('ascii')}"


def _file(name: str) -> str:
    return (resources.files("transduce.apps.exchange.page") / name).read_text(encoding="utf-8")
