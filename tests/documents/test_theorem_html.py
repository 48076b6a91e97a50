"""HTML: every text that a browser shows is translated, held by a rule that docs/documents.md names, or told in the log.

BeautifulSoup with html5lib reads the pages; it has no part in the product.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.document import Languages
from docsegments.document_formats import read_document
from docsegments.segment import Segment
from documents.theorem import check_theorem, in_capitals

bs4 = pytest.importorskip("bs4")
pytest.importorskip("html5lib")

HIDDEN = {"script", "style", "iframe", "noembed", "noframes", "metadata", "annotation"}
HELD = {
    "code", "kbd", "samp", "tt", "var", "pre", "listing", "xmp", "plaintext", "textarea", "math", "rt", "rp", "rtc",
}  # fmt: skip
SHOWN_ATTRIBUTES = {"alt", "title", "placeholder", "aria-label", "summary", "label", "standby", "srcdoc"}
INLINE = HELD - {"pre", "listing", "xmp", "plaintext", "textarea"} | {
    "a", "b", "i", "em", "span", "sub", "sup", "u", "font", "nobr", "img", "br", "wbr", "ruby", "svg", "label", "q",
    "strong", "small", "input", "video", "mi", "mo", "mn",
}  # fmt: skip
FORMATTING = {"a", "b", "em", "font", "i", "nobr", "u"}


def shown(data: bytes) -> list[str]:
    """The texts of blocks in their order, with those of drawings and attributes at the end."""
    blocks, apart = [""], []
    for text, is_held, kind in _texts(_soup(data)):
        if kind == "block":
            blocks.append("")
        elif not is_held:
            if kind == "text":
                blocks[-1] += text
            else:
                apart.append(text)
    return [text for text in [*blocks, *sorted(apart, key=str.upper)] if text.strip()]


def skeleton(data: bytes) -> Any:
    """The elements in their blocks, comments, and texts that no translation may change."""
    soup = _soup(data)
    counts: Counter[Any] = Counter()
    for node in soup.descendants:
        if isinstance(node, bs4.Tag):
            blocks = tuple(parent.name for parent in node.parents if parent.name not in INLINE)
            given = {"value": " ".join(node.get_text().split()), **node.attrs} if node.name == "option" else node.attrs
            attributes = sorted(
                (key, str(value)) for key, value in given.items() if not _is_shown(node, key) and key != "lang"
            )
            counts[node.name, blocks, tuple(attributes)] += 1
        elif type(node) is not bs4.NavigableString:
            counts[type(node).__name__, str(node)] += 1
    return counts, Counter("".join(text.split()) for text, is_held, _ in _texts(soup) if is_held)


def _soup(data: bytes) -> Any:
    return bs4.BeautifulSoup(data.decode("utf-8-sig"), "html5lib", multi_valued_attributes=None)


def _texts(soup: Any) -> Iterator[tuple[str, bool, str]]:
    """Texts and attributes in their order, whether they stay, and what they are."""
    stack: list[tuple[Any, bool, bool]] = [(soup, True, False)]
    while stack:
        node, is_on, is_drawn = stack.pop()
        if node is None:
            yield "", False, "block"
        elif isinstance(node, bs4.Tag):
            asked = {"no": False, "yes": True, "": True}.get(node.get("translate", "unknown"))
            asked = False if "notranslate" in node.get("class", "").split() else asked
            on = asked if asked is not None else is_on and node.name not in HELD | HIDDEN
            for key, value in node.attrs.items():
                is_copy = asked is None and not is_on and node.name in FORMATTING  # of one that is open outside
                if _is_shown(node, key) and not is_copy:
                    yield value, not (is_on if asked is None else asked), "attribute"
            drawn = is_drawn or node.name == "svg"
            is_block = not drawn and node.name not in INLINE
            stack += [
                *[(None, on, drawn)] * is_block,
                *[(child, on, drawn) for child in reversed(node.contents)],
                *[(None, on, drawn)] * is_block,
            ]
        elif not isinstance(node, bs4.Comment | bs4.Doctype | bs4.Declaration):
            yield str(node), not is_on, "drawn" if is_drawn else "text"


def _is_shown(node: Any, key: str) -> bool:
    if key == "alt":
        return node.name in ("img", "area", "input")
    if key == "value":
        return node.name == "input" and node.get("type", "") in ("submit", "button", "reset")
    if key == "content":
        return node.name == "meta" and node.get("name") in ("description", "twitter:title")
    return key in SHOWN_ATTRIBUTES and node.name not in ("link", "style")


def values(data: bytes) -> list[tuple[str, str]]:
    """Text of each option, and what a form sends for it."""
    options = [(" ".join(option.get_text().split()), option) for option in _soup(data).find_all("option")]
    return [(text, option.get("value", text)) for text, option in options]


WORDS = (
    "The dog", "sees", "a cat. ", " It sleeps", "now &amp; then", "a < b", "&eacute;t&eacute;", "&copy 2020 Ann",
    "&nbsp;", "1 &lt; 2", "&#233;l&#xe8;ve&#8217;s", "&notit; x", "&#0; y", "&unknown; z", "fish & chips", "50%",
    "\n", " ", "\r\n", " {name} ", " %s ", " https://a.example/b?c=d&amp;e ", "\u00a0dog", "&#128512; smile", "&", "&;",
    "<", "< b", "l'&Eacute;t&eacute;", "say \"so\"", "</", "]]>", "-->", "?>", "a>b",
)  # fmt: skip
NAMES = (
    "p", "div", "b", "i", "em", "span", "a", "u", "font", "nobr", "ul", "li", "dl", "dt", "dd", "h1", "h2", "section",
    "table", "tbody", "thead", "tr", "td", "th", "caption", "colgroup", "form", "button", "option", "optgroup",
    "label", "blockquote", "center", "article", "object", "body", "html", "head", "noscript", "fieldset", "legend",
    "details", "summary", "figure", "q", "sub", "my-element", "ruby", "DIV", "Span", "address", "marquee", "dir",
)  # fmt: skip
WHOLE = (
    " <code>dog()</code> ", " <kbd>Ctrl<b>x</b></kbd> ", "<br>", "<BR/>", "<wbr>", "<hr>", "<img src=x>", "<input>",
    '<img alt="The dog" src="a.png">', "<img alt='The \"dog\"'>", "<img alt=Dog src=x>", '<img alt="fish &amp; chips">',
    '<input type=submit value="Send it">', '<input value="dog">', '<input placeholder="Your name">', "<!-- a dog -->",
    "<!---->", "<!-->", "<!dog>", "<?xml version='1.0'?>", "<?php echo $dog ?>", "</>", "</ dog>", "<![CDATA[a dog]]>",
    "<script>if (a < b) dog('</p>')</script>", "<style>p > b { color: red }</style>", "<title>The dog &amp; I</title>",
    "<title>Two &lt; dogs</title>", "<textarea>The dog <b></textarea>", "<pre>\n The dog\n  sleeps</pre>",
    "<!DOCTYPE html>",
    "<svg viewBox='0 0 1 1'><title>A dog</title><path d='M0'/><text x=1>The <tspan>cat</tspan> sleeps</text></svg>",
    "<svg><style>a{}</style><g><text>One &amp; two</text></g></svg>", " <math><mi>x</mi><mo>=</mo><mn>2</mn></math> ",
    "<ruby>word<rp>(</rp><rt>reading</rt><rp>)</rp></ruby>", ' <span translate="no">Dogfood</span> ',
    ' <span class="x notranslate" title="Not this">Dogfood</span> ', '<p title="Not this" translate=no>Dog food</p>',
    '<div translate="no">Dog <b translate="yes" title="A name">but cats</b> food</div>', "<iframe src=x>a dog</iframe>",
    "<iframe title='The dog' src=x></iframe>", "<svg><foreignObject><p>A <b>big</b> dog</p></foreignObject></svg>",
    "<select><option value=a>One dog<option selected>Two</select>", "<link rel=x title=Blue>",
    "<meta name=description content='A page of dogs'>", "<meta name=author content='Ann Dog'>",
)  # fmt: skip
ATTRIBUTES = (
    "", "", "", "", ' title="The dog"', " title='a &lt; b'", " class=dog", ' href="/x?y&z"', " aria-label=Dog", " x",
)  # fmt: skip
pieces = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS),
    st.builds("<{}{}>".format, st.sampled_from(NAMES), st.sampled_from(ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(NAMES)),
    st.sampled_from(WHOLE),
    st.builds("<{0}{2}>{1}</{0}>".format, st.sampled_from(NAMES), st.sampled_from(WORDS), st.sampled_from(ATTRIBUTES)),
)
trees = st.recursive(
    st.sampled_from(WORDS + WHOLE),
    lambda inner: st.builds(
        "<{0}{2}>{1}</{0}>".format,
        st.sampled_from(NAMES),
        st.lists(inner, max_size=4).map("".join),
        st.sampled_from(ATTRIBUTES),
    ),
    max_leaves=12,
)
pages = st.one_of(st.lists(pieces, max_size=14), st.lists(st.one_of(trees, pieces), max_size=6)).map("".join)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(pages)
def test_a_page_of_any_tags_in_any_order(page: str) -> None:
    _check(page)


def _check(page: str) -> None:
    data = f"<p>Begin</p>{page}".encode()
    document = read_document(data, "a.html")
    assert document.translated([unit.source for unit in document.units]) == data
    check_theorem(data, "a.html", shown, skeleton)


@pytest.mark.parametrize(
    "page",
    [
        "<body><h1>One</h1>\nTwo dogs\n</body>\n</html>\n",
        "<p>One<p>Two dogs\n</body>",
        "One</p>Two</div></b></td>Three",
        "<table>One<b>two</b><tr>three<td>four</td>five</tr>six</table>",
        "<tr><td>One</td>\n<td>Two <b>dogs</b></td></tr>",
        "<li>One<li>Two",
        "One<![CDATA[a dog]]> two",
        "<svg><text><![CDATA[One & two]]></text></svg>",
        "<?php foreach ($dogs as $dog): ?><li>One</li><?php endforeach; ?>Two",
        "<select><option>One<option>Two</select><button>Three</button>",
        "<frameset><noframes>a dog</noframes></frameset>",
        "<noscript>One <b>two</b></noscript><template><p>Three</template><object>Four</object>",
        "<video>One</video><canvas>Two</canvas><details><summary>Three</summary>Four</details>",
        "<table><td>One<table><td>Two</table>three</table>",
        "<b><p>One</b>two</p>three<a>four<a>five</a>",
        "<title>One</title><h1>Two",
        "One</body></html>Two<p>Three",
        "<p>One<svg><title>two</title><style>a{}</style></svg>three",
        "One < two & three <> four </> five",
    ],
)
def test_no_text_is_left_in_silence(page: str) -> None:
    _check(page)


def _texts_of(page: str, name: str = "a.html") -> list[str]:
    units = read_document(page.encode(), name).units
    return [" ".join(unit.source.text.split()) for unit in units if unit.source.is_translatable]


def _capitals(page: str, name: str = "a.html") -> str:
    return in_capitals(page.encode(), name).data.decode()


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ('<img alt="a dog" title=\'a "cat"\' src="a b">', '<img alt="A DOG" title=\'A "CAT"\' src="a b">'),
        ("<img alt=dog src=x>", '<img alt="DOG" src=x>'),
        ("<img alt='it&#39;s &lt;&amp;' alt='no'>", "<img alt='IT&#39;S &lt;&amp;' alt='no'>"),
        ('<p>a <a href=x title="b c">d</a> e', '<p>A <a href=x title="B C">D</a> E'),
        ("<input placeholder='a dog' value='a cat'>", "<input placeholder='A DOG' value='a cat'>"),
        ("<input type=SUBMIT value=send>", '<input type=SUBMIT value="SEND">'),
        ('<button aria-label="a dog" value="x">y</button>', '<button aria-label="A DOG" value="x">Y</button>'),
        ('<meta name="Description" content="a dog">', '<meta name="Description" content="A DOG">'),
        ('<meta property="og:title" content="a dog">', '<meta property="og:title" content="A DOG">'),
        ('<meta name="keywords" content="a dog">', '<meta name="keywords" content="a dog">'),
        ('<link rel="stylesheet" title="blue">', '<link rel="stylesheet" title="blue">'),
        ('<optgroup label="dogs"><track label="cats">', '<optgroup label="DOGS"><track label="CATS">'),
        ('<img alt="{{ _("a dog") }}">', '<img alt="{{ _("a dog") }}">'),
        ('<p title="{n, plural, one {a} other {b}}">', '<p title="{n, plural, one {A} other {B}}">'),
        ('<p lang="en" data-x="a dog" class="dog" id="dog">', '<p lang="en" data-x="a dog" class="dog" id="dog">'),
    ],
)
def test_attributes_that_readers_see_are_translated(page: str, wanted: str) -> None:
    assert _capitals(page) == wanted


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ('<p translate="no" title="x">a <b>dog', '<p translate="no" title="x">a <b>dog'),
        (
            "<p class='x notranslate'>dog <b translate=yes title=x>cat</b>",
            "<p class='x notranslate'>dog <b translate=yes title=\"X\">CAT</b>",
        ),
        ('<div translate=no>dog <p translate="">cat</div> end', '<div translate=no>dog <p translate="">CAT</div> END'),
        ("<p>one <code>two <b>x</b></code> three", "<p>ONE <code>two <b>x</b></code> THREE"),
        ("<pre>one\n two</pre>", "<pre>one\n two</pre>"),
        ('<pre translate="yes">one\n two <b>x</b></pre>', '<pre translate="yes">ONE\n TWO <b>X</b></pre>'),
        ("<textarea placeholder='one'>two</textarea>", "<textarea placeholder='ONE'>two</textarea>"),
        ("<p>one <math><mi>x</mi></math> z", "<p>ONE <math><mi>x</mi></math> Z"),
        ("<p>one <script>x</script> two <style>x</style>", "<p>ONE <script>x</script> TWO <style>x</style>"),
        ("<p>one <code>two<p>three", "<p>ONE <code>TWO<p>THREE"),
        ("<iframe src=x>one</iframe><noembed>two</noembed>", "<iframe src=x>one</iframe><noembed>two</noembed>"),
        ("<!-- one --><!two><?three?>", "<!-- one --><!two><?three?>"),
    ],
)
def test_what_stays(page: str, wanted: str) -> None:
    assert _capitals(page) == wanted


def test_a_pre_without_an_end_is_reported() -> None:
    document = read_document(b"<p>One</p>\n<pre>two\n<p>three", "a.html")
    assert [(one.where, one.text.strip()) for one in document.untranslated] == [("line 2", "two"), ("line 3", "three")]


def test_readings_of_ruby_are_apart_from_the_sentence_and_reported() -> None:
    page = "<p>A <ruby>{}<rp>(</rp><rt>inu</rt><rp>)</rp> {}<rt>neko{}</ruby> {}."
    data = page.format("dog", "cat", "", "sleeps")
    document = read_document(data.encode(), "a.html")
    assert _texts_of(data) == ["A dog cat sleeps."]
    assert [one.text for one in document.untranslated] == ["inu neko"]
    assert _capitals(data) == page.format("DOG", "CAT", "</rt>", "SLEEPS")


def test_drawings_in_a_sentence_have_texts_of_their_own() -> None:
    page = '<p>{} <a href=x><svg aria-label="{}"><title>{}</title><path/></svg> {}</a> {}.'
    words = ["see", "icon", "a dog", "this", "now"]
    assert _texts_of(page.format(*words)) == ["see this now.", "icon", "a dog"]
    assert _capitals(page.format(*words)) == page.format(*map(str.upper, words))


def test_pages_in_attributes_are_translated() -> None:
    inner = "<p title='&quot;{}&quot;'>{} <b>{}</b></p><iframe srcdoc='&amp;lt;p>{}'></iframe>"
    page, words = f'<iframe srcdoc="{inner}"></iframe>', ["x", "one", "two", "three"]
    assert _texts_of(page.format(*words)) == ['"x"', "one two", "three"]
    assert _capitals(page.format(*words)) == page.format(*map(str.upper, words))
    deep = "x"
    for _ in range(5):
        deep = '<iframe srcdoc="' + deep.replace("&", "&amp;").replace('"', "&quot;") + '"></iframe>'
    assert [one.reason[:6] for one in read_document(deep.encode(), "a.html").untranslated] == ["a page"]


@pytest.mark.parametrize(
    "page",
    [
        "<?php if ($a->b > 1) { echo '<p>one</p>'; } ?>",
        '<a href="<?= url("one") ?>" <?php if ($a->b) echo "two"; ?>>',
        "<% for one in [1] %>",
        "<p class=<?= $one ?>>",
        "<?php // one",
    ],
)
def test_code_of_a_server_stays_and_ends_no_tag(page: str) -> None:
    assert _capitals(f"<p>begin</p>{page}") == f"<p>BEGIN</p>{page}"


def test_placeholders_are_written_as_they_were() -> None:
    assert _capitals("<p>one {{ a && b }} <%= x > y %> &lt;&amp;&quot; two") == (
        '<p>ONE {{ a && b }} <%= x > y %> &lt;&amp;" TWO'
    )


@pytest.mark.parametrize(
    ("written", "shown_as"),
    [
        ("&#" + "1" * 5000 + "; a", "\ufffd a"),
        ("&#x" + "f" * 5000 + "; a", "\ufffd a"),
        ("&#0000000000000000065; b", "A b"),
        ("&#x110000;&#xD800;&#0;a", "\ufffd\ufffd\ufffda"),
        ("&#150;&#x81;a", "\u2013\x81a"),
        ("&amp;lt; &ampx &notin; &notit; &hellip; &nosuch; a", "&lt; &x \u2209 \u00acit; \u2026 &nosuch; a"),
        ("&" + "a" * 5000, "&" + "a" * 5000),
    ],
)
def test_character_references(written: str, shown_as: str) -> None:
    (unit,) = read_document(f"<p>{written}</p>".encode(), "a.html").units
    assert unit.source.text == shown_as
    if len(written) < 4000:  # html5lib does not read longer numbers
        assert bs4.BeautifulSoup(f"<p>{written}</p>", "html5lib").p.get_text() == shown_as


def test_character_references_of_attributes_are_read_as_browsers_do() -> None:
    (unit,) = read_document(b'<p title="a&copy=b &copyx &copy; &lt &notit;">', "a.html").units
    assert unit.source.text == "a&copy=b &copyx \u00a9 < &notit;"


XHTML = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html [<!ENTITY x "a > b">]>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/><style>p > b {{}}</style></head>
<body><p>{0} <a id="x"/>dog<br/>&x; <b>cat</b></p><div/><![CDATA[{0} < {0}]]><x:p xmlns:x="x">{0}</x:p></body></html>
"""


