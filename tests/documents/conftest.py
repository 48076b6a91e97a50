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

JSON = """{
  "title": "The dog sleeps.",
  "list": ["The {{count}} cats", 3, true, null, "home.title"],
  "\\u0061b": {"dogs_one": "a dog", "dogs_other": "{{count}} dogs \\u00e4\\n\\"now\\" <b>old</b>"},
  "url": "http://a.example/b", "empty": ""
}
"""

YAML = """# The dog
home: &here
  title: The dog sleeps.   # The cat
  'quoted': 'It''s the %{name}'
  double: "The \\"cat\\" sings.\\nNow"
  list: [The man, {a: the child}, ":day"]
  literal: |-
    The dog
    sleeps. The cat

      sings.
  folded: >
    The old dog
    sleeps.

    The cat
  number: 5
  again: *here
"""

PROPERTIES = """# The dog
title = The dog sleeps
! The cat
long: The cat \\
      sings\\u0021
message The {0} isn''t {1}
path=/usr/bin/dog
"""

STRINGS = """/* The dog */
"title" = "The dog \\"sleeps\\".\\n%@";
plain = "The cat"; // "The cat" = "x";
"The man";
"""

XCSTRINGS = """{
  "sourceLanguage" : "en",
  "strings" : {
    "The dog" : {

    },
    "cats" : {
      "localizations" : {
        "de" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "Die Katzen"
          }
        },
        "en" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "The cats %lld"
          }
        }
      }
    },
    "men" : {
      "localizations" : {
        "en" : {
          "variations" : {
            "plural" : {
              "one" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld man"
                }
              },
              "other" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld men"
                }
              }
            }
          }
        }
      }
    }
  },
  "version" : "1.0"
}
"""

ANDROID = """<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
  <!-- The dog -->
  <string name="a">The <b>dog</b>\\'s %1$s\\nsings &amp; <xliff:g id="x">%s</xliff:g></string>
  <string name="b" translatable="false">The cat</string>
  <string name="c"><![CDATA[The <i>cat</i> & dog]]></string>
  <string name="d">"The   man"</string>
  <plurals name="e"><item quantity="one">%d man</item><item quantity="other">%d men</item></plurals>
  <string-array name="f"><item>The child</item><item>@string/a</item></string-array>
</resources>
"""

ARB = """{
  "title": "The dog sleeps.",
  "@title": {"description": "The dog"},
  "cats": "{n, plural, =0{no cats} other{{n} cats}} sing"
}
"""

CSV = """id,source,target,note
1,The dog,,The note
2,"The ""old"" cat,
sings",Die Katze,
3,The man
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


def pptx_bytes() -> bytes:
    """A presentation."""
    pptx = pytest.importorskip("pptx")
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "The dog sleeps."
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text in ("The ", "old", " cat sees {name}"):
        paragraph.add_run().text = text
    paragraph.runs[1].font.bold = True
    slide.notes_slide.notes_text_frame.text = "The notes & I"
    data = io.BytesIO()
    presentation.save(data)
    return data.getvalue()


def xlsx_bytes() -> bytes:
    """A workbook."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    data = io.BytesIO()
    workbook = xlsxwriter.Workbook(data)
    sheet = workbook.add_worksheet("The sheet")
    bold = workbook.add_format({"bold": True})
    sheet.write("A1", "The dog & I")
    sheet.write_rich_string("A2", "The ", bold, "old", " cat")
    sheet.write("A3", 5)
    sheet.write_formula("A4", '=IF(A5="the man","1","2")')
    sheet.write("A5", "The man")
    sheet.set_header("&CThe &P of &N")
    workbook.close()
    return data.getvalue()


def odt_bytes() -> bytes:
    """An OpenDocument text."""
    text = pytest.importorskip("odf.text")
    document = pytest.importorskip("odf.opendocument").OpenDocumentText()
    document.text.addElement(text.H(outlinelevel=1, text="The dog sleeps."))
    paragraph = text.P(text="The ")
    paragraph.addElement(text.Span(text="old"))
    paragraph.addText(" cat sees {name}")
    paragraph.addElement(text.LineBreak())
    paragraph.addText("Now & then.")
    document.text.addElement(paragraph)
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
        "a.json": JSON.encode(),
        "crlf.json": JSON.replace("\n", "\r\n").encode("utf-16"),
        "a.yaml": YAML.encode(),
        "crlf.yml": YAML.replace("\n", "\r\n").encode("utf-8-sig"),
        "a.properties": PROPERTIES.encode(),
        "latin.properties": PROPERTIES.replace("title", "größe").encode("latin-1"),
        "a.strings": STRINGS.encode("utf-16"),
        "crlf.strings": STRINGS.replace("\n", "\r\n").encode(),
        "a.xcstrings": XCSTRINGS.encode(),
        "a.xml": ANDROID.encode(),
        "crlf.xml": ANDROID.replace("\n", "\r\n").encode("utf-8-sig"),
        "a.arb": ARB.encode(),
        "a.csv": CSV.encode(),
        "a.tsv": CSV.replace("\n", "\r\n").replace(",", "\t").encode("utf-8-sig"),
        "a.pptx": pptx_bytes(),
        "a.xlsx": xlsx_bytes(),
        "a.odt": odt_bytes(),
    }


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them as files."""
    place = tmp_path_factory.mktemp("documents")
    for name, data in documents().items():
        (place / name).write_bytes(data)
    return place
