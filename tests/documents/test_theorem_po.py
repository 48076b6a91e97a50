"""PO: what gettext would show is translated or held, all else stays, and msgfmt accepts what comes out."""

import re
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.document import Languages
from docsegments.document_formats import read_document
from documents import theorem
from documents.made_messages import flagged_messages
from documents.theorem import in_capitals, reordered
from transduce.base.errors import InputError

pypo = pytest.importorskip("translate.storage.pypo")
pytest.importorskip("polib")

HEADER = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2);\\n"\n'
    '"Project-Id-Version: a\\n"\n"Language: de\\n"\n"MIME-Version: 1.0\\n"\n\n'
)
EN_DE = Languages("en", "de")


def escape(text: str) -> str:
    for character, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(character, written)
    return text


def units(data: bytes) -> list[Any]:
    store = pypo.pofile()
    store.parse(data)
    return [
        unit for unit in store.units if not unit.isheader() and unit.getcontext() != "done" and not unit.isobsolete()
    ]


def strings(text: Any) -> list[str]:
    """The forms of a text."""
    return list(map(str, getattr(text, "strings", [text])))


def shown(data: bytes) -> list[str]:
    """What a program shows: the translation of each form, or else its text."""
    texts: list[str] = []
    for unit in units(data):
        sources, targets = strings(unit.source), strings(unit.target)
        if not unit.hasplural():
            texts.append(str(unit.target) or str(unit.source))
            continue
        targets = [*targets, *[""] * 3][:3]
        texts += [target or sources[form > 0] for form, target in enumerate(targets)]
    return texts


def skeleton(data: bytes) -> Any:
    """All but the translations."""
    store = pypo.pofile()
    store.parse(data)
    return [
        (
            unit.getcontext(), strings(unit.source), unit.getnotes(), unit.getlocations(), list(unit.typecomments),
            unit.isobsolete(), unit.isheader(),
            str(unit.target) if unit.isheader() or unit.getcontext() == "done" or unit.isobsolete() else "",
        )
        for unit in store.units
    ]  # fmt: skip


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs msgfmt (gettext)")
@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.lists(flagged_messages(), min_size=8, max_size=8))
def test_msgfmt_accepts_what_comes_out(messages: list[tuple[str, str]]) -> None:
    entries = (
        f'{f"#, {flag}" if flag else "#"}\nmsgctxt "{number}"\nmsgid "{escape(text)}"\nmsgstr ""\n\n'
        for number, (flag, text) in enumerate(messages)
    )
    data = (HEADER + "".join(entries)).encode()
    for translated in (in_capitals(data, "a.po").data, reordered(data, "a.po").data):
        assert msgfmt(translated) == ""


def msgfmt(data: bytes) -> str:
    """What it has to say against a catalogue."""
    done = subprocess.run(["msgfmt", "-c", "-o", "/dev/null", "-"], input=data, capture_output=True)
    return "\n".join(line for line in done.stderr.decode().splitlines() if not re.search("header field|warning", line))


def translated(text: str, flags: str = "") -> str:
    data = f'{f"#, {flags}" if flags else "#"}\nmsgid "{escape(text)}"\nmsgstr ""\n'.encode()
    store = pypo.pofile()
    store.parse(in_capitals(data, "a.po").data)
    return str(store.units[-1].target)


@pytest.mark.parametrize(
    ("text", "flags", "wanted"),
    [
        ("%d%% of %s%s", "c-format", "%d%% OF %s%s"),
        ("From %d-%d", "", "FROM %d-%d"),
        ("It''s {0}", "java-format", "IT''S {0}"),
        ("It's {0} now", "java-format", "IT'S {0} NOW"),
        ("a\tb  c\n", "", "A\tB  C\n"),
        ("{n, plural, one {# <b>file</b>} other {# files}}", "", "{n, plural, one {# <b>FILE</b>} other {# FILES}}"),
        ("{0} none|[1,3] few | [4,*] many", "", "{0} NONE|[1,3] FEW | [4,*] MANY"),
        ("Hi <name of client> in <file>", "", "HI <NAME OF CLIENT> IN <file>"),
        ("%<foo%> is %qs", "gcc-internal-format", "%<FOO%> IS %qs"),
        ("{% if a %}dog{% else %}cat{% endif %}", "", "{% if a %}DOG{% else %}CAT{% endif %}"),
    ],
)
def test_what_is_held_stays_with_its_neighbours(text: str, flags: str, wanted: str) -> None:
    assert translated(text, flags) == wanted


def test_a_form_for_several_numbers_has_the_placeholders_of_the_plural() -> None:
    message = 'msgid "one file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] ""\n'
    document = read_document((HEADER + message).encode(), "a.po", EN_DE)
    assert [unit.source.text for unit in document.units] == ["%d files"] * 3
    document = read_document(message.encode(), "a.po", EN_DE)  # whose form of 1 is that of 1 alone, as far as is known
    assert [unit.source.text for unit in document.units] == ["one file", "%d files", "%d files"]


def test_units_have_the_names_of_their_messages() -> None:
    plural = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
    document = read_document((plural + 'msgctxt "verb"\nmsgid "c"\nmsgstr ""\n').encode(), "a.po", EN_DE)
    assert [unit.id for unit in document.units] == ["a[0]", "a[1]", "verb|c"]


def test_a_string_of_too_many_lines_is_refused() -> None:
    with pytest.raises(InputError, match=r"line 10002: a string of more than 10,000 lines"):
        read_document(b'msgid ""\n' + b'"a"\n' * 10_001 + b'msgstr ""\n', "a.po", EN_DE)


@pytest.mark.parametrize(
    ("source", "lost"),
    [("Da_tei", "_"), ("&Datei", "&"), ("ö&ffnen", "&"), ("R&D", ""), ("Tom & Ann", ""), ("A_B", "")],
)
def test_a_menus_entry_without_the_sign_of_its_key_is_named(source: str, lost: str) -> None:
    data = f'msgid ""\nmsgstr ""\n\nmsgid "{source}"\nmsgstr ""\n'.encode()
    report = theorem.translated(lambda text: text.replace("&", "").replace("_", ""), data, "a.po").segments[-1]
    assert report.review == ((f"has no {lost!r} before the letter of its key",) if lost else ())
    kept = in_capitals(data, "a.po").segments[-1]
    assert kept.review == ()
