"""A translator's page beside the native engine: `python benchmarks/page.py FOLDER`, of a model in Firefox's form.

The page is opened in headless Chromium as a file, with the network switched off, and given Multi30k's test_2016_flickr
at once. Its translation of each sentence is compared with fxtranslate's, and with that of the page's engine in node
where `--bergamot` is the folder of its package, which npm has installed; seconds are those of the wall clock.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from playwright.sync_api import sync_playwright

from firefox_certificate import by_bergamot, timed
from transduce.apps.exchange.firefox.fxtranslate_engine import Student
from transduce.apps.exchange.firefox.student_files import StudentPaths
from transduce.apps.exchange.page.export_page import export_page
from transduce.corpora.splits import open_split

SHOWN = 5
WAIT = 3600_000  # milliseconds
ROWS = "JSON.stringify(state.rows.map(({ text, node }) => [text, node.textContent]))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder that `transduce export --to firefox` wrote")
    parser.add_argument("--engine", type=Path, help="the npm package of the page's engine")
    parser.add_argument("--bergamot", type=Path, help="the folder of that package, installed, to compare with in node")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--picture", type=Path, help="a file .png, for a picture of the page with the first sentences")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "translator.html"
        export = export_page(arguments.folder, page, engine=arguments.engine)
        pairs = open_split("multi30k", "test_2016_flickr", export.source, export.target)
        lines = [pair.source for pair in pairs][: arguments.sentences]
        rows, loading, seconds = in_chromium(page, lines, arguments.picture)
    words = sum(len(line.split()) for line in lines)
    print(f"the page has {export.bytes / 1e6:.2f} MB and is ready after {loading:.2f} s")
    print(f"Chromium: {words / seconds:.0f} words a second ({len(lines)} lines in {seconds:.1f} s)")
    sources = [source for source, _ in rows]
    student = Student(StudentPaths.find(arguments.folder))
    name = f"fxtranslate {version('fxtranslate')}"
    compare(name, rows, timed(name, words, lambda: [student.translate(source) for source in sources]))
    if arguments.bergamot is not None:
        compare("bergamot in node", rows, by_bergamot(arguments.bergamot, arguments.folder, sources, words))


def compare(name: str, rows: Sequence[tuple[str, str]], translations: Sequence[str]) -> None:
    """Prints how many of the page's translations, after their sentences, an engine gives too."""
    pairs = list(zip(rows, translations, strict=True))
    different = [(row, text) for row, text in pairs if row[1].strip() != text.strip()]
    equal = len(rows) - len(different)
    print(f"{equal} of {len(rows)} sentences are equal to those of {name} ({equal / len(rows):.1%})")
    for (source, in_page), text in different[:SHOWN]:
        print(f"  {source}\n    page:   {in_page}\n    {name}: {text}")


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


if __name__ == "__main__":
    main()
