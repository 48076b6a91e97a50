"""Documents of formats that have translations beside their sources: one that is done, and drafts and gaps."""

from pathlib import Path

import pytest

PO = """msgid ""
msgstr ""
"Language: de\\n"
"Content-Type: text/plain; charset=UTF-8\\n"

#, python-format
msgid "The dog sees %(name)s."
msgstr "Der Hund sieht %(name)s."

msgid "The cat sleeps."
msgstr ""

#, fuzzy
msgid "The man"
msgstr "Ein Mann"

#~ msgid "old"
#~ msgstr "alt"
"""
XLIFF = """<xliff version="1.2"><file source-language="en-US" target-language="de" original="a"><body>
<trans-unit id="1"><source>The cat</source></trans-unit>
<trans-unit id="2"><source>The man</source><target state="needs-translation">Ein Mann</target></trans-unit>
<trans-unit id="3"><source>The dog</source><target>Der Hund</target></trans-unit>
</body></file></xliff>
"""
XLIFF2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en"><file id="f"><unit id="1">
<segment state="initial"><source>The dog</source></segment>
<segment><source>The man</source><target>Der Mann</target></segment>
</unit></file></xliff>
"""
TMX = """<tmx version="1.4"><header srclang="en-us"/><body>
<tu><tuv xml:lang="EN-us"><seg>The <hi>small</hi> cat.</seg></tuv><tuv xml:lang="fr"><seg>Le chat.</seg></tuv></tu>
<tu><tuv xml:lang="en-us"><seg>The dog</seg></tuv><tuv xml:lang="de-AT"><seg>Der Hund</seg></tuv></tu>
</body></tmx>
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them as files."""
    place = tmp_path_factory.mktemp("documents")
    for name, text in {"a.po": PO, "a.xlf": XLIFF, "two.xliff": XLIFF2}.items():
        (place / name).write_text(text)
    (place / "a.tmx").write_text(TMX, encoding="utf-16")
    return place
