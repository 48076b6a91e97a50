"""A document comes out in the other language with all its marks, and a log tells where each translation is from."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import transduce
from docsegments.document import Languages
from docsegments.memory import Memory
from docsegments.segment import Mark, Segment, problems
from docsegments.text.placeholders import plain_segment
from docsegments.translating import segment_translator
from docsegments.translating.segment_translator import TAGS_PLACED, SegmentTranslator
from transduce.base.errors import InputError
from transduce.inference.model_documents import DocumentTranslator
from transduce.inference.request import Request
from transduce.inference.sentence_model import SentenceModel
from transduce.inference.translation import Candidate, Translation
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

pytest.importorskip("polib")
pytest.importorskip("rapidfuzz")


class Capitals:
    """A translator that writes all but what is held in capitals, and remembers what it read."""

    def __init__(self, longest: int = 30) -> None:
        tokenizer = SimpleNamespace(
            encode=str.split, encode_batch=lambda texts: [text.split() for text in texts], unknown="?"
        )
        self.bundle = SimpleNamespace(
            tokenizers=SimpleNamespace(source=tokenizer, target=tokenizer),
            config=SimpleNamespace(source="en", target="de", context=None),
        )
        self.engine = None
        self.longest_source = longest
        self.read: list[str] = []

    def translate_chunk(self, requests: list[Request], search: object, tell: object = None) -> list[Translation]:
        self.read += [request.text for request in requests]
        texts = [" ".join(w if w.startswith(("%", "{")) else w.upper() for w in r.text.split()) for r in requests]
        return [Translation(text, [Candidate(text, -0.1, -0.1)]) for text in texts]


@pytest.fixture
def capitals() -> Capitals:
    return Capitals()


def documents(translator: Any, **options: Any) -> DocumentTranslator:
    return DocumentTranslator(cast(Translator, translator), **options)


PO = 'msgid "The dog. It sees %s!\\n"\nmsgstr ""\n\nmsgid "The man"\nmsgstr "Mann"\n\nmsgid "%s"\nmsgstr ""\n'


def test_segments_are_translated_sentence_by_sentence_and_each_once(capitals: Capitals) -> None:
    html = b"<p>The dog sleeps. It sees <b>me</b>.</p><p>Now</p><p>Now</p><p>One<br>two</p>"
    found = documents(capitals).translate(html, "a.html")
    assert found.data == b"<p>THE DOG SLEEPS. IT SEES <b>ME</b>.</p><p>NOW</p><p>NOW</p><p>ONE<br>TWO</p>"
    assert capitals.read == ["The dog sleeps.", "It sees me.", "Now", "One", "two"]


def test_a_sentence_that_is_too_long_is_translated_in_parts_without_tearing_what_is_held() -> None:
    translator = Capitals(longest=4)
    text = "one two three four five {{ n | default: a b c d e f }} six seven"
    found = documents(translator).translate(text.encode(), "a", "text").data.decode()
    assert found == "ONE TWO THREE FOUR FIVE {{ n | default: a b c d e f }} SIX SEVEN"


def test_the_log_says_where_each_is_from(capitals: Capitals) -> None:
    memory = Memory.of([(plain_segment("The man"), plain_segment("Der Mann"))])
    found = documents(capitals, memory=memory).translate(PO.replace("Mann", "").encode(), "a.po")
    assert [(one.where, one.origin) for one in found.segments] == [
        ("line 2", "model"), ("line 5", "memory"), ("line 8", "source"),
    ]  # fmt: skip
    assert b'msgstr "THE DOG. IT SEES %s!\\n"' in found.data
    assert b'msgstr "Der Mann"' in found.data
    assert b'msgid "%s"\nmsgstr "%s"' in found.data
    lines = [json.loads(line) for line in found.log()]
    assert lines[0]["confidence"] == pytest.approx(0.98, abs=0.02)
    assert lines[0].keys() >= {"segment", "source", "target", "origin", "memory", "review"}


def test_translations_stay_but_for_drafts_unless_they_are_to_be_replaced(capitals: Capitals) -> None:
    draft = '\n#, fuzzy\nmsgid "A draft"\nmsgstr "x"\n'
    found = documents(capitals).translate((PO + draft).encode(), "a.po")
    assert [one.origin for one in found.segments] == ["model", "document", "source", "model"]
    assert b'msgstr "Mann"' in found.data
    assert b'#, fuzzy\nmsgid "A draft"\nmsgstr "A DRAFT"' in found.data
    found = documents(capitals).translate((PO + draft).encode(), "a.po", retranslate=True)
    assert [one.origin for one in found.segments] == ["model", "model", "source", "model"]
    assert b'msgstr "THE MAN"' in found.data


UNIT = '<trans-unit id="u"{}><source>The man</source><target{}>{}</target></trans-unit>'
IN_XLIFF = '<xliff version="1.2"><file original="f" source-language="en"><body>{}</body></file></xliff>'


@pytest.mark.parametrize(
    ("unit", "state", "target", "is_kept", "unit_after", "state_after"),
    [
        (' approved="yes"', "", "Mann", True, ' approved="no"', ""),
        ("", ' state="final"', "Mann", True, "", ' state="needs-review-translation"'),
        ("", ' state="signed-off" state-qualifier="id-match"', "Mann", True, "", ' state="needs-review-translation"'),
        ("", ' state="translated"', "Mann", True, "", ' state="needs-review-translation"'),
        ("", ' state="needs-review-translation"', "Mann", True, "", ' state="needs-review-translation"'),
        ("", ' state="needs-adaptation"', "Mann", True, "", ' state="needs-adaptation"'),
        ("", ' state="translated"', "The man", True, "", ' state="needs-review-translation"'),
        ("", "", "Mann", True, "", ""),
        ("", "", "The  man", False, "", ""),
        ("", ' state="new"', "Mann", False, "", ' state="new"'),
        ("", ' state="needs-translation"', "Mann", False, "", ' state="needs-translation"'),
        ("", ' state="needs-l10n"', "Mann", False, "", ' state="needs-l10n"'),
        (' approved="yes"', "", "", False, ' approved="no"', ""),
    ],
)
def test_a_translation_that_people_approved_stays_and_none_is_approved_by_itself(
    capitals: Capitals, unit: str, state: str, target: str, is_kept: bool, unit_after: str, state_after: str
) -> None:
    data = IN_XLIFF.format(UNIT.format(unit, state, target))
    replaced = IN_XLIFF.format(UNIT.format(unit_after, state_after, "THE MAN"))
    assert documents(capitals).translate(data.encode(), "a.xlf").data.decode() == (data if is_kept else replaced)
    assert documents(capitals).translate(data.encode(), "a.xlf", retranslate=True).data.decode() == replaced


@pytest.mark.parametrize(
    ("state", "is_kept", "state_after"),
    [
        (' state="final" subState="x:y"', True, ' state="translated"'),
        (' state="reviewed"', True, ' state="translated"'),
        (' state="translated" subState="x:y"', True, ' state="translated" subState="x:y"'),
        ("", True, ""),
        (' state="initial" subState="x:y"', False, ' state="initial" subState="x:y"'),
    ],
)
def test_the_states_of_xliff_2_are_kept_alike(capitals: Capitals, state: str, is_kept: bool, state_after: str) -> None:
    whole = (
        '<xliff version="2.0" srcLang="en" trgLang="de"><file id="f"><unit id="u"><segment id="s"{}><source>The man'
        "</source><target>{}</target></segment></unit></file></xliff>"
    )
    data, replaced = whole.format(state, "Mann"), whole.format(state_after, "THE MAN")
    assert documents(capitals).translate(data.encode(), "a.xlf").data.decode() == (data if is_kept else replaced)
    found = documents(capitals).translate(data.encode(), "a.xlf", retranslate=True)
    assert found.data.decode() == replaced
    assert found.segments[0].id == "f/u/s"


def test_a_memory_that_is_like_it_is_offered_beside_the_models(capitals: Capitals) -> None:
    memory = Memory.of([(plain_segment("The old man"), plain_segment("Der alte Mann"))])
    (one,) = documents(capitals, memory=memory).translate(b"The old men", "a", "text").segments
    assert (one.origin, one.target) == ("model", "THE OLD MEN")
    assert one.memory is not None
    assert one.memory.target == "Der alte Mann"
    assert 0.7 < one.memory.similarity < 1


def test_a_memory_without_what_must_be_held_is_offered_alone(capitals: Capitals) -> None:
    memory = Memory.of([(plain_segment("Hi %s"), plain_segment("Hallo"))])
    (one,) = documents(capitals, memory=memory).translate(b"Hi %s", "a", "text").segments
    assert (one.origin, one.target) == ("model", "HI %s")


def test_a_memory_gives_the_words_and_the_document_the_tags(capitals: Capitals) -> None:
    memory = Memory.of([(plain_segment("The old man"), plain_segment("Der alte Mann"))])
    found = documents(capitals, memory=memory).translate(b"<p>The <b>old</b> man", "a.html")
    assert found.data == b"<p>Der <b>alte</b> Mann"
    assert found.segments[0].review == (TAGS_PLACED,)


def test_a_memory_whose_tags_are_about_other_words_is_to_be_looked_at(capitals: Capitals) -> None:
    memory = Memory.of([(plain_segment("The <b>old</b> man"), plain_segment("Der <b>alte</b> Mann"))])
    found = documents(capitals, memory=memory).translate(b"<p>The old <b>man</b></p><p>The <b>old</b> man", "a.html")
    assert found.data == b"<p>Der alte <b>Mann</b></p><p>Der <b>alte</b> Mann"
    assert [bool(one.review) for one in found.segments] == [True, False]


def test_a_word_of_code_is_not_translated_besides(capitals: Capitals) -> None:
    found = documents(capitals).translate(b"<p>The <code>dog</code>-<code>cat()</code> sleeps", "a.html")
    assert found.data == b"<p>THE <code>dog</code>-<code>cat()</code> SLEEPS"
    assert capitals.read == ["The \ufffc sleeps"]


def test_a_memory_brings_no_tags_of_its_own(capitals: Capitals) -> None:
    memory = Memory.of([(plain_segment("The <b>old</b> man"), plain_segment("Der <b>alte</b> Mann"))])
    assert documents(capitals, memory=memory).translate(b"The old man", "a", "text").data == b"Der alte Mann"


def test_languages_are_the_models_and_others_are_refused(capitals: Capitals) -> None:
    with pytest.raises(InputError, match=r"language .* is 'fr', not 'de'"):
        documents(capitals).translate(b'msgid ""\nmsgstr "Language: fr\\n"\n\nmsgid "a"\nmsgstr ""\n', "a.po")
    assert documents(capitals, languages=Languages(target="de-AT")).languages == Languages("en", "de-AT")
    with pytest.raises(InputError, match="translates to de, not to fr"):
        documents(capitals, languages=Languages(target="fr"))


def test_a_part_of_a_page_is_translated_as_text(capitals: Capitals) -> None:
    assert documents(capitals).translate_html("The <b>dog</b> é") == "THE <b>DOG</b> É"
    assert documents(capitals).translate_html(" ") == " "
    assert documents(capitals).translate_html("<meta charset=latin1><p>é") == "<meta charset=latin1><p>É"


def test_where_a_model_writes_nothing_the_source_stays(capitals: Capitals, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = [Translation(text, [Candidate(text, -0.1, -0.1)]) for text in ("", "<b>")]
    monkeypatch.setattr(capitals, "translate_chunk", lambda requests, search, tell: nothing)
    found = documents(capitals).translate(b"The dog\n\nThe man", "a", "text")
    assert found.data == b"The dog\n\nThe man"
    assert all("wrote nothing" in " ".join(one.review) for one in found.segments)


def test_a_translation_that_loses_a_tag_is_not_taken(capitals: Capitals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_translator, "place_marks", lambda source, text, links, fixed: Segment((text,)))
    found = documents(capitals).translate(b"<p>The <b>dog</b></p>\n<p>The man</p>", "a.html")
    assert found.data == b"<p>The <b>dog</b></p>\n<p>THE MAN</p>"
    assert [one.origin for one in found.segments] == ["source", "model"]
    assert found.segments[0].review[0] == "not translated: '<b>' is lost; '</b>' is lost"


def test_a_file_is_written_once(capitals: Capitals, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# The dog\n")
    assert len(documents(capitals).translate_file(tmp_path / "a.md", tmp_path / "b.md")) == 1
    assert (tmp_path / "b.md").read_text() == "# THE DOG\n"
    with pytest.raises(InputError, match="exists"):
        documents(capitals).translate_file(tmp_path / "a.md", tmp_path / "b.md")
    with pytest.raises(InputError, match="cannot be opened"):
        documents(capitals).translate_file(tmp_path / "c.md", tmp_path / "d.md")


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    found = transduce.load(tiny_run, device="cpu")
    assert isinstance(found, Translator)
    return found


SHORT = Beam(size=2, max_ratio=1.0, max_extra=3)


def test_a_real_model_keeps_every_mark_and_says_how_sure_it_is(translator: Translator) -> None:
    segments = [
        Segment.of(
            ["The ", Mark("<b>", "open", "b"), "dog", Mark("</b>", "close", "b"), " sees ", Mark("<x/>"), "me."]
        ),
        plain_segment("%(name)s sees {{ x }} and https://a.b/c today. Who?"),
        plain_segment("The <i>big {dog}</i> sleeps."),
    ]
    for source, found in zip(
        segments, SegmentTranslator(SentenceModel(translator, SHORT)).translate(segments), strict=True
    ):
        assert not problems(source, found.segment)
        assert found.confidence is not None
        assert 0 < found.confidence <= 1


def test_translating_twice_gives_the_same(translator: Translator) -> None:
    data = b"<p>The <b>dog</b> sleeps. The man %s.</p><p>Who {sees} it?"
    once, again = (DocumentTranslator(translator, SHORT).translate(data, "a.html") for _ in range(2))
    assert once == again


def test_what_the_search_can_write_is_required_of_it(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docsegments.translating.segment_translator.UNSURE", 0.0)  # the tiny model is sure of nothing
    segment = Segment.of(["The ", Mark("<code>Hund</code>", shown="Hund"), " sleeps."])
    (found,) = SegmentTranslator(SentenceModel(translator, SHORT)).translate([segment])
    assert not problems(segment, found.segment)
    assert not any("missing" in note for note in found.notes)
