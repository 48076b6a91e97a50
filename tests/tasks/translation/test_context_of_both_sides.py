"""A model that reads the translations before: a form of address that only they tell, in every way of translating."""

from collections.abc import Callable
from pathlib import Path

import pytest

from address_corpus import VERBS, familiar, half_confirmed, polite, trained
from transduce.base.errors import ConfigError
from transduce.corpora.context_settings import ContextConfig
from transduce.inference.model_documents import DocumentTranslator
from transduce.inference.request import Earlier, Request, with_drafts
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

GREEDY = Beam(size=1)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator.load(trained(tmp_path_factory.mktemp("both")), engine="pytorch")


def test_a_translation_follows_the_form_of_those_before(translator: Translator) -> None:
    for form in (familiar, polite):
        for verb in VERBS:
            before = ("you come", form("come"), "you go", form("go"))
            assert translator.translate(Request(f"you {verb}", before=before), GREEDY).text == form(verb)
            assert translator.translate(Request(f"you {verb}", before=("you read", form("read"))), GREEDY).text == form(
                verb
            )
    assert translator.translate("you laugh", GREEDY).text in {familiar("laugh"), polite("laugh")}


def test_lines_follow_the_drafts_of_those_before_that_have_no_translation(translator: Translator) -> None:
    requests = [Request("you go", before=("you come",)), Request("you come"), Request("you read", before=("you go",))]
    drafts = [each.text for each in translator.translate_chunk(requests, GREEDY, encoded=translator.encode(requests))]
    told = with_drafts(requests, translator.bundle.config.context, lambda _: drafts)
    assert [each.before for each in told] == [("you come", drafts[1]), (), ("you go", drafts[0])]
    expected = translator.translate_chunk(requests, GREEDY, encoded=translator.encode(told))
    assert translator.translate(requests, GREEDY) == expected
    given = [Request("you go", before=("you come", polite("come"))), Request("you come")]
    assert with_drafts(given, translator.bundle.config.context, lambda _: drafts[:2]) == given, "it has a translation"
    plain = ContextConfig()
    assert with_drafts(requests, plain, lambda _: drafts) is requests


@pytest.mark.parametrize("form", [familiar, polite])
def test_a_document_follows_what_a_person_confirmed(translator: Translator, form: Callable[[str], str]) -> None:
    found = DocumentTranslator(translator, GREEDY).translate(half_confirmed(form).encode(), "a.po", "po").data.decode()
    assert all(f'"{form(verb)}"' in found for verb in VERBS)


def test_given_texts_are_read_whole_before_the_first_sentence() -> None:
    given = ("you come", "ihr kommt", "you go", "ihr geht")
    earlier = Earlier(ContextConfig(before=2, side="both"), given)
    assert earlier.before("you read") == given and earlier.before("you see") == (*given[1:], "you read")


def test_two_vocabularies_are_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ConfigError, match=r"both languages need one vocabulary; set tokenizer\.shared = true"):
        trained(tmp_path, shared=False)
