"""Word documents: all that a reader sees is translated or named in the log, and nothing else changes."""

import io
import zipfile
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.document_formats import read_document
from documents.theorem import in_capitals
from transduce.base.errors import InputError

etree = pytest.importorskip("lxml.etree")

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NAMESPACES = (
    f'xmlns:w="{W}" xmlns:a="{A}" xmlns:r="{REL}" xmlns:m="urn:m" xmlns:mc="urn:mc" xmlns:v="urn:v" '
    'xmlns:w14="urn:w14" xmlns:wps="urn:wps" xmlns:c="urn:c"'
)
WORDS = [
    "the", "dog", "sees", "a", "cat", "&", "<men>", "run,", "who", "sing.", "Now!", "%s", "it's", "{name}",
    "über", "犬",
]  # fmt: skip
FORMATS = [
    "",
    "<w:rPr><w:b/></w:rPr>",
    '<w:rPr><w:i/><w:sz w:val="20"/></w:rPr>',
    '<w:rPr><w:u w:val="single"/></w:rPr>',
]
NOT_COUNTED = {"r", "t", "rPr", "proofErr", "softHyphen", "noBreakHyphen", "lastRenderedPageBreak"}
"""Elements of runs and their texts, which are written anew."""
_NESTS = "hyperlink ins moveTo smartTag customXml sdt sdtContent dir bdo fldSimple ruby rubyBase"
NESTS = frozenset(_NESTS.split())
"""What a text may be in."""


