"""What is asked of single lines: satisfied in the text, whatever the tokenizer and the search."""

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import transduce
from transduce.base.errors import InputError
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.batched_search import held_phrases, with_most_phrases
from transduce.inference.constraints import Piece, required_of_pieces
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.inflections import other_form
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.diverse import DiverseBeam
from transduce.search.loop import Hypothesis
from transduce.search.required_phrases import Phrase
from transduce.search.sampling import Sampling
from transduce.text.long_texts import split_text
from transduce.text.phrase_encoder import holds
from transduce.text.terms import Term
from transduce.text.tokenizer_settings import TokenizerConfig, TokenizerKind
from transduce.text.tokenizer_training import train_tokenizers

SOURCES = ["The dog sleeps.", "The old man buys a red car.", "A cat."]
GREEDY = Beam(size=1, max_extra=9, max_ratio=1)
NARROW = Beam(size=4, max_extra=25, max_ratio=1)  # room for phrases of many small pieces
SHORT_SAMPLES = Sampling(max_extra=9, max_ratio=1, n_best=2)


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    return transduce.load(tiny_run)


@pytest.fixture(scope="module", params=["bpe", "unigram", "words", "bpe, lower-case"])
def untrained(request: pytest.FixtureRequest, corpus: Path) -> Translator:
    """A translator that has learned nothing, so that only the search can make it write what is asked."""
    kind: TokenizerKind = request.param.split(",")[0]
    size = None if kind == "words" else 400
    lowercase = "lower" in request.param
    config = TokenizerConfig(kind=kind, size=size, min_frequency=1, shared=False, lowercase=lowercase)
    texts = [(corpus / f"train.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "de")]
    tokenizers = train_tokenizers(config, *texts)
    torch.manual_seed(3)
    sizes = TransformerConfig(encoder_layers=1, decoder_layers=1, dim=12, heads=2, feed_forward_dim=14)
    model = build_model(sizes, len(tokenizers.source), len(tokenizers.target)).eval()
    bundle = BundleConfig(format=1, source="en", target="de", model=sizes, tokenizer=config, longest_source=40)
    return Translator(ModelBundle(bundle, model, tokenizers))


@pytest.mark.parametrize("size", [1, 4])
def test_required_phrases_are_in_the_text_as_whole_words(untrained: Translator, size: int) -> None:
    wanted = ("Der Hund", "alte")
    requests = [Request(text, required=wanted) for text in SOURCES]
    for translation in untrained.translate(requests, Beam(size=size, max_extra=25, max_ratio=1)):
        assert (translation.satisfied, translation.unsatisfied) == (list(wanted), [])
        text = translation.text.lower()
        assert all(holds(text, phrase.lower()) for phrase in wanted)


@pytest.mark.parametrize("size", [1, 4])
def test_a_term_is_met_by_any_of_its_forms(untrained: Translator, size: int) -> None:
    term = Term("dog", "Hund", ("alte", "Der rote Wagen"))
    request = Request(SOURCES[0], required=("Hund",), terms=(term,))
    (translation,) = untrained.translate([request], Beam(size=size, max_extra=25, max_ratio=1))
    (outcome,) = translation.terms
    assert (translation.satisfied, outcome.met, outcome.why) == (["Hund"], True, "")
    assert outcome.form in ("Hund", *term.forms)
    assert holds(translation.text.lower(), outcome.form.lower())


def test_a_term_without_forms_is_searched_as_a_phrase(untrained: Translator) -> None:
    plain = [Request(text, required=("alte",)) for text in SOURCES]
    with_term = [Request(text, required=("alte",), terms=(Term("old", "alte"),)) for text in SOURCES]
    assert untrained.translate(plain, NARROW) == [
        replace(translation, terms=[]) for translation in untrained.translate(with_term, NARROW)
    ]


def test_phrases_that_an_output_has_anyway_change_nothing_and_cost_no_second_search(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = msgspec.structs.replace(NARROW, n_best=1)
    texts = [*SOURCES[:2], " ".join(SOURCES[:2] * 9)]  # the last is split
    plain = translator.translate(texts, search)
    words = [[word for word in translation.text.split() if word.isalpha()] for translation in plain]
    assert plain[2].was_split and all(words)
    # the last word in place of another one, of which it is a form
    terms = [Term("", "Zebra", (some[-1],)) for some in words]
    requests = [
        Request(text, required=(*some[:1], "Zebra"), terms=(term,))
        for text, some, term in zip(texts, words, terms, strict=True)
    ]
    searched: list[bool] = []

    def find(engine: Any, pieces: Any, *others: Any) -> Any:
        searched.extend(bool(piece.required) for piece in pieces)
        return usual(engine, pieces, *others)

    usual = PyTorchEngine.search
    monkeypatch.setattr(PyTorchEngine, "search", find)
    found = translator.translate(requests[:2], search)
    assert [each.text for each in found] == [each.text for each in plain[:2]]
    assert (searched, [each.unsatisfied for each in found]) == ([False, False], [[], []])
    last = Request(texts[2], required=tuple(plain[2].text.split()[-2:-1]))
    assert translator.translate(last, search).text == plain[2].text


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_list_of_the_best_keeps_its_first_output_and_all_have_most_phrases(seed: int) -> None:
    chance = random.Random(seed)
    scores: dict[tuple[int, ...], float] = {}

    def drawn(count: int) -> list[Hypothesis]:
        outputs = [[chance.randint(1, 3) for _ in range(chance.randint(1, 3))] for _ in range(count)]
        found = [Hypothesis(text, -1.0, scores.setdefault(tuple(text), -chance.random()), False) for text in outputs]
        return sorted({tuple(each.tokens): each for each in found}.values(), key=lambda h: -h.score)

    piece = Piece([], [], [Phrase(((1,),), ("1",)), Phrase(((2,),), ("2", "3 3"))], [])
    plain, constrained = drawn(4), drawn(5)
    best = with_most_phrases(piece, plain, constrained, lambda tokens: " ".join(map(str, tokens)))

    def met(each: Hypothesis) -> int:
        return held_phrases(piece, " ".join(map(str, each.tokens)))

    most = max(map(met, [*plain, *constrained]))
    assert {met(each) for each in best} == {most}
    assert [each.score for each in best] == sorted((each.score for each in best), reverse=True)
    assert len({tuple(each.tokens) for each in best}) == len(best)
    if met(plain[0]) == most:
        assert best[0] is plain[0]
    else:
        assert best[0].score == max(each.score for each in [*plain, *constrained] if met(each) == most)


def test_forms_that_are_banned_do_not_count(untrained: Translator) -> None:
    request = Request(SOURCES[0], required=("Hund",), banned=("alte",), terms=(Term("dog", "Hund", ("alte",)),))
    (translation,) = untrained.translate([request], NARROW)
    assert translation.terms[0].form == "Hund"


def test_why_a_term_is_not_met_is_said(translator: Translator) -> None:
    tokenizer, written = translator.bundle.tokenizers.target, translator.translate(SOURCES[0], GREEDY).text
    words = [word for token in range(len(tokenizer)) if (word := tokenizer.decode([token])).isalpha() and len(word) > 3]
    absent, other, *_ = [word for word in words if other_form(word, written) is None]
    terms = (Term("dog", absent), Term("hot dog", other), Term("cat", "Zebras"))
    assert [term.why for term in translator.translate(Request(SOURCES[0], terms=terms), GREEDY).terms] == [
        "it is a part of the term 'hot dog'",
        "it was not required, and the model chose other words",
        "the model's vocabulary cannot write 'Zebras'",
    ]


def test_what_one_line_requires_changes_no_other(untrained: Translator) -> None:
    plain = untrained.translate(SOURCES, NARROW)
    mixed = untrained.translate([SOURCES[0], Request(SOURCES[1], required=("Hund",)), SOURCES[2]], NARROW)
    assert [mixed[0].text, mixed[2].text] == [plain[0].text, plain[2].text]


@pytest.mark.parametrize("search", [GREEDY, NARROW, SHORT_SAMPLES], ids=["greedy", "beam", "sampling"])
def test_banned_words_do_not_come(translator: Translator, search: Search) -> None:
    plain = translator.translate(SOURCES, search)
    requests = [
        Request(source, banned=tuple({word for word in translation.text.split() if word.isalpha()}))
        for source, translation in zip(SOURCES, plain, strict=True)
    ]
    assert any(request.banned for request in requests)
    for translation in translator.translate(requests, search):
        assert translation.violated == []


@pytest.mark.parametrize(
    "search",
    [GREEDY, NARROW, SHORT_SAMPLES, DiverseBeam(size=4, max_extra=9)],
    ids=["greedy", "beam", "sampling", "diverse"],
)
def test_translations_begin_with_their_prefix(untrained: Translator, search: Search) -> None:
    prefixes = ["Der alte Hund", "", "Die"]
    requests = [Request(text, prefix=prefix) for text, prefix in zip(SOURCES, prefixes, strict=True)]
    plain, found = untrained.translate(SOURCES, search), untrained.translate(requests, search)
    assert found[1].text == plain[1].text
    for translation, prefix in zip(found, prefixes, strict=True):
        for candidate in translation.n_best:
            assert candidate.text.lower().startswith(prefix.lower())
            assert not prefix or holds(candidate.text.lower(), prefix.lower())


def test_a_prefix_may_be_longer_than_the_longest_output(untrained: Translator) -> None:
    long = " ".join(["Der alte Hund"] * 9)
    (translation,) = untrained.translate([Request("A cat.", prefix=long)], Beam(max_ratio=0, max_extra=2))
    assert translation.text.lower().startswith(long.lower())


def test_no_run_of_tokens_comes_twice(translator: Translator) -> None:
    search = Beam(size=2, no_repeat_ngram=2, max_extra=20)
    for translation in translator.translate(SOURCES, search):
        tokens = translator.bundle.tokenizers.target.encode(translation.text)
        pairs = list(pairwise(tokens))
        assert len(set(pairs)) == len(pairs)


def test_a_phrase_that_the_vocabulary_lacks_is_reported(translator: Translator) -> None:
    (translation,) = translator.translate([Request("The dog sleeps.", required=("Zebra", "Hund"))], NARROW)
    assert (translation.satisfied, translation.unsatisfied) == (["Hund"], ["Zebra"])


def test_a_line_in_pieces_begins_and_holds_what_it_should(translator: Translator) -> None:
    long = " ".join(["The old man buys a red car."] * 10)
    (translation,) = translator.translate([Request(long, "Der", required=("Hund",))], NARROW)
    assert translation.was_split
    assert translation.satisfied == ["Hund"]
    assert translation.text.startswith("Der")


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_term_of_a_line_in_pieces_is_for_the_piece_that_has_it(translator: Translator, number: int) -> None:
    sentences = ["The old man buys a red car."] * 10
    sentences[4 * number] = "The DOGS sleep."
    request = Request(" ".join(sentences), required=("Hund", "Frau"), terms=(Term("dog", "Hund", (), "dogs"),))
    (encoded,) = translator.encode([request])
    assert len(encoded) > 2
    of_pieces = [part.required for part in translator.divide(request, encoded)]
    pieces = split_text(request.text, translator.bundle.tokenizers.source, translator.longest_source)
    (place,) = [i for i, piece in enumerate(pieces) if "DOGS" in piece]
    assert [("Hund" in of_piece, "Frau" in of_piece) for of_piece in of_pieces] == [
        (i == place, i == len(encoded) - 1) for i in range(len(encoded))
    ]
    translation = translator.translate(request, NARROW)
    assert (translation.was_split, translation.satisfied) == (True, ["Hund", "Frau"])
    parts = [
        translator.translate(Request(piece, required=tuple(of_piece)), NARROW).text
        for piece, of_piece in zip(pieces, of_pieces, strict=True)
    ]
    assert translation.text == " ".join(parts)


@given(
    line=st.lists(st.sampled_from(["eins", "zwei", "drei", "vier"]), min_size=1, max_size=12),
    length=st.integers(1, 4),
    term=st.sampled_from(["eins", "ZWEI", "fünf"]),
)
def test_every_piece_that_has_a_term_holds_its_phrase_and_else_the_last(
    line: list[str], length: int, term: str
) -> None:
    pieces = [line[start : start + length] for start in range(0, len(line), length)]
    request = Request(" ".join(line), required=("one", "vier"), terms=(Term(term, "one"),))
    of_pieces = required_of_pieces(request, [" ".join(piece) for piece in pieces])
    for phrase, source in (("one", term.lower()), ("vier", "vier")):  # the second one is in sources as it is
        places = [i for i, piece in enumerate(pieces) if source in piece]
        assert [i for i, phrases in enumerate(of_pieces) if phrase in phrases] == (places or [len(pieces) - 1])


def test_a_term_is_found_in_a_piece_as_its_glossary_finds_it_in_the_line() -> None:
    request = Request("", required=("dog",), terms=(Term("Hündin", "dog"),))
    assert required_of_pieces(request, ["Eine hu\u0308n\u00addin.", "Ein Haus."]) == [["dog"], []]


def test_blank_lines_stay_blank_whatever_is_asked_of_them(translator: Translator) -> None:
    (translation,) = translator.translate([Request(" ", "Der", ("Hund",), ("Katze",))])
    assert (translation.text, translation.unsatisfied) == ("", [])


@pytest.mark.parametrize(
    ("request_", "search", "told"),
    [
        (Request("A dog.", required=("Hund",)), SHORT_SAMPLES, "required phrases go with a plain beam"),
        (Request("A dog.", required=("Hund",)), DiverseBeam(), "required phrases go with a plain beam"),
        (Request("A dog.", prefix="Der Hund", banned=("Hund",)), GREEDY, "the prefix 'Der Hund' holds the banned"),
        (Request("A dog.", required=("Der Hund",), banned=("Hund",)), GREEDY, "required phrase 'Der Hund' holds"),
        (Request("A dog.", required=(" ",)), GREEDY, "is blank"),
        (Request("A dog.", prefix="Zebra"), GREEDY, "vocabulary lacks some of its words"),
        (
            "A dog.",
            Beam(size=1, no_repeat_ngram=1, min_ratio=160, max_ratio=160),
            "no translation satisfies all constraints",
        ),
    ],
)
def test_requests_that_make_no_sense_are_refused(
    translator: Translator, request_: Request | str, search: Search, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        translator.translate([request_], search)


def test_samples_of_a_line_do_not_depend_on_the_lines_beside_it(translator: Translator) -> None:
    together = translator.translate(SOURCES, SHORT_SAMPLES)
    alone = [translator.translate([text], SHORT_SAMPLES)[0] for text in SOURCES]
    assert [[c.text for c in t.n_best] for t in together] == [[c.text for c in t.n_best] for t in alone]
