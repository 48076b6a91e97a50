"""With a shortlist a translation is what a search finds among the tokens of the line's own list, whatever the batch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import transduce
from transduce.base.errors import CheckpointError, InputError
from transduce.base.shapes import Logits, Mask, Tokens
from transduce.inference.request import Request
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.interface import EncoderDecoder, Memory
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.nn.state import DecoderState
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.diverse import DiverseBeam
from transduce.search.sampling import Sampling

TEXTS = ["The dog sleeps.", "The old man buys a red car.", "A cat."]
WISHES = [
    Request(TEXTS[0], prefix="Der Hund", banned=("alte", "Katze")),
    Request(TEXTS[1], required=("Frau",), banned=("Auto",)),
    Request(TEXTS[2], required=("Die", "Hund")),
]
LENGTHS = {"max_extra": 7, "max_ratio": 1.0}
BEAM = Beam(size=3, n_best=2, **LENGTHS)
SEARCHES: dict[str, Search] = {
    "greedy": Beam(size=1, **LENGTHS),
    "beam": BEAM,
    "no repeat": Beam(size=2, no_repeat_ngram=1, allow_unknown=True, **LENGTHS),
    "diverse": DiverseBeam(size=4, n_best=3, **LENGTHS),
    "sampling": Sampling(n_best=2, top_p=0.9, **LENGTHS),
}
FAMILIES = {"transformer": None, "recurrent": RecurrentConfig(dim=7, encoder_dim=6, decoder_dim=10)}


@pytest.fixture(scope="module", params=FAMILIES)
def translator(request: pytest.FixtureRequest, tiny_run: Path) -> Translator:
    """A trained Transformer, or a recurrent model that has learned nothing."""
    translator = transduce.load(tiny_run)
    if (config := FAMILIES[request.param]) is None:
        return translator
    bundle = translator.bundle
    torch.manual_seed(2)
    model = build_model(config, len(bundle.tokenizers.source), len(bundle.tokenizers.target)).eval()
    return Translator(replace(bundle, model=model))


def shortlist_of(translator: Translator, per_token: int, frequent: int = 0) -> Shortlist:
    """Tokens drawn for each source token, and for all sentences; the special ones are for all."""
    target = translator.bundle.tokenizers.target
    generator = torch.Generator().manual_seed(4)
    sizes = len(translator.bundle.tokenizers.source), len(target)
    lists = torch.randint(4, sizes[1], (sizes[0], per_token), generator=generator)
    drawn = torch.randint(4, sizes[1], (frequent,), generator=generator).tolist()
    special = [target.pad, target.bos, target.eos, target.unknown]
    return Shortlist(lists, torch.tensor([*special, *drawn]), sizes[1])


def with_shortlist(translator: Translator, shortlist: Shortlist) -> Translator:
    return Translator(translator.bundle, shortlist=shortlist)


class Masked:
    """The slow way: all logits of one sentence are made, and those outside its list are no more."""

    source_limit = target_limit = None

    def __init__(self, model: EncoderDecoder[DecoderState], allowed: torch.Tensor) -> None:
        self.model, self.allowed = model, allowed

    def encode(self, source: Tokens, is_real: Mask) -> Memory:
        return self.model.encode(source, is_real)

    def start(self, memory: Memory) -> DecoderState:
        return self.model.start(memory)

    def decoder(self, tokens: Tokens, state: DecoderState) -> tuple[Logits, DecoderState]:
        logits, state = self.model.decoder(tokens, state)
        return logits.masked_fill(~self.allowed, -torch.inf), state


def list_of(translator: Translator, shortlist: Shortlist, text: str) -> torch.Tensor:
    tokenizer = translator.bundle.tokenizers.source
    source = torch.tensor([[*tokenizer.encode(text), tokenizer.eos]])
    return shortlist.allowed(source, torch.ones_like(source, dtype=torch.bool))[0]


def slowly(translator: Translator, shortlist: Shortlist, request: Request, search: Search) -> Translation:
    """One line by itself, through the whole vocabulary."""
    allowed = list_of(translator, shortlist, request.text)
    constraints = translator.constraints.pieces(request, [[]])[0]
    forms = [token for phrase in constraints.required for form in phrase.forms for token in form]
    allowed[torch.tensor([*constraints.prefix, *forms], dtype=torch.long)] = True
    alone = Translator(translator.bundle)
    alone.engine.model = Masked(alone.engine.model, allowed)  # type: ignore[attr-defined]
    return alone.translate([request], search)[0]


def assert_same(found: Sequence[Translation], expected: Sequence[Translation]) -> None:
    assert [[c.text for c in t.n_best] for t in found] == [[c.text for c in t.n_best] for t in expected]
    for one, other in zip(found, expected, strict=True):
        assert [c.score for c in one.n_best] == pytest.approx([c.score for c in other.n_best], abs=1e-4)
        assert one.satisfied == other.satisfied


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_a_list_of_the_whole_vocabulary_changes_nothing(translator: Translator, search: Search) -> None:
    whole = shortlist_of(translator, 1)
    whole = replace(whole, always=torch.arange(whole.target_vocabulary))
    assert_same(with_shortlist(translator, whole).translate(TEXTS, search), translator.translate(TEXTS, search))


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_it_is_the_full_search_with_other_tokens_forbidden_for_each_line_by_itself(
    translator: Translator, search: Search
) -> None:
    shortlist = shortlist_of(translator, 3, 5)
    requests = [Request(text) for text in TEXTS]
    if search.no_repeat_ngram == 0 and not isinstance(search, DiverseBeam | Sampling):
        requests += WISHES
    elif isinstance(search, Sampling):
        requests.append(WISHES[0])
    found = with_shortlist(translator, shortlist).translate(requests, search)
    assert_same(found, [slowly(translator, shortlist, request, search) for request in requests])


def test_translations_hold_tokens_of_their_own_lists_alone(translator: Translator) -> None:
    shortlist, tokenizer = shortlist_of(translator, 2), translator.bundle.tokenizers.target
    for text, translation in zip(TEXTS, with_shortlist(translator, shortlist).translate(TEXTS, BEAM), strict=True):
        allowed = list_of(translator, shortlist, text)
        for candidate in translation.n_best:
            assert allowed[tokenizer.encode(candidate.text)].all()


def test_what_is_asked_of_a_line_can_be_written_though_no_list_holds_it(translator: Translator) -> None:
    empty = replace(shortlist_of(translator, 1), lists=torch.full((len(translator.bundle.tokenizers.source), 1), 2))
    search = Beam(size=6, max_extra=25)
    first, second, third = with_shortlist(translator, empty).translate(WISHES, search)
    assert first.text.startswith("Der Hund")
    assert (second.satisfied, third.satisfied) == (["Frau"], ["Die", "Hund"])


def test_no_list_needs_the_unknown_token(translator: Translator) -> None:
    shortlist, unknown = shortlist_of(translator, 3, 5), translator.bundle.tokenizers.target.unknown
    without = replace(shortlist, always=shortlist.always[shortlist.always != unknown])
    found = with_shortlist(translator, without).translate(TEXTS, BEAM)
    assert_same(found, [slowly(translator, without, Request(text), BEAM) for text in TEXTS])


def test_an_ensemble_takes_a_shortlist(translator: Translator) -> None:
    shortlist = shortlist_of(translator, 3, 5)
    twice = Translator(translator.bundle, translator.bundle, shortlist=shortlist)
    assert_same(twice.translate(TEXTS, BEAM), with_shortlist(translator, shortlist).translate(TEXTS, BEAM))


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_a_model_at_lower_precision_takes_a_shortlist(tiny_run: Path, precision: str) -> None:
    translator = transduce.load(tiny_run, precision=precision)  # type: ignore[arg-type]
    shortlist = shortlist_of(translator, 3, 5)
    request = Request(TEXTS[0])
    (found,) = with_shortlist(translator, shortlist).translate([request], BEAM)
    expected = slowly(translator, shortlist, request, BEAM)
    assert [c.score for c in found.n_best] == pytest.approx([c.score for c in expected.n_best], abs=1e-2)


def test_a_file_gives_the_same_shortlist_back(tiny_run: Path, tmp_path: Path) -> None:
    translator = transduce.load(tiny_run)
    shortlist, file = shortlist_of(translator, 3, 5), tmp_path / "mine"
    shortlist.save(file, translator.bundle.tokenizers)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    expected = with_shortlist(translator, shortlist).translate(TEXTS, BEAM)
    assert_same(transduce.load(tiny_run, shortlist=file).translate(TEXTS, BEAM), expected)


def test_shortlists_that_cannot_be_used_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    translator = transduce.load(tiny_run)
    tokenizers, file = translator.bundle.tokenizers, tmp_path / "mine"
    for asked in (True, file):
        with pytest.raises(InputError, match="no such shortlist; learn one with: transduce shortlist"):
            transduce.load(tiny_run, shortlist=asked)
    shortlist = shortlist_of(translator, 3)
    shortlist.save(file, replace(tokenizers, target=tokenizers.source))
    with pytest.raises(InputError, match="learned for other tokenizers than the model's"):
        transduce.load(tiny_run, shortlist=file)
    shortlist.save(file, tokenizers)
    flipped = bytearray(file.read_bytes())
    flipped[-1] ^= 1
    file.write_bytes(flipped)
    with pytest.raises(CheckpointError, match="has changed since it was saved"):
        transduce.load(tiny_run, shortlist=file)
    for damage in (b"no tensors", file.read_bytes()[:200]):
        file.write_bytes(damage)
        with pytest.raises(CheckpointError, match="is damaged, or no shortlist"):
            transduce.load(tiny_run, shortlist=file)
    for facts, told in (({}, "is damaged, or no shortlist"), ({"format": "2"}, "has format 2, but this Transduce")):
        save_file({"lists": shortlist.lists}, file, facts)
        with pytest.raises(CheckpointError, match=told):
            transduce.load(tiny_run, shortlist=file)
