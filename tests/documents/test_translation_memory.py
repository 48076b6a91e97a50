"""A memory gives what was translated before: the same segment, or one like it."""

from pathlib import Path
from typing import Any

import pytest

from docsegments.budget import BUDGET, Budget, BudgetError, budgeted
from docsegments.document import Languages
from docsegments.memory import AT_ONCE, LONGEST, Memory
from docsegments.text.placeholders import plain_segment
from docsegments.translating.document_translator import DocumentTranslator
from transduce.base.errors import InputError

fuzz = pytest.importorskip("rapidfuzz.fuzz")
EN_DE = Languages("en", "de")


def test_the_same_text_is_found_whatever_the_blanks(tmp_path: Path) -> None:
    table = tmp_path / "pairs.tsv"
    table.write_text("The dog  sees %s.\tDer Hund sieht %s.\tmore\n\nThe man\tDer Mann\r\n", newline="")
    memory = Memory.read(table, EN_DE)
    match = memory.find(plain_segment("The dog sees\n%s."))
    assert match is not None
    assert (match.similarity, match.target.text) == (1.0, "Der Hund sieht %s.")
    man = memory.find(plain_segment("The man"))
    assert man is not None
    assert man.target.text == "Der Mann"


def test_a_text_that_is_like_it_is_less_than_the_same(tmp_path: Path) -> None:
    table = tmp_path / "pairs.tsv"
    table.write_text("The old dog sleeps in the house.\tDer alte Hund schläft im Haus.\n")
    memory = Memory.read(table, EN_DE)
    match = memory.find(plain_segment("The old dog sleeps in a house."))
    assert match is not None
    assert 0.9 < match.similarity < 1
    assert memory.find(plain_segment("Who are you?")) is None


def unit_of_tmx(target: str, of_unit: str = "", of_source: str = "") -> str:
    source = f'<tuv xml:lang="en">{of_source}<seg>Open</seg></tuv>'
    return f'<tu>{of_unit}{source}<tuv xml:lang="de"><seg>{target}</seg></tuv></tu>'


PROGRAMS = {
    "MateCat": unit_of_tmx("Offen", '<prop type="x-context-pre">The  state</prop>'),
    "memoQ": unit_of_tmx("Offen", of_source='<prop type="x-context-pre">&lt;seg&gt;The state&lt;/seg&gt;</prop>'),
    "OmegaT": unit_of_tmx("Offen", '<prop type="file">a.txt</prop><prop type="prev">The &lt;b&gt;state</prop>'),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_of_several_translations_the_one_after_the_same_segment_is_taken(tmp_path: Path, program: str) -> None:
    other = unit_of_tmx("Auf", '<prop type="x-context-pre">The door</prop>')
    units = f"{unit_of_tmx('Öffnen')}{PROGRAMS[program]}{other}"
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>')
    memory = Memory.read(tmp_path / "a.tmx", EN_DE)
    page = "<p>The state</p><p>Open</p><p>12</p><p>The door</p><p><b>Open</b></p><p>The file</p><p>Open</p>"
    translated = DocumentTranslator(lambda texts: texts, memory, EN_DE).translate(page.encode(), "a.html")
    assert [each.target for each in translated.segments if each.source == "Open"] == ["Offen", "Auf", "Öffnen"]
    assert [each.in_context for each in translated.segments] == [False, True, False, False, True, False, False]
    assert "3 from the memory (2 in context)" in translated.describe()


def test_segments_of_a_translated_file_are_each_others_context(tmp_path: Path) -> None:
    pairs = [("The state", "Der Zustand"), ("Open", "Offen"), ("12", "12"), ("The door", "Die Tür"), ("Open", "Auf")]
    blank = [("The state", " "), ("Open", " ")]
    units = "".join(
        f'<trans-unit id="{n}"><source>{source}</source><target state="final">{target}</target></trans-unit>'
        for n, (source, target) in enumerate([*pairs, *blank])
    )
    head = '<xliff version="1.2"><file source-language="en" target-language="de" datatype="x" original="x"><body>'
    (tmp_path / "a.xlf").write_text(f"{head}{units}</body></file></xliff>")
    memory = Memory.read(tmp_path / "a.xlf", EN_DE)
    page = "".join(f"<p>{source}</p>" for source, _ in pairs)
    translated = DocumentTranslator(lambda texts: texts, memory, EN_DE).translate(page.encode(), "a.html")
    assert [each.target for each in translated.segments] == [target for _, target in pairs]
    assert [each.in_context for each in translated.segments] == [False, True, False, True, True]
    assert memory.find(plain_segment("Open")) is not None


def test_every_format_with_translations_is_a_memory(folder: Path) -> None:
    for name, size in (("a.tmx", 1), ("a.xlf", 1), ("two.xliff", 1), ("a.po", 1)):
        assert len(Memory.read(folder / name, EN_DE).pairs) == size


def test_similar_texts_are_sought_in_steps_that_can_end_and_not_for_long_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from rapidfuzz import process

    compared: list[int] = []
    real = process.extract

    def extract(wanted: str, texts: list[str], **settings: Any) -> Any:
        compared.append(len(wanted) * len(texts))
        return real(wanted, texts, **settings)

    monkeypatch.setattr(process, "extract", extract)
    texts = [f"{'long ' * 150}{number}" for number in range(700)]
    memory = Memory.of((plain_segment(text), plain_segment(text)) for text in texts)
    wanted = f"{'long ' * 150}699 too"
    found = memory.matches(plain_segment(wanted), 2)
    expected = real(wanted, texts, scorer=fuzz.ratio, limit=2)
    assert [(one.source, one.similarity) for one in found] == [(text, score / 100) for text, score, _ in expected]
    assert max(compared) <= AT_ONCE * len(wanted) and len(compared) == -(-700 // AT_ONCE)
    assert memory.matches(plain_segment("long " * LONGEST), 2) == [] and len(compared) == -(-700 // AT_ONCE)
    token = BUDGET.set(Budget(0))
    try:
        with pytest.raises(BudgetError):
            budgeted(memory.matches)(plain_segment(wanted), 2)
    finally:
        BUDGET.reset(token)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.tsv", "no tab\n", "line 1 has no tab"),
        ("a.tsv", "", "no translations"),
        ("a.txt", "a\tb\n", "a translation memory is a file"),
        ("a.tmx", "<tmx><body/></tmx>", "no units"),
    ],
)
def test_what_is_no_memory_is_reported(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words):
        Memory.read(tmp_path / name, EN_DE)
