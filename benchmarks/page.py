"""A translator's page beside the native engine: `python benchmarks/page.py FOLDER`, of a model in Firefox's form.

The page is opened in headless Chromium as a file, with the network switched off, and given Multi30k's test_2016_flickr
at once. Its translation of each sentence is compared with fxtranslate's; seconds are those of the wall clock.
"""

import argparse
import json
import shutil
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import fxtranslate
from playwright.sync_api import sync_playwright

from transduce.corpora.splits import open_split
from transduce.exchange.page.writing import export_page
from transduce.inference.engines.firefox.files import Paths

SHOWN = 5
WAIT = 3600_000  # milliseconds
ROWS = "JSON.stringify(state.rows.map(({ text, node }) => [text, node.textContent]))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder that `transduce export --to firefox` wrote")
    parser.add_argument("--engine", type=Path, help="the npm package of the page's engine")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--picture", type=Path, help="a file .png, for a picture of the page with the first sentences")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "translator.html"
        export = export_page(arguments.folder, page, engine=arguments.engine)
        pairs = open_split("multi30k", "test_2016_flickr", export.source, export.target)
        lines = [pair.source for pair in pairs][: arguments.sentences]
        rows, loading, seconds = in_chromium(page, lines, arguments.picture)
    started = time.perf_counter()
    expected = natively(Paths.find(arguments.folder), [source for source, _ in rows])
    native_seconds = time.perf_counter() - started
    words = sum(len(line.split()) for line in lines)
    differing = [(row, text) for row, text in zip(rows, expected, strict=True) if row[1] != text]
    print(f"the page has {export.bytes / 1e6:.2f} MB and is ready after {loading:.2f} s")
    print(f"Chromium: {words / seconds:.0f} words a second ({len(lines)} lines in {seconds:.1f} s)")
    print(f"fxtranslate {version('fxtranslate')}, one thread: {words / native_seconds:.0f} words a second")
    equal = len(rows) - len(differing)
    print(f"{equal} of {len(rows)} sentences are equal ({equal / len(rows):.1%})")
    for (source, in_page), native in differing[:SHOWN]:
        print(f"  {source}\n    page:   {in_page}\n    native: {native}")


def in_chromium(page: Path, lines: list[str], picture: Path | None) -> tuple[list[tuple[str, str]], float, float]:
    """Sentences with their translations, the seconds until the page is ready, and those of the translation."""
    with sync_playwright() as running:
        program = shutil.which("chromium")
        browser = running.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(offline=True, viewport={"width": 1080, "height": 520})
        opened = context.new_page()
        session = context.new_cdp_session(opened)
        started = time.perf_counter()
        opened.goto(page.as_uri())
        opened.wait_for_selector("#state:not(:has-text('Loading'))", state="attached")
        loaded = time.perf_counter()
        script = f"by('source').value = {json.dumps(chr(10).join(lines))}; translate()"
        session.send("Runtime.evaluate", {"expression": script})
        opened.wait_for_selector("#target[aria-busy=false]", timeout=WAIT)
        ended = time.perf_counter()
        answer = session.send("Runtime.evaluate", {"expression": ROWS, "returnByValue": True})
        if picture is not None:
            opened.fill("#source", "\n\n".join(lines[:3]))
            opened.wait_for_selector("#target[aria-busy=false]")
            opened.screenshot(path=picture)
        browser.close()
    return [tuple(row) for row in json.loads(answer["result"]["value"])], loaded - started, ended - loaded


def natively(paths: Paths, sentences: list[str]) -> list[str]:
    """Translations by the native engine, of one sentence at a time."""
    source, target = paths.source_vocabulary.read_bytes(), paths.target_vocabulary.read_bytes()
    shortlist = paths.shortlist.read_bytes() if paths.shortlist.exists() else None
    translator = fxtranslate.Translator(paths.model.read_bytes(), source, target, shortlist)
    return [translator.translate(sentence) for sentence in sentences]


if __name__ == "__main__":
    main()