def test_xhtml_is_read_as_xml() -> None:
    page = XHTML.format("one")
    assert _texts_of(page, "a.xhtml") == ["one dog &x; cat", "one < one", "one"]
    wanted = XHTML.format("ONE").replace("dog", "DOG").replace("cat", "CAT")
    assert _capitals(page, "a.xhtml") == wanted.replace("<![CDATA[ONE < ONE]]>", "ONE &lt; ONE")


def test_encodings_are_read_as_browsers_do() -> None:
    for name, codec in (("gb2312", "gb18030"), ("Shift_JIS", "cp932"), ("iso-8859-1", "cp1252")):
        text = {"gb18030": "镕", "cp932": "①", "cp1252": "“"}[codec]
        data = f"<!-- <meta charset=x> --><meta charset={name}><p>a {text}".encode(codec)
        assert read_document(data, "a.html").units[-1].source.text == f"a {text}"


def _into(page: str, target: str, source: str = "de", name: str = "a.html") -> str:
    languages = Languages(source, target)
    document = read_document(page.encode(), name, languages)
    return document.translated([Segment((unit.source.text.upper(),)) for unit in document.units]).decode()


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("<html lang=de><p>hund", '<html lang=ar dir="rtl"><p>HUND'),
        ('<html lang="de-AT" xml:lang="de" dir="ltr"><p>hund', '<html lang="ar" xml:lang="ar" dir="rtl"><p>HUND'),
        ("<html><body dir='ltr'><p>hund", "<html dir=\"rtl\"><body dir='rtl'><p>HUND"),
        ("<html dir=auto><p>hund", "<html dir=auto><p>HUND"),
        ("<body class=x>hund", '<body class=x dir="rtl">HUND'),
        ("<!doctype html>\n<p>hund", '<!doctype html><html lang="ar" dir="rtl">\n<p>HUND'),
        (
            "<html><p lang=en dir=ltr>hund<p dir=ltr>hund<p>x<input dir=ltr value=1>",
            '<html dir="rtl"><p lang=en dir=rtl>HUND<p dir=rtl>HUND<p>X<input dir=ltr value=1>',
        ),
        (
            '<html><meta property="og:locale" content="de_DE"><link hreflang=de href=x><p>hund',
            '<html dir="rtl"><meta property="og:locale" content="ar"><link hreflang=de href=x><p>HUND',
        ),
        (
            "<html><p>hund<iframe srcdoc='<html lang=de><p>hund'>",
            '<html dir="rtl"><p>HUND<iframe srcdoc=\'<html lang=ar dir="rtl"><p>HUND\'>',
        ),
    ],
)
def test_a_page_says_its_new_language_and_direction(page: str, wanted: str) -> None:
    assert _into(page, "ar") == wanted


