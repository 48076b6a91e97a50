"""Documents of every format by chance: each word is translated once, or named, and all else stays."""

from collections.abc import Callable

import pytest

from docsegments.document import Languages
from docsegments.document_formats import FORMATS, read_document
from docsegments.segment import Segment, problems
from docsegments.translating.document_translator import TranslatedDocument
from documents.made_documents import MAKERS, made_document
from documents.theorem import CHANGES, deviations, in_capitals, reordered

EN_DE = Languages("en", "de")
SEEDS = {"pptx": 2, "xlsx": 2, "docx": 6}
"""Numbers of documents of formats that take longer to read."""
TEXTS = [kind for kind in MAKERS if not FORMATS[kind].is_archive]


def test_documents_of_all_formats_are_made() -> None:
    assert MAKERS.keys() == FORMATS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_no_made_document_loses_or_doubles_a_word_a_placeholder_or_a_tag(kind: str) -> None:
    for seed in range(SEEDS.get(kind, 12)):
        made = made_document(kind, seed)
        for translator in CHANGES:
            assert not deviations(made, kind, translator), f"made_document({kind!r}, {seed})"


@pytest.mark.parametrize("kind", MAKERS)
def test_a_document_of_which_nothing_changes_comes_back_identical(kind: str) -> None:
    for seed in range(3):
        made = made_document(kind, seed)
        document = read_document(made.data, made.name, EN_DE, kind)
        same = [unit.target if unit.is_bilingual else unit.source for unit in document.units]
        for translations in ([None] * len(same), same):
            assert document.translated(translations) == made.data


@pytest.mark.parametrize("kind", TEXTS)
def test_what_is_written_is_read_again_with_all_marks(kind: str) -> None:
    for seed in range(3):
        made = made_document(kind, seed)
        before = read_document(made.data, made.name, EN_DE, kind)
        after = read_document(in_capitals(made.data, made.name, kind, retranslate=True).data, made.name, EN_DE, kind)
        for old, new in zip(before.units, after.units, strict=True):
            found = new.target if new.is_bilingual else new.source
            assert found is not None
            assert not problems(_in_small(old.source), _in_small(found))


def _in_small(segment: Segment) -> Segment:
    """A segment with its attributes, which may have been translated, in small letters."""
    return Segment.of(part if isinstance(part, str) else type(part)(part.raw.lower()) for part in segment.parts)


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("translate", [in_capitals, reordered])
def test_the_encoding_and_the_line_ends_of_a_document_stay(
    kind: str, translate: Callable[..., TranslatedDocument]
) -> None:
    for seed in range(3):
        made = made_document(kind, seed)
        encoding = "utf-16" if made.data[:2] == b"\xff\xfe" else "utf-8"
        text = made.data.decode(encoding).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        wanted = translate(text.encode(), made.name, kind).data.decode()
        for encoding, end in (("utf-8-sig", "\n"), ("utf-16", "\r\n"), ("utf-8", "\r\n")):
            data = text.replace("\n", end).encode(encoding)
            assert translate(data, made.name, kind).data == wanted.replace("\n", end).encode(encoding)