class Writer:
    """Writes Word documents by chance."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.number = 0

    def id(self) -> int:
        self.number += 1
        return self.number

    def words(self) -> str:
        words = " ".join(self.random.choices(WORDS, k=self.random.randint(1, 5)))
        return self.random.choice(["", "", "\n"]) + words + self.random.choice([" ", " ", "  ", "\n"])

    def run(self, inner: str | None = None) -> str:
        text = f'<w:t xml:space="preserve">{escape(self.words())}</w:t>' if inner is None else inner
        return f"<w:r>{self.random.choice(FORMATS)}{text}</w:r>"

    def several(self, depth: int, most: int = 4) -> str:
        return self.run() + "".join(self.inline(depth) for _ in range(self.random.randint(0, most)))

    def inline(self, depth: int) -> str:
        n = self.id()
        leaves: list[Callable[[], str]] = [
            *[self.run] * 8,
            lambda: self.run("<w:tab/>"),
            lambda: self.run(f"<w:t>{self.random.choice(WORDS[:4])}</w:t><w:tab/><w:t>end </w:t>"),
            lambda: self.run("<w:br/>"),
            lambda: self.run('<w:ptab w:alignment="right"/>'),
            lambda: self.run("<w:t>pre</w:t><w:noBreakHyphen/><w:t>fix </w:t><w:softHyphen/>"),
            lambda: self.run('<w:sym w:font="Wingdings" w:char="F0E0"/>'),
            lambda: self.run(f'<w:footnoteReference w:id="{n}"/>'),
            lambda: f'<w:del w:id="{n}"><w:r><w:delText>gone</w:delText></w:r></w:del>',
            lambda: f'<w:moveFrom w:id="{n}"><w:r><w:t>gone</w:t></w:r></w:moveFrom>',
            lambda: '<w:proofErr w:type="spellStart"/>',
            lambda: f"<m:oMath><m:r><m:t>x={n}</m:t></m:r></m:oMath>",
            lambda: f'<w:bookmarkStart w:id="{n}" w:name="b{n}"/>{self.run()}<w:bookmarkEnd w:id="{n}"/>',
            lambda: "<!-- a comment -->\n ",
            lambda: self.run("<w:t>   </w:t>"),
            lambda: self.run('<w:t>wide</w:t><w:t xml:space="preserve">    </w:t><w:t>gap </w:t>'),
            lambda: self.run("<w:drawing><wp/></w:drawing>"),
        ]
        field = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
        nests: list[Callable[[], str]] = [
            lambda: f'<w:hyperlink r:id="rId{n}">{self.several(depth - 1)}</w:hyperlink>',
            lambda: f'<w:ins w:id="{n}">{self.several(depth - 1)}</w:ins>',
            lambda: f'<w:moveTo w:id="{n}">{self.several(depth - 1)}</w:moveTo>',
            lambda: f'<w:smartTag w:element="a">{self.several(depth - 1)}</w:smartTag>',
            lambda: f'<w:customXml w:element="a"><w:customXmlPr/>{self.several(depth - 1)}</w:customXml>',
            lambda: f"<w:sdt><w:sdtPr/><w:sdtContent>{self.several(depth - 1)}</w:sdtContent></w:sdt>",
            lambda: f'<w:dir w:val="rtl">{self.several(depth - 1)}</w:dir>',
            lambda: f'<w:bdo w:val="ltr">{self.several(depth - 1)}</w:bdo>',
            lambda: (
                f'<w:fldSimple w:instr=" REF a{n} "><w:fldData>x</w:fldData>{self.several(depth - 1)}</w:fldSimple>'
            ),
            lambda: (
                field.format("begin") + f"<w:r><w:instrText> REF b{n} </w:instrText></w:r>" + field.format("separate")
                + self.several(depth - 1, 2) + field.format("end")
            ),
            lambda: self.run(
                "<w:ruby><w:rubyPr/><w:rt><w:r><w:t>reading</w:t></w:r></w:rt>"
                f"<w:rubyBase>{self.run()}</w:rubyBase></w:ruby>"
            ),
            lambda: self.run(
                "<mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:txbx><w:txbxContent>"
                f"{self.paragraph(depth - 1)}</w:txbxContent></wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict>"
                f"<v:textbox><w:txbxContent>{self.paragraph(depth - 1)}</w:txbxContent></v:textbox></w:pict>"
                "</mc:Fallback></mc:AlternateContent>"
            ),
            lambda: self.run(f"<w:drawing><a:p>{self.drawn()}</a:p></w:drawing>"),
            lambda: self.run(
                "<mc:AlternateContent><mc:Choice Requires='x'><w:t>chosen words</w:t></mc:Choice></mc:AlternateContent>"
            ),
        ]  # fmt: skip
        return self.random.choice([*leaves, *(nests if depth > 0 else [])])()

    def drawn(self) -> str:
        runs = "".join(
            f"<a:r>{self.random.choice(['', '<a:rPr/>'])}<a:t>{escape(self.words())}</a:t></a:r>"
            for _ in range(self.random.randint(1, 3))
        )
        return f'<a:pPr algn="ctr"/>{runs}<a:br/><a:r><a:t>more</a:t></a:r><a:endParaRPr/>'

    def paragraph(self, depth: int = 2) -> str:
        space = self.random.choice(["", "\n   "])
        properties = self.random.choice(
            ["", '<w:pPr><w:pStyle w:val="Heading1"/><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>']
        )
        return f'<w:p w14:paraId="{self.id():08X}">{space}{properties}{space}{self.several(depth, 6)}{space}</w:p>'

    def block(self) -> str:
        paragraph = self.paragraph()
        return self.random.choice(
            [
                paragraph,
                paragraph,
                f"<w:tbl><w:tr><w:tc>{paragraph}</w:tc><w:tc>{self.paragraph()}</w:tc></w:tr></w:tbl>",
                f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph}</w:sdtContent></w:sdt>",
                f'<w:customXml w:element="a">{paragraph}</w:customXml>',
            ]
        )

    def document(self) -> bytes:
        blocks = "".join(self.block() for _ in range(self.random.randint(1, 3)))
        drawn = '<w:p><w:r><w:pict><v:textpath string="A draft"/></w:pict></w:r></w:p>'
        table = "<c:f>Sheet1!A1</c:f><c:strCache><c:pt idx='0'><c:v>two dogs</c:v></c:pt></c:strCache>"
        parts = {
            "word/main.xml": f"<w:document {NAMESPACES}><w:body>{blocks}<w:sectPr/></w:body></w:document>",
            "word/head.xml": f"<w:hdr {NAMESPACES}>{self.paragraph(1)}{drawn}</w:hdr>",
            "word/foot.xml": f"<w:footnotes {NAMESPACES}><w:footnote>{self.paragraph(1)}</w:footnote></w:footnotes>",
            "word/charts/c.xml": f"<c:chart {NAMESPACES}><c:rich><a:p>{self.drawn()}</a:p></c:rich>{table}</c:chart>",
        }
        return archive(parts, {"header": "/word/head.xml", "footnotes": "foot.xml", "chart": "charts/c.xml"})


def archive(parts: dict[str, str], related: dict[str, str]) -> bytes:
    head = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'

    def relations(targets: dict[str, str]) -> str:
        rows = (
            f'<Relationship Id="rId{n}" Type="{REL}/{kind}" Target="{target}"/>'
            for n, (kind, target) in enumerate(targets.items())
        )
        return head + "".join(rows) + "</Relationships>"

    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        packed.writestr("_rels/.rels", relations({"officeDocument": "word/main.xml"}))
        packed.writestr("word/_rels/main.xml.rels", relations(related))
        for path, content in parts.items():
            packed.writestr(path, content)
    return data.getvalue()


def name_of(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else "comment"


def roots(data: bytes) -> list[Any]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return [etree.fromstring(packed.read(path)) for path in sorted(packed.namelist()) if path.endswith(".xml")]


def own_texts(element: Any) -> list[str]:
    """The texts of a paragraph, without those of paragraphs in it and what was removed."""
    found = []
    for child in element:
        name = name_of(child)
        if name == "t":
            found.append(child.text or "")
        elif name in ("tab", "br", "ptab"):
            found.append(" ")
        elif name == "noBreakHyphen":
            found.append("\u2011")
        elif name not in ("p", "del", "moveFrom", "rt", "AlternateContent", "pPr", "oMath"):
            found += own_texts(child)
    return found


def shown(data: bytes) -> list[str]:
    texts: list[str] = []
    others: list[str] = []  # which may be in another order in a translation
    for root in roots(data):
        for element in root.iter():
            name = name_of(element)
            if name == "p":
                texts.append("".join(own_texts(element)))
            elif name in ("rt", "AlternateContent"):
                others.append("".join(own_texts(element)))
            elif name == "textpath":
                others.append(element.get("string"))
            elif name == "v":
                texts.append(element.text)
    return texts + sorted(others)


def skeleton(data: bytes) -> Any:
    """All elements but runs, by the paragraphs that they are in, and the order of those that have one."""
    counts: Counter[Any] = Counter()
    for root in roots(data):
        for element in root.iter():
            name = name_of(element)
            around = [name_of(one) for one in element.iterancestors()]
            if name in NOT_COUNTED or "rPr" in around:
                continue
            paragraph = next((one for one in element.iterancestors() if name_of(one) == "p"), None)
            number = None if paragraph is None or name == "p" else tuple(paragraph.attrib.values())
            counts[name, number, tuple(sorted(element.attrib.items()))] += 1
            if name in ("sdt", "ruby", "txbxContent", "AlternateContent", "body", "tc", "drawing", "p"):
                inner = [name_of(child) for child in element]
                counts[name, tuple(inner if name != "p" else [one for one in inner if one == "pPr"])] += 1
                assert "pPr" not in inner[1:]
            if name == "fldChar":
                assert element.getparent().tag == f"{{{W}}}r"
    return counts


def nests(data: bytes) -> Counter[Any]:
    """What is in what, of the elements that a text may be in."""
    counts: Counter[Any] = Counter()
    for root in roots(data):
        for element in root.iter():
            around = [name_of(one) for one in element.iterancestors()]
            inner = around[: around.index("p")] if "p" in around else []
            if name_of(element) in NESTS:
                counts[name_of(element), tuple(one for one in inner if one in NESTS)] += 1
    return counts


def formats(data: bytes) -> list[list[tuple[str, str]]]:
    """Texts by their formats, neighbours of one format together."""
    found: list[list[tuple[str, str]]] = []
    for root in roots(data):
        for paragraph in root.iter(f"{{{W}}}p"):
            runs: list[tuple[str, str]] = []
            for text in paragraph.iter(f"{{{W}}}t", f"{{{W}}}tab"):
                format = text.getparent().find(f"{{{W}}}rPr")
                key = "" if format is None else etree.tostring(format).decode()
                said = "".join((text.text or "").split()) if name_of(text) == "t" else "\t"
                if runs and runs[-1][0] == key:
                    runs[-1] = (key, runs[-1][1] + said)
                elif said:
                    runs.append((key, said))
            found.append(runs)
    return found


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_elements_about_texts_stay_in_each_other(random: Random) -> None:
    data = Writer(random).document()
    assert nests(in_capitals(data, "a.docx").data) == nests(data)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_runs_keep_their_formats(random: Random) -> None:
    writer = Writer(random)
    runs = "".join(writer.run(f'<w:t xml:space="preserve">{word} </w:t>') for word in random.choices("abcde", k=9))
    data = archive({"word/main.xml": f"<w:document {NAMESPACES}><w:body><w:p>{runs}</w:p></w:body></w:document>"}, {})
    wanted = [[(key, text.upper()) for key, text in runs] for runs in formats(data)]
    assert formats(in_capitals(data, "a.docx").data) == wanted


def test_what_is_left_is_named_with_its_place_and_paragraphs_have_their_ids() -> None:
    run = "<w:r><w:t>{}</w:t></w:r>"
    ruby = run.format("dog").join(["<w:r><w:ruby><w:rt>", "</w:rt><w:rubyBase>" + run.format("cat")])
    body = f'<w:p w14:paraId="0A"/><w:p w14:paraId="0B">{ruby}</w:rubyBase></w:ruby></w:r></w:p>'
    labels = '<w:lvlText w:val="%1."/><w:lvlText w:val="Chapter %1"/>'
    parts = {
        "word/main.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
        "word/numbers.xml": f"<w:numbering {NAMESPACES}>{labels}</w:numbering>",
        "word/part.htm": "<p>The dog",
    }
    document = read_document(archive(parts, {"numbering": "numbers.xml", "aFChunk": "part.htm"}), "a.docx")
    assert [(unit.source.text, unit.id, unit.where) for unit in document.units] == [
        ("cat", "0B", "paragraph 2 of word/main.xml")
    ]
    assert [(one.text, one.where) for one in document.untranslated] == [
        ("dog", "paragraph 2 of word/main.xml"),
        ("Chapter %1", "line 1 of word/numbers.xml"),
        ("word/part.htm", "word/main.xml"),
    ]


@pytest.mark.parametrize(
    ("content", "left"),
    [
        ("<w:r><w:drawing><wp:inline><wp:docPr id='1' name='x' descr='a dog'/></wp:inline></w:drawing></w:r>", "a dog"),
        ("<w:hyperlink w:tooltip='a dog' w:anchor='x'><w:r><w:t>cat</w:t></w:r></w:hyperlink>", "a dog"),
        ("<w:sdt><w:sdtPr><w:dropDownList><w:listItem w:displayText='a dog' w:value='x'/></w:dropDownList></w:sdtPr>"
         "<w:sdtContent><w:r><w:t>cat</w:t></w:r></w:sdtContent></w:sdt>", "a dog"),
        ("<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:textInput><w:default w:val='a dog'/></w:textInput>"
         "</w:ffData></w:fldChar></w:r>", "a dog"),
    ],
)  # fmt: skip
def test_texts_in_attributes_are_named(content: str, left: str) -> None:
    xmlns = f"{NAMESPACES} xmlns:wp='urn:drawing'"
    data = archive({"word/main.xml": f"<w:document {xmlns}><w:body><w:p>{content}</w:p></w:body></w:document>"}, {})
    assert [one.text for one in read_document(data, "a.docx").untranslated] == [left]


def test_a_drop_cap_is_named() -> None:
    cap = '<w:p><w:pPr><w:framePr w:dropCap="drop"/></w:pPr><w:r><w:t>T</w:t></w:r></w:p>'
    body = f"{cap}<w:p><w:r><w:t>he dog</w:t></w:r></w:p>"
    data = archive({"word/main.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"}, {})
    assert [len(unit.notes) for unit in read_document(data, "a.docx").units] == [1, 0]


def test_an_archive_that_does_not_say_where_its_text_is_is_refused() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        packed.writestr("word/other.xml", "<a/>")
    with pytest.raises(InputError, match="which of its files the text is in"):
        read_document(data.getvalue(), "a.docx")


def test_a_title_is_translated() -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.core_properties.title = "The dog"
    data = io.BytesIO()
    document.save(data)
    again = docx.Document(io.BytesIO(in_capitals(data.getvalue(), "a.docx").data))
    assert again.core_properties.title == "THE DOG"
