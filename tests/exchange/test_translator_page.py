"""A page translates in a real browser, opened as a file with the network switched off, as the engines outside it do."""

import base64
import codecs
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from handmade_folder import HEBREW, UPPER, write_handmade
from transduce.apps.exchange.firefox.student_files import StudentPaths
from transduce.apps.exchange.page.export_page import PageModel, export_page, read_page_model, render_page
from transduce.apps.exchange.page.page_engine import FILE, PageEngine
from transduce.base.errors import CheckpointError, InputError

CACHE = Path(
    os.environ.get("TRANSDUCE_CACHE") or platformdirs.user_cache_path("transduce")
)  # the user's, not the tests'
LONG = 120_000  # milliseconds
HOSTILE = "<b>x</b></script><img src=x onerror=alert(1)> [y](javascript:alert(2)) `z`"
DROP = """{
  const transfer = new DataTransfer();
  transfer.items.add(new File([new Uint8Array(CONTENT)], NAME));
  for (const kind of ["dragover", "drop"])
    document.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


def upper(text: str) -> str:
    return "".join(UPPER.get(character, character) for character in text)


@pytest.fixture(scope="module")
def engine() -> Path:
    package = CACHE / "engines" / FILE
    if not package.exists():
        pytest.skip(f"{package} is missing; `transduce export ... --to page` fetches it")
    return package


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("folders") / "deen"
    write_handmade(sentencepiece, folder)
    (folder / "README.md").write_text(f"# A model\n\n{HOSTILE}\n\n    transduce translate\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def file(folder: Path, engine: Path) -> Path:
    page = folder.parent / "translator.html"
    export_page(folder, page, engine=engine)
    return page


class Opened:
    """A page opened from a file, offline; its policy forbids the tests what Playwright does by `eval`."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(LONG)
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("#state:not(:has-text('Loading'))", state="attached")
        self._session = self.context.new_cdp_session(self.page)

    def run(self, script: str) -> Any:
        answer = self._session.send("Runtime.evaluate", {"expression": script, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def translate(self, text: str) -> str:
        """The translation of a text that is put in the place of another."""
        self.page.fill("#source", text)
        return self.shown()

    def shown(self) -> str:
        self.page.wait_for_selector("#target[aria-busy=false]")
        return str(self.page.text_content("#target"))

    def drop(self, name: str, content: bytes) -> None:
        self.run(DROP.replace("CONTENT", str(list(content))).replace("NAME", json.dumps(name)))


@pytest.fixture(scope="module")
def shared(browser: Any, file: Path) -> Iterator[Opened]:
    """The page on a phone, on which nothing may go wrong."""
    opened = Opened(browser, file, viewport={"width": 390, "height": 844}, permissions=["clipboard-read"])
    yield opened
    assert opened.problems == []
    assert [url for url in opened.requests if not url.startswith(("file:", "blob:"))] == []


@pytest.fixture
def opened(shared: Opened) -> Opened:
    shared.translate("")
    return shared


def test_no_text_becomes_html_and_nothing_is_loaded() -> None:
    model = PageModel("de", "en", {"model": b"m", "source": b"s"}, HOSTILE)
    page = render_page(model, PageEngine(b"script</script>", b"program", "<i>notice"))
    assert "<b>" not in page and "<img" not in page and "<a " not in page and "&lt;i&gt;notice" in page
    settings = json.loads(re.search(r'id="facts">(.*?)</script>', page, re.DOTALL)[1])["settings"].splitlines()
    assert "max-length-factor: 4.0" in settings and "ssplit-mode: sentence" in settings
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe-inline" not in policy and "http" not in policy
    for element, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in rules[rule]
    assert not re.search(r"""\b(src|href)=["'](?!data:,)""", page)


def test_a_page_needs_its_ending_and_a_free_name(folder: Path, engine: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"translator: a page ends in \.html; name it translator\.html"):
        export_page(folder, tmp_path / "translator", engine=engine)
    (tmp_path / "a.html").touch()
    with pytest.raises(InputError, match=r"a\.html exists"):
        export_page(folder, tmp_path / "a.html", engine=engine)


def test_languages_are_those_of_the_metadata_or_of_the_names_of_files(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert (read_page_model(copy).source, read_page_model(copy).target) == ("de", "en")
    (copy / "metadata.json").write_text('{"sourceLanguage": "pt", "targetLanguage": "nb"}', encoding="utf-8")
    assert (read_page_model(copy).source, read_page_model(copy).target) == ("pt", "nb")
    (copy / "metadata.json").write_text('{"sourceLanguage": "../x"}', encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"metadata\.json: '\.\./x' is no language"):
        read_page_model(copy)


def test_a_cut_model_is_not_put_into_a_page(folder: Path, engine: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    model = StudentPaths.find(copy).model
    model.write_bytes(model.read_bytes()[:-1000])
    with pytest.raises(CheckpointError, match="no model of Firefox Translations, or a damaged one"):
        export_page(copy, tmp_path / "a.html", engine=engine)
    assert not (tmp_path / "a.html").exists()


@pytest.mark.slow
def test_sentences_are_translated_and_lines_kept(opened: Opened) -> None:
    text = "  Ein Hund rennt. Zwei Kinder spielen!\n\n\tJa.  \nNein"
    assert opened.translate(text) == upper(text)
    assert opened.page.get_attribute("#source", "lang") == "de"
    assert opened.page.get_attribute("#target", "lang") == "en"
    assert opened.page.title() == "German → English"
    assert opened.run("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
def test_only_changed_sentences_are_translated_again(opened: Opened) -> None:
    opened.run("""sent = []; {
      const post = state.worker.postMessage.bind(state.worker);
      state.worker.postMessage = (message) => { sent.push(message.text); post(message); };
    }""")
    opened.translate("Drei Hunde. Vier Katzen.")
    opened.run("kept = state.rows[1].node")
    assert opened.translate("Drei Hunde rennen. Vier Katzen.") == "DREI HUNDE RENNEN. VIER KATZEN."
    assert opened.translate("Vier Katzen. Drei Hunde.") == "VIER KATZEN. DREI HUNDE."
    assert opened.run("sent") == ["Drei Hunde.", "Vier Katzen.", "Drei Hunde rennen."]
    opened.translate("Neu. Vier Katzen. Drei Hunde.")
    assert opened.run("state.rows[1].node.isConnected && by('target').contains(kept)")
    opened.run("delete state.worker.postMessage")


@pytest.mark.slow
def test_long_text_shows_progress_and_stops(opened: Opened) -> None:
    lines = [f"Satz {number} ist lang genug." for number in range(120)]
    opened.page.fill("#source", "\n".join(lines))
    opened.page.wait_for_selector("#count:has-text('of 120 sentences'):not(:has-text('0 of 120 sentences'))")
    opened.page.click("#stop")
    opened.page.wait_for_selector("#state:has-text('Stopped after')")
    done = opened.run("state.next")
    assert 0 < done < 120 and opened.page.is_enabled("#copy")
    assert opened.page.text_content("#target").split("\n")[:done] == [upper(line) for line in lines[:done]]
    opened.page.click("#stop")
    assert opened.shown() == upper("\n".join(lines))
    assert opened.page.is_hidden("#work")
    assert opened.page.inner_text("#state") == "120 sentences are translated"


@pytest.mark.slow
def test_new_typing_takes_the_place_of_long_work(opened: Opened) -> None:
    opened.page.fill("#source", "\n".join(f"Noch ein Satz mit der Nummer {number}." for number in range(50)))
    opened.page.wait_for_selector("#work:not([hidden])")
    assert opened.translate("Kurz.") == "KURZ."
    assert opened.page.is_hidden("#work")


@pytest.mark.slow
def test_the_escape_key_stops(opened: Opened) -> None:
    opened.page.fill("#source", "\n".join(f"Wieder ein Satz mit der Nummer {number}." for number in range(50)))
    opened.page.wait_for_selector("#work:not([hidden])")
    opened.page.press("#source", "Escape")
    opened.page.wait_for_selector("#state:has-text('Stopped after')")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_dropped_file_is_translated_and_saved(opened: Opened, encoding: str) -> None:
    opened.drop("brief.v1.txt", f"Grüße aus {encoding}.\r\nBis bald.\n".encode(encoding))
    opened.page.wait_for_selector("#target:has-text('BALD')")
    assert opened.shown() == upper(f"Grüße aus {encoding}.\nBis bald.\n")
    with opened.page.expect_download() as download:
        opened.page.click("#save")
    assert download.value.suggested_filename == "brief.v1.en.txt"
    assert Path(download.value.path()).read_text(encoding="utf-8") == opened.shown()


@pytest.mark.slow
def test_a_chosen_file_is_translated(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Aus einer Datei.", encoding="utf-8")
    opened.page.set_input_files("#file", tmp_path / "a.txt")
    opened.page.wait_for_selector("#target:has-text('DATEI')")
    assert opened.page.input_value("#source") == "Aus einer Datei."
    opened.page.click("#clear")
    assert opened.shown() == "" and opened.page.is_disabled("#copy")


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"Gr\xfc\xdfe", b"a\0b", b"\x89PNG\r\n"])
def test_a_file_that_is_no_text_is_refused_and_nothing_lost(opened: Opened, content: bytes) -> None:
    opened.translate("Bleibt.")
    opened.drop("bild.png", content)
    opened.page.wait_for_selector("#state:has-text('bild.png is not a text file in UTF-8')")
    assert opened.page.input_value("#source") == "Bleibt." and opened.shown() == "BLEIBT."


@pytest.mark.slow
def test_the_translation_is_copied(opened: Opened) -> None:
    opened.translate("Eins.\n\nZwei.")
    opened.page.click("#copy")
    opened.page.wait_for_selector("#state:has-text('Copied')")
    opened.page.focus("#source")
    opened.page.keyboard.press("Control+A")
    opened.page.keyboard.press("Control+V")
    assert opened.page.input_value("#source") == "EINS.\n\nZWEI."


@pytest.mark.slow
def test_the_card_is_shown_as_text(opened: Opened) -> None:
    opened.page.click("summary")
    article = opened.page.inner_text("article")
    assert "<b>x</b></script><img src=x onerror=alert(1)>" in article and "A model" in article
    assert "transduce translate" not in article
    assert "Mozilla Public License 2.0" in article
    opened.page.click("summary")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Herr Dr. Müller kam am 3. Oktober. Er blieb.", ["Herr Dr. Müller kam am 3. Oktober.", "Er blieb."]),
        ("Obst, z. B. Äpfel. Das ist alles!", ["Obst, z. B. Äpfel.", "Das ist alles!"]),
        ("Siehe Abb. Fünf im Anhang. J. S. Bach lebte.", ["Siehe Abb. Fünf im Anhang.", "J. S. Bach lebte."]),
        ("「行く。」と言った。帰る。", ["「行く。」と言った。", "帰る。"]),
        ("a\u2028b", ["a", "b"]),
        ("1. Kapitel\n2. Kapitel", ["1.", "Kapitel", "2.", "Kapitel"]),
        ("x" * 2500, ["x" * 1000, "x" * 1000, "x" * 500]),
    ],
)
def test_text_is_divided_into_sentences_and_is_the_same_when_joined(
    opened: Opened, text: str, sentences: list[str]
) -> None:
    divided = opened.run(f"split({json.dumps(text)})")
    assert [one["text"] for one in divided["sentences"]] == sentences
    assert "".join(one["gap"] + one["text"] for one in divided["sentences"]) + divided["rest"] == text


@pytest.mark.slow
def test_the_engine_outside_the_browser_gives_the_same(opened: Opened, folder: Path) -> None:
    fxtranslate = pytest.importorskip("fxtranslate", reason="the native engine: pip install fxtranslate")
    paths = StudentPaths.find(folder)
    vocabulary = paths.source_vocabulary.read_bytes()
    native = fxtranslate.Translator(paths.model.read_bytes(), vocabulary, vocabulary)
    lines = [f"Der {number}. Hund Frau Anna's bellt, nicht wahr?" for number in range(9)]
    assert opened.translate("\n".join(lines)).split("\n") == [native.translate(line) for line in lines]


@pytest.mark.slow
def test_text_from_right_to_left_is_at_the_right(browser: Any, engine: Path, tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    write_handmade(sentencepiece, tmp_path / "enhe", HEBREW, "enhe")
    export_page(tmp_path / "enhe", tmp_path / "a.html", engine=engine)
    opened = Opened(browser, tmp_path / "a.html", color_scheme="dark", locale="fr")
    text = "ein hund 12."
    assert opened.translate(text) == "".join(HEBREW.get(character, character) for character in text)
    assert opened.page.title() == "anglais → hébreu"
    edges = "{ const range = document.createRange(); range.selectNodeContents(by('target')); const box = "
    edges += "range.getBoundingClientRect(), around = by('target').getBoundingClientRect(); "
    assert opened.run(f"{edges} around.right - box.right < 40 && box.left - around.left > 40 }}")
    assert opened.run("getComputedStyle(document.body).backgroundColor") != "rgb(252, 252, 251)"
    assert opened.problems == []
    opened.context.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "answer"),
    [
        (lambda page: page[: page.index("</script>") - 9], "This page has not started"),
        (lambda page: re.sub(r'id="facts">.', 'id="facts">', page), "This page has failed: Uncaught SyntaxError"),
        (lambda page: page[: len(page) // 2], "This file is incomplete: copy or download it again"),
        (lambda page: page.replace('data-file="model" data-bytes="', 'data-file="model" data-bytes="1'), "damaged"),
        (lambda page: re.sub(r'(data-file="source"[^>]*>.{20}).', r"\1ā", page), "damaged"),
        (lambda page: re.sub(r"<script[^>]* data-file=.engine.*?</script>", "", page), "damaged"),
    ],
)
def test_a_damaged_page_says_so(
    browser: Any, file: Path, tmp_path: Path, harm: Callable[[str], str], answer: str
) -> None:
    content = file.read_bytes().decode("utf-16")
    (tmp_path / "a.html").write_bytes(codecs.BOM_UTF16_LE + harm(content).encode("utf-16-le"))
    opened = Opened(browser, tmp_path / "a.html")
    opened.page.wait_for_selector(f"#state:has-text('{answer}')")
    opened.page.fill("#source", "Text bleibt.")
    assert opened.page.input_value("#source") == "Text bleibt."
    opened.context.close()


# An engine that writes capitals, in the place of the real one's script, so that a page needs nothing that is fetched.
CAPITALS = """
class List extends Array { get(n) { return this[n]; } push_back(x) { this.push(x); } delete() {} }
Object.assign(Module, {
  AlignedMemory: class { getByteArrayView() { return new Uint8Array(1); } },
  AlignedMemoryList: List, VectorString: List, VectorResponseOptions: List, TranslationModel: class {},
  BlockingService: class {
    translate(model, texts) { return List.of({ getTranslatedText: () => texts[0].toUpperCase(), delete() {} }); }
  },
});
Module.onRuntimeInitialized();
"""
CODES = ["lumi", "src", "de_DE", "zh_Hant_TW", "en-", "a1-B2"]


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES)
def test_a_page_translates_whatever_its_languages_are_called(browser: Any, tmp_path: Path, code: str) -> None:
    model = PageModel(code, code, {"model": b"m", "source": b"s"}, "")
    page = render_page(model, PageEngine(CAPITALS.encode(), b"program", "an engine of this test"))
    (tmp_path / "a.html").write_bytes(codecs.BOM_UTF16_LE + page.encode("utf-16-le"))
    opened = Opened(browser, tmp_path / "a.html")
    assert opened.translate("Vulo rennt. Miri ruft!\nJa.") == "VULO RENNT. MIRI RUFT!\nJA."
    assert opened.run("state.rows.length") == 3
    assert opened.page.inner_text("#state") == ""
    tag = opened.page.get_attribute("#target", "lang")
    assert tag == "" or opened.run(f"Intl.getCanonicalLocales({json.dumps(tag)})[0]") == tag
    assert opened.problems == []
    opened.context.close()