def test_a_page_read_from_right_to_left_may_become_one_from_left_to_right_or_stay_so() -> None:
    page = '<html lang="he" dir="rtl"><p dir="rtl">hund<p lang="de" dir="ltr">x'
    assert _into(page, "de", "he") == '<html lang="de" dir="ltr"><p dir="ltr">HUND<p lang="de" dir="ltr">X'
    assert _into(page, "ar", "he") == page.replace('"he"', '"ar"').replace("hund", "HUND").replace("x", "X")
    assert _into("<html lang=de><p>hund", "en") == "<html lang=en><p>HUND"


def test_a_part_of_a_page_that_says_no_direction_gets_a_note() -> None:
    notes = [read_document(b"<p>Hund", "a.html", Languages("de", code)).units[0].notes for code in ("ar", "en")]
    assert notes == [("the text is read from right to left, which nothing about it says (dir)",), ()]


OPTION = st.tuples(
    st.sampled_from(["", " selected", " class=a", ' label="the dog"']),
    st.sampled_from(["the dog", "&nbsp; a &quot;cat&quot;", "\n one\n two ", "x &lt; y", "<b>two</b> dogs", "1", ""]),
    st.sampled_from(["</option>", "", "\n"]),
)  # fmt: skip


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(OPTION, min_size=1, max_size=4), st.sampled_from(["select", "datalist"]))
def test_a_form_sends_what_it_sent(options: list[tuple[str, str, str]], name: str) -> None:
    choices = "".join(f"<option{attributes}>{text}{end}" for attributes, text, end in options)
    page = f'<{name}>{choices}<option value="">a cat<option value=x>a man</{name}>'
    before, after = (
        [re.sub("[ \n]+", " ", option.get("value", option.get_text())).strip(" ") for option in soup.find_all("option")]
        for soup in (_soup(page.encode()), _soup(_capitals(page).encode()))
    )
    assert before == after


@pytest.mark.parametrize("condition", ["mso", "mso | IE", "(gte mso 9)|(IE)"])
def test_what_only_outlook_shows_is_named(condition: str) -> None:
    page = f"<!--[if {condition}]><style>td{{}}</style><td title='a b'>The&nbsp;<b>dog</b></td><![endif]--><!-- cat -->"
    document = read_document(f"<p>a</p>{page}<!--[if !mso]><!-->The man<!--<![endif]-->".encode(), "a.html")
    assert [one.text for one in document.untranslated] == ["The dog"]
    assert [unit.source.text for unit in document.units] == ["a", "The man"]


def test_what_a_form_sends_is_named() -> None:
    page = "<textarea>The dog</textarea><input name=a value=Cat><input type=hidden value=Man><input value=1>"
    assert [one.text for one in read_document(page.encode(), "a.html").untranslated] == ["The dog", "Cat"]
    sends = read_document(b"<input type=submit name=a value=Send><input type=submit value=Send>", "a.html").units
    assert [unit.notes for unit in sends] == [("a form sends it (value)",), ()]
