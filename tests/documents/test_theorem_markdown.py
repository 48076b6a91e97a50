"""Markdown: every text that readers see is translated, held by a rule that docs/documents.md names, or told in the log.

Python-Markdown with the extensions of MkDocs, and mistune, read the documents; they have no part in the product.
"""

import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.document_formats import read_document
from docsegments.segment import Mark, Segment
from documents.theorem import in_capitals, reordered
from transduce.base.errors import InputError

markdown = pytest.importorskip("markdown")
mistune = pytest.importorskip("mistune")
pytest.importorskip("pymdownx")

INLINE_NAMES = "a abbr b code del em i img ins kbd label mark s span strong sub sup u br q ruby rp rt input wbr"
INLINE = frozenset(INLINE_NAMES.split())
HELD = frozenset(["code", "kbd", "pre", "script", "style"])
TEXTS = ("alt", "title", "placeholder", "aria-label", "srcdoc")  # attributes that readers see
NAMES = ("id", "for", "name")
VOID = frozenset(["br", "hr", "img", "input"])
OF_MKDOCS = [
    "tables", "attr_list", "def_list", "footnotes", "abbr", "admonition", "md_in_html", "pymdownx.superfences",
    "pymdownx.details", "pymdownx.tabbed", "pymdownx.arithmatex", "pymdownx.tilde", "pymdownx.mark",
]  # fmt: skip
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)


