"""Documents of every format, with something of all that they may hold."""

import io
from pathlib import Path

import pytest

PO = """# A comment; the word msgid "in it".
msgid ""
msgstr ""
"Language: de\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#. extracted
#: a.py:3
#, python-format
msgctxt "verb"
msgid "The dog sees %(name)s."
msgstr "Der Hund sieht %(name)s."

msgid ""
"The <b>small</b> "
"cat \\"sleeps\\".\\n"
msgstr ""

#, fuzzy
#| msgid "A man"
msgid "The man"
msgstr "Ein Mann"

msgid "%d dog"
msgid_plural "%d dogs"
msgstr[0] ""
msgstr[1] ""

#~ msgid "old"
#~ msgstr "alt"
"""

XLIFF = """<?xml version="1.0" encoding="utf-8"?>
<!-- <source>no</source> -->
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version='1.2'>
  <file source-language="en-US" target-language="de" datatype="plaintext" original="a&amp;b">
    <header><note>The dog</note></header>
    <body>
      <trans-unit id="1" custom = "x">
        <source>The <g id="1" ctype='bold'>small</g> cat &lt;i&gt;sleeps&lt;/i&gt;<x id="2"/>.</source>
        <note>stays</note>
      </trans-unit>
      <trans-unit id="2"><source>The man</source><target state="needs-translation">The man</target></trans-unit>
      <trans-unit id="3"><source>The dog</source><target>Der Hund</target></trans-unit>
      <trans-unit id="4" translate="no"><source>Transduce</source></trans-unit>
      <group translate="no"><trans-unit id="5"><source>Transduce</source></trans-unit></group>
      <trans-unit id="6"><source>The child</source><target/><alt-trans><target>x</target></alt-trans></trans-unit>
    </body>
  </file>
</xliff>
"""

XLIFF2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
 <file id="f"><unit id="1">
  <originalData><data id="d">%d</data></originalData>
  <segment state="initial"><source>The <pc id="1">dog<ph id="2"/></pc> <sc id="3"/>sees<ec startRef="3"/> it.</source>
  </segment><ignorable><source> </source></ignorable>
  <segment><source>The man</source><target>Der Mann</target></segment>
 </unit></file>
</xliff>
"""

TMX = """<?xml version="1.0" ?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-us"/><body>
  <tu tuid="1"><!-- a note -->
    <tuv xml:lang="EN-us"><seg>The <bpt i="1">&lt;b></bpt>small<ept i="1">&lt;/b></ept> <hi>cat</hi>.</seg></tuv>
    <tuv xml:lang="fr"><seg>Le chat.</seg></tuv>
  </tu>
  <tu><tuv xml:lang="en-us"><seg>The dog</seg></tuv><tuv xml:lang="de-AT"><seg>Der Hund</seg></tuv></tu>
</body></tmx>
"""

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>The dog sleeps.</i>

2
00:00:03,000 --> 00:00:04,000
- The man sees
the cat.
- {\\an8}Who?


3
00:00:05,000 --> 00:00:06,000
%s
"""

VTT = """WEBVTT - The dog

STYLE
::cue { color: red }

NOTE The dog
sleeps

intro
00:01.000 --> 00:02.500 align:start
<v Ann>The dog &amp; the <b>cat</b> sleep.

00:00:03.000 --> 00:00:04.000
<00:00:03.500>The man
"""

HTML = """<!DOCTYPE html>
<html lang=en><head><title>The dog &amp; I</title><style>p { color: red }</style>
<script>if (a<b) alert("The dog");</script></head>
<body class="The dog"><!-- The dog -->
<p title="The dog">The <b>small</b> <a href="a?b=1&amp;c=2">cat <i>sleeps</i></a> &amp; sings.<br>
The man<p>Unclosed <code>The dog()</code> and <span translate="no">Dog</span>
<pre>The dog
  sleeps</pre>
<ul><li>One<li><img src="x" alt="The dog"> {name} sees it</ul>
<table>Lost text<tr><td>The child</td></tr></table>
<textarea>The dog</textarea> a < b <B>x</b>
"""

MARKDOWN = """---
title: The dog
---

The *small* dog
===

The **man** sees [the `cat()`](http://a.b/c_d "The dog") and
the woman\\
sings \\* & <b>more</b> of [it] or <https://a.b/>.

> The dog
> sleeps.
> - The cat
>   sings.

| The dog | **x** |
|---|:-:|
| The man | 1 |

```
The dog
```

<div>The dog</div>

[it]: http://a.b "The dog"
"""

TEXT = """The dog sleeps. The cat
sings with %s.

  * The man
  * The woman

12:30
"""


def docx_bytes() -> bytes:
    """A Word document."""
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("The dog sleeps.", 1)
    paragraph = document.add_paragraph("The ")
    paragraph.add_run("old").bold = True
    paragraph.add_run(" dog sees ")
    paragraph.add_run("{name}")
    paragraph.add_run().add_break()
    paragraph.add_run("Now.")
    document.add_table(1, 2).cell(0, 1).text = "The child & I"
    document.sections[0].header.paragraphs[0].text = "The head"
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def documents() -> dict[str, bytes]:
    """Each by a name of its format, in several encodings."""
    return {
        "a.po": PO.encode(),
        "crlf.po": PO.replace("\n", "\r\n").encode(),
        "latin.po": PO.replace("UTF-8", "ISO-8859-1").replace("old", "öld").encode("latin-1"),
        "a.xlf": XLIFF.encode("utf-8-sig"),
        "two.xliff": XLIFF2.encode("utf-16"),
        "latin.xlf": XLIFF.replace("utf-8", "iso-8859-1").replace("stays", "bleibt schön").encode("latin-1"),
        "a.tmx": TMX.encode("utf-16"),
        "crlf.tmx": TMX.replace("\n", "\r\n").encode(),
        "a.srt": SRT.replace("\n", "\r\n").encode("utf-8-sig"),
        "a.vtt": VTT.encode(),
        "a.html": HTML.encode(),
        "crlf.htm": HTML.replace("\n", "\r\n").encode("utf-8-sig"),
        "latin.html": HTML.replace("<title>", "<meta charset=latin1><title>ö").encode("latin-1"),
        "a.md": MARKDOWN.encode(),
        "crlf.md": MARKDOWN.replace("\n", "\r\n").encode(),
        "a.text": TEXT.encode(),
        "a.docx": docx_bytes(),
    }


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them as files."""
    place = tmp_path_factory.mktemp("documents")
    for name, data in documents().items():
        (place / name).write_bytes(data)
    return place
