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
    "two.xlf": f"""<?xml version="1.0"?>
<xliff version="2.0" srcLang="en" trgLang="de" xmlns="{XLIFF}:2.0">
<file id="f"><unit id="1"><segment><source>the dog
sees a cat.
It runs</source></segment></unit></file></xliff>
""",
    "memory.tmx": """<?xml version="1.0"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>the dog
sees a cat.
It runs</seg></tuv></tu></body></tmx>
""",
    "a.po": '#: x\nmsgid ""\n"the dog\\n"\n"sees a cat"\nmsgstr ""\n\nmsgid "one\\r\\ntwo"\nmsgstr ""\n',
    "a.properties": "a=the dog \\\n   sees\nb=one\\ntwo\n",
    "Localizable.strings": '"a" = "the dog\nsees";\n"b" = "one\\r\\ntwo";\n',
    "a.yaml": "en:\n  a: |\n    the dog\n    sees\n  b: >\n    the dog\n    sees\n\n    it\n"
    '  c: "one\n    two"\n  d: one\n    two\n',
    "a.json": '{\n "a": "the dog",\n "b": ["one\\ntwo"]\n}\n',
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\nthe dog\nsees <i>two\nsix</i>\n\n",
    "a.vtt": "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nthe dog\nsees <i>two\nsix</i>\n",
    "a.csv": 'source,target\n"the dog\nsees",\none,\n',
    "a.html": "<p>the dog\nsees a cat.\nIt <b>runs\nfar</b></p>\n<pre>one\ntwo</pre><p title='a\nb'>x</p>\n",
    "a.md": "---\ntitle: one\n---\n\nthe dog\nsees a cat.\nIt **runs\nfar**\n\n- one\n  two\n\n> three\n> four\n",
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
