"""The segments of a document: what they list is what a person confirms, and what the translated document then holds."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from running_server import Running

from docsegments.document import Languages
from docsegments.document_formats import read_document
from transduce.apps.projects.project import Projects

pytestmark = pytest.mark.slow

PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#, python-format
msgid "The %(count)s dogs sleep."
msgstr ""

#, c-format
msgid "The dog sees %d of <b>all</b> cats."
msgstr ""

#, ruby-format
msgid "The %{name} sleeps, 100 % sure."
msgstr ""

#, fuzzy
msgid "A cat sleeps."
msgstr "Alt."

msgid "Done before."
msgstr "Schon fertig."

msgid "Use <dog> and <b> here."
msgstr ""
"""
XLIFF = """<xliff version="1.2"><file source-language="en" target-language="de" datatype="plaintext"><body>
<trans-unit id="1"><source>The <g id="1">dog</g> sees <x id="2"/> it.</source></trans-unit>
<trans-unit id="2"><source>The {name} sleeps &lt;b&gt;here.</source></trans-unit>
<trans-unit id="3" approved="yes"><source>Done before.</source><target state="final">Schon fertig.</target></trans-unit>
</body></file></xliff>
"""
HTML = (
    "<h1>The dog</h1><p>The <b>dog</b> sees &lt;b&gt; and {{ name }}. It sleeps.</p><p>The dog</p><p>A cat, a dog.</p>"
)
TEXTS = {
    "strings.po": PO,
    "strings.xlf": XLIFF,
    "page.html": HTML,
    "notes.md": "# The dog\n\nThe *dog* sees `code` and <https://a.example/b>.\n\n- The cat <sleeps> here.\n",
    "en.json": '{"a": "The {name} sees $USER$ now.", "b": "The <b>dog</b> sleeps.", "c": "The {{count}} cats"}',
    "a.properties": "a=The {0} sleeps.\nb=The dog sees the 'cat'.\n",
    "film.srt": "1\n00:00:01,000 --> 00:00:02,000\nThe dog sleeps.\n\n"
    "2\n00:00:03,000 --> 00:00:04,000\nA <i>cat</i> sleeps.\n",
    "notes.txt": "The dog uses <b> and <dog>.\n\nThe cat sees %s, and 100 % of {all}.\n",
}


@pytest.fixture(scope="module")
def served(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tiny_run, projects=Projects(tmp_path_factory.mktemp("projects")))
    yield running
    running.end()


def docx() -> bytes:
    written, document = io.BytesIO(), pytest.importorskip("docx").Document()
    paragraph = document.add_paragraph("The dog ")
    paragraph.add_run("sees").bold = True
    paragraph.add_run(" the <b> cat.")
    document.add_paragraph("A cat, %s.")
    document.save(written)
    return written.getvalue()


def send(served: Running, path: str, name: str, data: bytes, project: str) -> requests.Response:
    fields = {"source": "en", "target": "de", "project": project}
    return requests.post(served.url + path, data=fields, files={"file": (name, data)}, timeout=120)


@pytest.mark.parametrize("name", [*TEXTS, "letter.docx"])
def test_a_document_holds_what_was_confirmed_of_each_segment(served: Running, name: str) -> None:
    data, project = docx() if name == "letter.docx" else TEXTS[name].encode(), name
    requests.put(f"{served.url}/v1/projects/{project}", json={"source": "en", "target": "de"}, timeout=60)
    segments = send(served, "/v1/segments", name, data, project).json()["segments"]
    wanted = [f"Ganz {segment['source']} anders" for segment in segments]
    assert segments and len({segment["source"] for segment in segments}) == len(segments)
    assert all(held in segment["source"] for segment in segments for held in segment["held"])
    for segment, target in zip(segments, wanted, strict=True):
        served.post(f"/v1/projects/{project}/segments", {"source": segment["source"], "target": target})
    answer = send(served, "/translate_file", name, data, project).json()
    translated = requests.get(answer["translatedFileUrl"], timeout=60).content
    kind = "text" if name.endswith(".txt") else None
    units = read_document(translated, name, Languages("en", "de"), kind).units
    found = [(unit.target if unit.is_bilingual and unit.target else unit.source).one_line for unit in units]
    assert [target for target in wanted if target not in found] == []


def test_translations_that_a_document_has_are_not_listed_but_drafts_are(served: Running) -> None:
    requests.put(f"{served.url}/v1/projects/listed", json={"source": "en", "target": "de"}, timeout=60)
    listed = send(served, "/v1/segments", "strings.po", PO.encode(), "listed").json()["segments"]
    assert "A cat sleeps." in [segment["source"] for segment in listed]
    assert "Done before." not in [segment["source"] for segment in listed]
    assert next(segment for segment in listed if "count" in segment["source"])["held"] == ["%(count)s"]
    assert re.fullmatch(r"line \d+", listed[0]["where"])


@pytest.mark.parametrize(("name", "data"), [("a.exe", b"x"), ("a.docx", b"x"), ("a.po", b"msgid")])
def test_a_document_that_cannot_be_read_is_refused_in_one_line(served: Running, name: str, data: bytes) -> None:
    answer = send(served, "/v1/segments", name, data, "")
    assert answer.status_code == 400 and "\n" not in answer.json()["error"]