class Page(HTMLParser):
    """A page as blocks: their tags, the tags within them, and their texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.blocks: list[tuple[str, Counter[Any]]] = [("", Counter())]
        self.texts: list[str] = [""]
        self.attributes: list[str] = []
        self._held = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if ("class", "footnote-backref") not in attrs:
            self.attributes += [value for name, value in attrs if name in TEXTS and value]
        others = tuple(
            sorted(
                (name, value) for name, value in attrs if name not in (*TEXTS, *NAMES, *(["value"] * (tag == "option")))
            )
        )
        self._held += tag in HELD
        if tag in INLINE:
            self.blocks[-1][1][tag, others] += 1
            self.texts[-1] += " " * (tag == "br")
        else:
            self._begin(f"{tag} {others}")

    def handle_endtag(self, tag: str) -> None:
        self._held -= tag in HELD
        if tag not in INLINE and tag not in VOID:
            self._begin(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if not self._held:
            self.texts[-1] += data
        else:
            self.blocks[-1][1]["held", "".join(data.split())] += 1

    def handle_comment(self, data: str) -> None:
        self.blocks[-1][1]["comment", data] += 1

    def _begin(self, name: str) -> None:
        self.blocks.append((name, Counter()))
        self.texts.append("")


def by_python_markdown(data: bytes) -> Page:
    text = FRONT_MATTER.sub("", data.decode().replace("\r\n", "\n"))
    options = {"pymdownx.tabbed": {"alternate_style": True}, "pymdownx.arithmatex": {"preview": False}}
    return Page(markdown.markdown(text, extensions=OF_MKDOCS, extension_configs=options))


def by_mistune(data: bytes) -> Page:
    text = FRONT_MATTER.sub("", data.decode().replace("\r\n", "\n"))
    plugins = ["strikethrough", "table", "footnotes", "task_lists", "def_list"]
    return Page(mistune.create_markdown(escape=False, plugins=plugins)(text))


def shown(read: Callable[[bytes], Page]) -> Callable[[bytes], list[str]]:
    def texts(data: bytes) -> list[str]:
        page = read(data)
        return [text for text in [*page.texts, *sorted(page.attributes, key=str.upper)] if text.strip()]

    return texts


def skeleton(read: Callable[[bytes], Page]) -> Callable[[bytes], Any]:
    return lambda data: read(data).blocks


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# The dog {#dog}\n{: .no_toc }\n", "# THE DOG {#dog}\n{: .no_toc }\n"),
        ("> ``` yaml title=\"The dog\"\n> a: b\n> ```\n", "> ``` yaml title=\"THE DOG\"\n> a: b\n> ```\n"),
        ("``` { .sh title='a.sh' }\n# The dog\n```\n", None),
        ("The dog\n: The *cat*\n: One\n\n    two\n", "THE DOG\n: THE *CAT*\n: ONE\n\n    TWO\n"),
        ("One\nTwo\n:   three\n", "ONE\nTWO\n:   THREE\n"),
        ("!!! note\n    The dog\n    runs\n", "!!! note\n    THE DOG RUNS\n"),
        ("??? tip \"The dog\"\n\n    - one\n\n        code\n", "??? tip \"THE DOG\"\n\n    - ONE\n\n        CODE\n"),
        ("=== \"The tab\"\n\n    ```\n    code\n    ```\n", "=== \"THE TAB\"\n\n    ```\n    code\n    ```\n"),
        (":::tip[The dog]{.a}\nOne\n:::\n", ":::tip[THE DOG]{.a}\nONE\n:::\n"),
        ("::: warning The dog\nOne\n:::\n", "::: warning THE DOG\nONE\n:::\n"),
        ("/// caption | The dog\nOne\n///\n", "/// caption | THE DOG\nONE\n///\n"),
        ("> [!tip]- The dog\n> One\n", "> [!tip]- THE DOG\n> ONE\n"),
        ("*[HTML]: Hyper text\n\n[TOC]\n", "*[HTML]: HYPER TEXT\n\n[TOC]\n"),
        ("One\n--8<-- \"a.md\"\nTwo\n", "ONE\n--8<-- \"a.md\"\nTWO\n"),
        ("It is $a_1 * b$ and \\(x_1\\), at $5 or 6$.\n", "IT IS $a_1 * b$ AND \\(x_1\\), AT $5 OR 6$.\n"),
        ("$$\na_1 * b\n- c\n$$\n\n\\begin{align}\na &= b\n\\end{align}\n", None),
        (
            "Go :rocket: now, press ++ctrl+c++ or <kbd>Esc</kbd>.\n",
            "GO :rocket: NOW, PRESS ++ctrl+c++ OR <kbd>Esc</kbd>.\n",
        ),
        ("Use {{< ref \"a_b\" >}} and {{ a | b }} here.\n", "USE {{< ref \"a_b\" >}} AND {{ a | b }} HERE.\n"),
        ("[One]({% link a b.md %}) of [two]({{ x }}/b)\n", "[ONE]({% link a b.md %}) OF [TWO]({{ x }}/b)\n"),
        ("{{< note >}}\nThe dog\n{{< /note >}}\n", "{{< note >}}\nTHE DOG\n{{< /note >}}\n"),
        ("{% highlight ruby %}\nputs a\n{% endhighlight %}\n", None),
        ("==The *dog*== runs ^^far^^ [away]{.a}.\n", "==THE *DOG*== RUNS ^^FAR^^ [AWAY]{.a}.\n"),
        ("A note ^[of *one*] and [two][a.b_c] [@c1].\n", "A NOTE ^[OF *ONE*] AND [TWO][a.b_c] [@c1].\n"),
        ("| One | a \\| b |\n|---|---|\n| `a \\| b` | c |\n", "| ONE | A \\| B |\n|---|---|\n| `a \\| b` | C |\n"),
        ("| One | two |\n| three | four |\n", "| ONE | TWO |\n| THREE | FOUR |\n"),
        (
            "<details>\n<summary>The dog</summary>\n\nOne\n\n</details>\n",
            "<details>\n<summary>THE DOG</summary>\n\nONE\n\n</details>\n",
        ),
        ("> <div>\n> The\n> dog <b\n> id=a>runs</b></div>\n", "> <div>\n> THE DOG <b\n> id=a>RUNS</b></div>\n"),
        ("![The *dog*](a.png 'One') <img alt='two'>\n", "![THE *DOG*](a.png 'ONE') <img alt='TWO'>\n"),
        ("<Card title=\"The dog\" n={1}>\nOne\n</Card>\n", "<Card title=\"THE DOG\" n={1}>\nONE\n</Card>\n"),
        ("\\_a\\_ &nbsp;b &copy; C:\\d AT&T x[0] a < b\n", "\\_A\\_ B &copy; C:\\D AT&T X[0] A < B\n"),
        ("See https://a.b/c_(d_e)_f, *or* (www.a.b/c_d).\n", "SEE https://a.b/c_(d_e)_f, *OR* (www.a.b/c_d).\n"),
        (
            "---\ntitle: \"The \\\"dog\\\"\"\ntags: [a]\ndescription: >-\n  One\n  two\n---\nThree\n",
            "---\ntitle: \"THE \\\"DOG\\\"\"\ntags: [a]\ndescription: >-\n  ONE TWO\n---\nTHREE\n",
        ),
        ("+++\ntitle = 'The dog'\ndraft = true\n+++\nOne\n", "+++\ntitle = 'THE DOG'\ndraft = true\n+++\nONE\n"),
        ("Title: The dog\nDate: 2020\n\nOne\n", "Title: THE DOG\nDate: 2020\n\nONE\n"),
    ],
)  # fmt: skip
def test_dialects(text: str, wanted: str | None) -> None:
    for end in ("\n", "\r\n"):
        data = text.replace("\n", end).encode()
        document = read_document(data, "a.md")
        assert document.translated([unit.source for unit in document.units]) == data
        assert in_capitals(data, "a.md").data.decode() == (text if wanted is None else wanted).replace("\n", end)


def test_mdx_has_tags_expressions_and_scripts_that_stay() -> None:
    text = (
        "import A from './a'\nexport const b = {\n  c: 'The dog',\n\n  d: 1,\n}\n\n<A title=\"One\" {...b}>\n"
        "  The *dog* {b.c} runs.\n</A>\n\n{/* The cat */}\n\n<div style={{a: 'b'}}>Two</div>\n"
    )
    wanted = text.replace("One", "ONE").replace("The *dog*", "THE *DOG*").replace("runs", "RUNS").replace("Two", "TWO")
    assert in_capitals(text.encode(), "a.mdx").data.decode() == wanted
    (unit,) = read_document(b"The dog", "a.mdx").units
    assert "".join(unit.write(Segment(("import {a} < b",)))[0].pieces) == "&#105;mport \\{a\\} &lt; b"


def test_emphasis_that_holds_no_words_goes_and_its_blanks_are_about_it() -> None:
    document = read_document(b"The **small** _dog_ runs.", "a.md")
    marks = document.units[0].source.marks
    target = Segment(("Der ", marks[0], marks[1], "Hund", marks[2], " rennt ", marks[3], "weg"))
    assert document.translated([target]) == b"Der Hund _rennt_ weg"
    target = Segment(("Der", marks[0], "Hund", marks[1], "rennt", marks[2], "weg", marks[3], "."))
    assert document.translated([target]) == b"Der**Hund**rennt*weg*."


@pytest.mark.parametrize(
    "text",
    ["# a", "1. a", "- a", "> a", "===", "---", "!!! a", ": a", "[a]: b", "*[a]: b", "[^1]: a", "{: a }", "| a", "~~~",
     "```",
     "*a* _b_ `c` [d](e) <f> &amp; | \\ ~~g~~", "$a_1$ :b: ==c==", "{{ a }}", "<div>", "+++", ":::", "![a](b)", "a #"],
)  # fmt: skip
@pytest.mark.parametrize("source", ["The dog", "# The dog", "- The dog", "| The dog |\n|---|", "The dog\n==="])
def test_no_text_is_markup(source: str, text: str) -> None:
    document = read_document(source.encode(), "a.md")
    written = document.translated([Segment((text,))])
    for read in (by_mistune, by_python_markdown):
        before, after = read(source.encode()), read(written)
        assert after.blocks == before.blocks
        if read is by_mistune:  # Python-Markdown shows the backslashes of some
            assert ["".join(one.split()) for one in after.texts if one.strip()] == ["".join(text.split())]
    (unit,) = read_document(written, "a.md").units
    assert "".join(part if isinstance(part, str) else part.shown for part in unit.source.parts) == text


def test_captions_and_titles_among_the_options_of_quarto_are_named() -> None:
    text = '```{r}\n#| label: fig-dog\n#| fig-cap: "A dog"\nx\n```\n\n'
    text += '::: {.note title="The cat"}\nSee @fig-dog-run.\n:::\n'
    document = read_document(text.encode(), "a.qmd")
    assert [(one.where, one.text) for one in document.untranslated] == [("line 3", '"A dog"'), ("line 7", "The cat")]
    assert [mark.shown for unit in document.units for mark in unit.source.marks] == ["@fig-dog-run"]


def test_what_cannot_be_translated_is_named() -> None:
    document = read_document(b'{{< figure title="The dog" >}}\n\n[a]: b "One\ntwo"\n', "a.md")
    assert [(one.where, one.text) for one in document.untranslated] == [
        ("line 1, title", "The dog"), ("line 3, title", "One\ntwo"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["> " * 90 + "a", "".join(f"{'  ' * n}- a\n" for n in range(60))])
def test_blocks_too_deep_in_each_other_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"a\.md: line \d+: quotations and lists lie more than 40 deep") as error:
        read_document(text.encode(), "a.md")
    assert "\n" not in str(error.value)


def test_words_in_another_order_tear_no_template_tag() -> None:
    text = "{{< note >}}\nThe {{ page._name }} of the dog [runs]({% link a b.md %}).\n{{< /note >}}\n"
    written = reordered(text.encode(), "a.md").data.decode()
    for tag in ("{{< note >}}\n", "{{ page._name }}", "]({% link a b.md %})", "\n{{< /note >}}\n"):
        assert written.count(tag) == 1
    assert any(isinstance(part, Mark) for part in read_document(written.encode(), "a.md").units[0].source.parts)


HEADINGS = {
    "The dog": "the-dog",
    "Über uns": "%C3%BCber-uns",
    "Größe": "groesse",
    "Is it *big*?": "is-it-big",
    "`code_x` & more": "code_x--more",
    "犬 und Katze": "犬-und-katze",
}
"""Headings, and links to them as one renderer or another writes them."""


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.permutations(list(HEADINGS)), st.sampled_from(["# {}", "### {} ###", "{}\n---"]), st.integers(0, 6))
def test_links_to_headings_of_the_page_lead_there(headings: list[str], heading: str, linked: int) -> None:
    links = [HEADINGS[one] for one in headings[:linked]]
    text = "\n\n".join([*(f"See [it](#{link})." for link in links), *map(heading.format, headings)])
    written = in_capitals(text.encode(), "a.md").data.decode()
    assert re.findall(r"\]\(#(.*?)\)", written) == links
    assert sorted(re.findall('<a id="(.*?)"></a>', written)) == sorted(map(unquote, links))
    assert [one.text for one in read_document(written.encode(), "a.md").untranslated] == []


def test_a_heading_that_is_linked_twice_named_or_elsewhere() -> None:
    text = "[a](#dog-1) [b](#cat) [c](#man)\n\n# Dog\n\n# Dog\n\n# Cat {#cat}\n\n# <a id='man'></a>Man\n"
    assert re.findall("# (.*)", in_capitals(text.encode(), "a.md").data.decode())[-4:] == [
        "DOG", '<a id="dog-1"></a>DOG', "CAT {#cat}", "<a id='man'></a>MAN",
    ]  # fmt: skip
    units = read_document(b"[a](b.md#dog)\n\n[a](https://b.c/d#e)\n\n[[b#dog]] x\n\n[a](#dog)\n", "a.md").units
    assert [len(unit.notes) for unit in units] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        ("![The dog]", "![THE DOG][The dog]"),
        ("![The dog][]", "![THE DOG][The dog]"),
        ("![A dog][the dog]", "![A DOG][the dog]"),
        ("[a ![The dog]](x)", "[A ![THE DOG][The dog]](x)"),
    ],
)
def test_an_image_that_is_defined_by_its_text_stays_one(image: str, wanted: str) -> None:
    text = f"See {image} now.\n\n[the dog]: a.png\n"
    assert in_capitals(text.encode(), "a.md").data.decode() == f"SEE {wanted} NOW.\n\n[the dog]: a.png\n"


def test_chunks_of_code_stay_in_files_of_quarto_and_r_markdown() -> None:
    chunk = "```{r}\n#| echo: false\nplot(dog)\n```\n"
    text = f'---\ntitle: The dog\n---\n\nIt is `r mean(x)`.\n\n{chunk}\n```{{r, fig.cap="A big dog"}}\nx\n```\n'
    wanted = text.replace("The dog", "THE DOG").replace("It is", "IT IS").replace("A big dog", "A BIG DOG")
    for name in ("a.qmd", "a.Rmd"):
        assert in_capitals(text.encode(), name).data.decode() == wanted
