"""Completions of what is typed: they go on where it ends, and leave its characters as they are."""

import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import torch

from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference import completer
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.text.glossary import Entry, Glossary

GREEDY = Beam(size=1, max_extra=5)
TRANSFORMER = {"encoder_layers": 1, "decoder_layers": 2, "dim": 24, "heads": 3, "feed_forward_dim": 40}
FAMILIES = {
    "transformer": TransformerConfig(**TRANSFORMER),
    "ssru": TransformerConfig(**TRANSFORMER, decoder_recurrence="ssru"),
    "recurrent": RecurrentConfig(),
}


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    return Translator(ModelBundle.load(tiny_run))


@pytest.fixture(scope="module")
def sources(corpus: Path) -> list[str]:
    return (corpus / "test.en").read_text(encoding="utf-8").splitlines()


def agrees(output: str, typed: str, completion: str) -> bool:
    """Compare an output with what completes its beginning, as far as both go: other tokens may be more or fewer."""
    length = min(len(output), len(typed + completion))
    return length > len(typed) and (typed + completion)[:length] == output[:length]


def test_each_beginning_of_a_translation_is_completed_to_it(translator: Translator, sources: list[str]) -> None:
    output = translator.translate(sources[0], GREEDY).text
    for end in range(0, 24, 2):
        assert agrees(output, output[:end], translator.complete(sources[0], output[:end], GREEDY).text)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_reads_what_is_typed_at_once(tiny_run: Path, sources: list[str], family: str) -> None:
    bundle = ModelBundle.load(tiny_run)
    torch.manual_seed(3)
    model = build_model(FAMILIES[family], len(bundle.tokenizers.source), len(bundle.tokenizers.target)).eval()
    config = msgspec.structs.replace(bundle.config, model=FAMILIES[family])
    translator = Translator(replace(bundle, config=config, model=model))
    output = translator.translate(sources[0], GREEDY).text
    for end in (0, 1, 9, 16):
        assert agrees(output, output[:end], translator.complete(sources[0], output[:end], GREEDY).text)


@pytest.mark.parametrize(
    "typed", ["Der", " Der", "Der ", "Der  ", "Der\u00a0", "Der\t Xyz", "Der Xyz ", "xyz", "", " ", "\u0301"]
)
def test_what_is_typed_stays_and_no_space_is_doubled(translator: Translator, sources: list[str], typed: str) -> None:
    completion = translator.complete(sources[0], typed).text
    assert completion
    assert not (typed[-1:].isspace() or not typed) or not completion[0].isspace()


def test_several_completions_differ_and_agree_with_what_is_typed(translator: Translator, sources: list[str]) -> None:
    completion = translator.complete(sources[0], "D", Beam(size=4, n_best=4))
    assert completion.text == completion.n_best[0]
    assert len(set(completion.n_best)) == len(completion.n_best) > 1


def test_the_sentence_in_which_the_typed_text_ends_is_completed(translator: Translator) -> None:
    first, second = "The dog sleeps.", "The cat sleeps."
    alone = [translator.complete(sentence).text for sentence in (first, second)]
    text = f"{first} {second}"
    assert translator.complete(text).text == alone[0]
    assert translator.complete(text, "Der Hund schläft. ").text == alone[1]
    assert translator.complete(text, "Der Hund schläft. Die").text == translator.complete(second, "Die").text


def test_the_words_are_counted(translator: Translator, sources: list[str]) -> None:
    whole = translator.complete(sources[0], "Der ")
    assert len(whole.text.split()) > 2
    two = translator.complete(sources[0], "Der ", most_words=2)
    assert two.text == " ".join(whole.text.split()[:2])
    assert not two.finished


def test_terms_are_in_the_rest_of_the_sentence_unless_they_are_typed(
    translator: Translator, sources: list[str]
) -> None:
    word = sources[0].split()[1]
    glossary = Glossary([Entry(word, "Polizist")])
    assert "Polizist" in translator.complete(sources[0], "Der", glossary=glossary).text
    typed = "Der Polizist "
    assert translator.complete(sources[0], typed, glossary=glossary) == translator.complete(sources[0], typed)


def test_terms_that_a_completion_has_anyway_change_nothing(translator: Translator, sources: list[str]) -> None:
    search = Beam(size=4, n_best=2, max_extra=5)
    plain = translator.complete(sources[0], "Der ", search)
    (word, *_) = [word for word in plain.text.split() if word.isalpha() and all(word in each for each in plain.n_best)]
    source = sources[0].split()[1]
    forms = Entry(source, "Polizist", False, (), (word,))
    for entry in (Entry(source, word), forms):
        assert translator.complete(sources[0], "Der ", search, glossary=Glossary([entry])) == plain
    assert translator.complete(sources[0], f"Der {word} ", glossary=Glossary([forms])) == translator.complete(
        sources[0], f"Der {word} "
    )


def test_a_completion_is_reported_as_it_grows_until_the_receiver_fails(
    translator: Translator, sources: list[str]
) -> None:
    grown: list[str] = []
    whole = translator.complete(sources[0], "Der ", tell=grown.append).text
    assert len(grown) > 1 and all(whole.startswith(part) for part in grown)

    def fail(part: str) -> None:
        raise InterruptedError(part)

    with pytest.raises(InterruptedError):
        translator.complete(sources[0], "Die ", tell=fail)


def test_a_source_is_encoded_once_while_it_is_among_the_last(
    tiny_run: Path, sources: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator(ModelBundle.load(tiny_run))
    model, encoded = translator.bundle.model, []  # type: ignore[union-attr, var-annotated]
    encode = model.encode  # type: ignore[union-attr]
    monkeypatch.setattr(model, "encode", lambda *inputs: encoded.append(1) or encode(*inputs))
    monkeypatch.setattr(completer, "KEPT", 2)
    for typed in ("D", "De", "Der"):
        translator.complete(sources[0], typed)
    assert len(encoded) == 1
    for source in (*sources[1:3], sources[0]):
        translator.complete(source, "D")
    assert len(encoded) == 4


@pytest.mark.slow
@pytest.mark.parametrize("most_words", [2, 5])
def test_a_search_is_spared_where_it_would_find_the_same_again(
    tiny_run: Path, translator: Translator, sources: list[str], most_words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = translator.translate(sources[1], Beam(size=1)).text[:60]  # far from the longest length
    other = translator.translate(sources[2], Beam(size=1)).text
    texts = [output[:end] for end in range(len(output) + 1)] + [other[:end] for end in range(0, 40, 3)]
    bundle = ModelBundle.load(tiny_run)
    expected = [Translator(bundle).complete(sources[1], text, most_words=most_words) for text in texts]

    searches = []
    find = Beam.find
    monkeypatch.setattr(Beam, "find", lambda search, problem: searches.append(1) or find(search, problem))
    completing = Translator(bundle)
    assert [completing.complete(sources[1], text, most_words=most_words) for text in texts[: len(output) + 1]] == (
        expected[: len(output) + 1]
    )
    assert len(searches) < len(output) / 3
    assert [completing.complete(sources[1], text, most_words=most_words) for text in texts] == expected


def test_what_has_no_words_is_completed_by_itself(translator: Translator) -> None:
    assert translator.complete("", "x").text == ""
    assert translator.complete("***", "*").text == "**"
    assert translator.complete("***", "x").text == ""


def test_what_cannot_be_completed_is_reported(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=re.escape("'word word")) as error:
        translator.complete("word " * 300)
    assert "divide it" in str(error.value)
    monkeypatch.setattr(translator, "engine", object())
    with pytest.raises(InputError, match="use the original model"):
        translator.complete("The dog sleeps.")
