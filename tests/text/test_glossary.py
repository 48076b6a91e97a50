"""Glossary files: which entries a source line calls for."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.base.errors import DataError, InputError
from transduce.text.glossary import Entry, Glossary, comparable
from transduce.text.phrase_encoder import holds
from transduce.text.terms import Term
from work_done import lines_run


def glossary(folder: Path, text: str) -> Glossary:
    path = folder / "glossary.tsv"
    path.write_text(text, encoding="utf-8")
    return Glossary.read(path)


def test_entries_apply_to_lines_that_hold_their_term_as_whole_words(tmp_path: Path) -> None:
    found = glossary(tmp_path, "Hund\thound\n\tplease\n\nder Hund\tthe hound\nHund\tdog\tban\n\tugly\tban\n")
    assert found.applying("Hier ist der hund!").required == ("hound", "please", "the hound")
    assert found.applying("Hier ist der hund!").banned == ("dog", "ugly")
    assert found.applying("Hunde bellen.").required == ("please",)
    assert found.applying("Hunde bellen.").banned == ("ugly",)
    assert found.requires_any
    assert not glossary(tmp_path, "\tugly\tban\n").requires_any


@pytest.mark.parametrize(
    ("term", "line"),
    [
        ("自行车", "我有一辆自行车。"),
        ("จักรยาน", "เขามีจักรยานสองคัน"),
        ("Fahrrad", "Ein Fahr\u00adrad."),
        ("café", "Un cafe\u0301 !"),
    ],
)
def test_a_term_is_found_in_every_script_and_however_it_is_encoded(tmp_path: Path, term: str, line: str) -> None:
    assert glossary(tmp_path, f"{term}\tX\n").applying(line).required == ("X",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Hund\thound\nHund\n", "line 2 is 'Hund'; expected a source term, a tab and a target phrase"),
        ("Hund\t\n", "line 1"),
        ("Hund\tdog\tbanned\n", "line 1"),
        ("\n", "the glossary is empty"),
        ("Hund\tdog" + "|dog" * 500, "the entry of 'Hund' has more than 2,000 characters, forms included"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        glossary(tmp_path, text)


def test_a_bad_line_of_any_length_is_told_by_its_beginning(tmp_path: Path) -> None:
    for text in ("a\t" * 9999, "Hund\tdog||" + "x" * 9999):
        with pytest.raises(DataError, match="line 1") as told:
            glossary(tmp_path, text)
        assert len(str(told.value)) < 1000


HEADERS = ["en,note,de", "target,,source term", "Translation;x;Term"]


@pytest.mark.parametrize("header", HEADERS)
def test_a_csv_names_its_columns_or_begins_at_once(tmp_path: Path, header: str) -> None:
    path = tmp_path / "terms.csv"
    sign = ";" if ";" in header else ","
    rows = [["dog", "seen", "Hund"], ["the; cat", "", "Katze, alt"]]
    lines = [header, *(sign.join(f'"{cell}"' for cell in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = Glossary.read(path, "de", "en")
    assert [(entry.source, entry.target) for entry in found.entries] == [("Hund", "dog"), ("Katze, alt", "the; cat")]
    path.write_text("Hund,dog\nKatze,cat,ban\n", encoding="utf-8")
    assert Glossary.read(path, "de", "en").entries == [Entry("Hund", "dog"), Entry("Katze", "cat", True)]


def test_a_column_of_bans_has_that_name(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text("ban,de,en\n,Hund,dog\nban,Hund,hound\n", encoding="utf-8")
    assert Glossary.read(path, "de", "en").entries == [Entry("Hund", "dog"), Entry("Hund", "hound", True)]
    path.write_text("ban,de,en\nno,Hund,dog\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2 is 'no,Hund,dog'; expected a source term, a comma"):
        Glossary.read(path, "de", "en")


DCA = """<?xml version="1.0"?><tbx style="dca" type="TBX-Basic" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2">
<text><body>
<conceptEntry id="c1"><descrip type="subjectField">animals</descrip><langSec xml:lang="en">
<termSec><term>hound</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></termSec>
<termSec><term>domestic dog</term></termSec>
<termSec><term>dog</term><termNote type="administrativeStatus">preferredTerm-admn-sts</termNote></termSec></langSec>
<langSec xml:lang="de-DE"><termSec><term>Hund</term></termSec>
<termSec><term>Haus<hi>hund</hi></term></termSec></langSec>
</conceptEntry><conceptEntry id="c2"><langSec xml:lang="en"><termSec><term>cat</term></termSec></langSec></conceptEntry>
</body></text></tbx>"""
DCT = DCA.replace('style="dca"', 'style="dct" xmlns:basic="b"')
for status in ("deprecated", "preferred"):
    note = f"{status}Term-admn-sts"
    DCT = DCT.replace(
        f'<termNote type="administrativeStatus">{note}</termNote>',
        f"<basic:administrativeStatus>{note}</basic:administrativeStatus>",
    )
VERSION_2 = (
    DCA.replace('tbx style="dca"', "martif")
    .replace("</tbx>", "</martif>")
    .replace("conceptEntry", "termEntry")
    .replace("langSec", "langSet")
    .replace("<termSec>", "<ntig><termGrp>")
    .replace("</termSec>", "</termGrp></ntig>")
)
TIG = VERSION_2.replace("<ntig><termGrp>", "<tig>").replace("</termGrp></ntig>", "</tig>")


@pytest.mark.parametrize("text", [DCA, DCT, VERSION_2, TIG], ids=["dca", "dct", "ntig", "tig"])
def test_a_term_base_gives_preferred_terms_and_bans_deprecated_ones(tmp_path: Path, text: str) -> None:
    path = tmp_path / "terms.tbx"
    path.write_text(text, encoding="utf-8")
    bans = [Entry(term, "hound", True) for term in ("Hund", "Haushund")]
    required = [Entry(term, "dog") for term in ("Hund", "Haushund")]
    assert Glossary.read(path, "de", "en").entries == [required[0], bans[0], required[1], bans[1]]
    assert [(e.source, e.target) for e in Glossary.read(path, "en", "de").entries] == [
        ("hound", "Hund"),
        ("domestic dog", "Hund"),
        ("dog", "Hund"),
    ]


def test_variants_of_a_term_base_are_forms(tmp_path: Path) -> None:
    path = tmp_path / "terms.tbx"
    variant = '<termNote type="termType">variant</termNote></termSec>'
    text = DCA.replace("<term>domestic dog</term></termSec>", f"<term>dogs</term>{variant}")
    text = text.replace("<term>Haus<hi>hund</hi></term></termSec>", f"<term>Hunde</term>{variant}")
    path.write_text(text, encoding="utf-8")
    required, banned = Entry("Hund", "dog", False, ("Hunde",), ("dogs",)), Entry("Hund", "hound", True, ("Hunde",))
    assert Glossary.read(path, "de", "en").entries == [required, banned]


def test_forms_do_not_look_like_cells(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text("hound|hounds,Hund|Hunde|Hunden\ncat,Katze\n", encoding="utf-8")
    forms = Entry("hound", "Hund", False, ("hounds",), ("Hunde", "Hunden"))
    assert Glossary.read(path).entries == [forms, Entry("cat", "Katze")]


@pytest.mark.parametrize(
    ("text", "languages", "told"),
    [
        (DCA, ("de", "fr"), "no concept has terms in 'de' and 'fr'; its languages are de-DE, en"),
        (DCA, ("source", "target"), "the model does not say which are its own"),
        ("<html/>", ("de", "en"), "is no TBX but begins with <html>"),
        ("<tbx><body>", ("de", "en"), "not well-formed XML"),
        ('<!DOCTYPE tbx [<!ENTITY a "b">]><tbx/>', ("de", "en"), "declares the entity"),
    ],
)
def test_a_term_base_that_does_not_fit_is_an_error(
    tmp_path: Path, text: str, languages: tuple[str, str], told: str
) -> None:
    path = tmp_path / "terms.tbx"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(told)):
        Glossary.read(path, *languages)


def applying_one_by_one(entries: list[Entry], text: str) -> list[tuple[Entry, str]]:
    """The slow and obvious way to find the entries that apply to a text, and the form that each has there."""
    found = []
    for entry in entries:
        forms = (entry.source, *entry.source_forms)
        held = [form for form in forms if holds(comparable(text), comparable(form))] if entry.source else [""]
        found += [(entry, held[0])] if held else []
    return found


TERMS = st.one_of(st.text("aAéßÄ -x\u0301\u00ad개들에나リ狗เก", max_size=5), st.text("a ", max_size=9))


@given(
    st.lists(st.builds(Entry, TERMS, st.sampled_from("uvw"), st.booleans(), st.lists(TERMS, max_size=2).map(tuple))),
    st.text("aAéßÄ -x\u0301\u00ad개들에나リ狗เก", max_size=25),
)
def test_entries_that_are_sought_all_at_once_are_those_that_are_tried_one_by_one(
    entries: list[Entry], text: str
) -> None:
    glossary, expected = Glossary(entries), applying_one_by_one(entries, text)
    required, banned = ([one for one in expected if one[0].is_banned == is_banned] for is_banned in (False, True))
    assert glossary.applying(text).required == tuple(dict.fromkeys(entry.target for entry, _ in required))
    assert glossary.applying(text).banned == tuple(dict.fromkeys(entry.target for entry, _ in banned))
    assert glossary.applying(text).terms == tuple(Term(one.source, one.target, (), form) for one, form in required)


ALIKE = {
    "one letter": lambda n: (["a" * size for size in range(1, n + 1)], "a" * n),
    "one word": lambda n: (["a " * size + "a" for size in range(n)], "a " * n),
    "one beginning": lambda n: ([f"the same beginning {size}" for size in range(n)], "the same beginning 7. " * n),
    "no spaces": lambda n: (["狗" * size for size in range(1, n + 1)], "狗" * n),
    "never whole": lambda n: (["b" + "a" * size for size in range(1, n + 1)], "baaaaaa " * n),
}


@pytest.mark.parametrize("kind", ALIKE)
def test_the_work_on_a_text_does_not_grow_with_the_number_of_terms_that_are_alike(kind: str) -> None:
    def lines(n: int) -> int:
        terms, text = ALIKE[kind](n)
        glossary = Glossary([Entry(term, "x") for term in terms])
        glossary.applying("")  # makes its index
        return lines_run(lambda: glossary.applying(text))

    few, many = lines(100), lines(400)
    assert few > 100
    assert many < 5 * few


def test_an_entry_applies_to_forms_of_its_term_and_is_met_by_forms_of_its_phrase(tmp_path: Path) -> None:
    read = glossary(tmp_path, "hound|hounds\tHund|Hunde|Hunden\nx\\|y\ta\\|b\n\tug|ly\tban\n")
    assert read.applying("Two HOUNDS run.").required == ("Hund",)
    assert read.applying("Two HOUNDS run.").terms == (Term("hound", "Hund", ("Hunde", "Hunden"), "hounds"),)
    assert read.applying("Bloodhounds.").required == ()
    assert read.applying("x|y").required == ("a|b",)
    assert read.applying("anything").banned == ("ug", "ly")
    read.write(tmp_path / "again.tsv")
    assert Glossary.read(tmp_path / "again.tsv") == read


def test_a_use_says_which_forms_are_required(tmp_path: Path) -> None:
    entries = glossary(tmp_path, "hound\tHund|Hunde\n\tnie\tban\n").entries
    exact = Glossary(entries, use="exact")
    assert exact.applying("A hound.").required == ("Hund",)
    assert exact.applying("A hound.").terms == (Term("hound", "Hund", (), "hound"),)


@pytest.mark.parametrize("line", ["hound|\tHund", "hound\tHund||Hunde", "hound\t|Hund"])
def test_a_blank_form_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"line 1: '.*' has a blank form"):
        glossary(tmp_path, f"{line}\n")
