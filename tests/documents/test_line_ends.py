"""A document whose lines end in CR LF is the one with LF, translated, with CR LF in place of each LF."""

from pathlib import Path

import pytest

from documents.theorem import in_capitals, reordered

XLIFF = "urn:oasis:names:tc:xliff:document"
DOCUMENTS = {
    "strings.xml": """<?xml version="1.0" encoding="utf-8"?>
<resources>
<string name="a">the dog
  sees a cat.
  It runs</string>
<string name="b">"one
two"</string>
<string name="c"><![CDATA[one <b>two</b>
three]]></string>
<string-array name="x"><item>one
two</item></string-array>
<string name="d">one &#13; two&#13;&#10;three</string>
</resources>
""",
    "one.xlf": f"""<?xml version="1.0"?>
<xliff version="1.2" xmlns="{XLIFF}:1.2">
<file original="a" source-language="en" target-language="de" datatype="plaintext"><body>
<trans-unit id="1"><source>the dog
sees a cat.
It runs
  home.</source></trans-unit>
<trans-unit id="2" xml:space="preserve"><source>one line
two lines


three <g id="1">four
five</g>
</source></trans-unit>
<trans-unit id="3"><source><![CDATA[the dog
sees it]]></source><target></target></trans-unit>
</body></file></xliff>
""",
    "memory.tmx": """<?xml version="1.0"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>the dog
sees a cat.
It runs</seg></tuv></tu></body></tmx>
""",
    "Localizable.strings": '"a" = "the dog\nsees";\n"b" = "one\\r\\ntwo";\n',
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_line_ends_of_a_document_stay(name: str) -> None:
    pytest.importorskip({".md": "markdown_it", ".strings": "openstep_plist"}.get(Path(name).suffix, "polib"))
    with_line_feeds = DOCUMENTS[name].encode()
    with_both = with_line_feeds.replace(b"\n", b"\r\n")
    for translate in (in_capitals, reordered):
        expected = translate(with_line_feeds, name).data
        assert expected != with_line_feeds
        assert translate(with_both, name).data == expected.replace(b"\n", b"\r\n")


def test_lines_of_a_file_with_both_ends_stay_as_they_are() -> None:
    mixed = DOCUMENTS["memory.tmx"].encode().replace(b"<body>\n", b"<body>\r\n")
    assert b"THE DOG\nSEES" in in_capitals(mixed, "memory.tmx").data
