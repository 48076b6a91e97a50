"""An answer to "why this word?" names the cause that was planted, and its numbers are those of the model."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

import planted_causes
import pronoun_corpus
import transduce
from models.toy_models import CONFIGS
from transduce.analysis.carriers import carriers, direct_contributions
from transduce.analysis.contrast import Decision, InputWord, main_cause
from transduce.analysis.interventions import intervene
from transduce.apps.cli.main import app
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment.training_pairs import open_training_pairs
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam

WIDTH = 500
"""The size of a head that has a number for each token."""
GREEDY = Beam(size=1)
SENTENCE, TRANSLATION = "What does Anna open?", "Was öffnet Anna?"


def translator_of(run: Path) -> Translator:
    loaded = transduce.load(run, engine="pytorch")
    assert isinstance(loaded, Translator)
    return loaded


def with_model(run: Path, config: Any) -> ModelBundle:
    """The vocabularies of a run with a fresh model whose norms and biases are its own."""
    bundle = ModelBundle.load(run)
    torch.manual_seed(1)
    model = build_model(config, len(bundle.tokenizers.source), len(bundle.tokenizers.target)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return replace(bundle, model=model, config=msgspec.structs.replace(bundle.config, model=config))


def decision_of(bundle: ModelBundle) -> Decision:
    source, target = bundle.tokenizers.source.encode(SENTENCE), bundle.tokenizers.target.encode(TRANSLATION)
    return Decision(bundle, torch.tensor([[*source, bundle.special.source_eos]]), target[:1], target[1], target[2])


def test_the_difference_is_that_of_the_probabilities_which_a_look_tells(tiny_run: Path) -> None:
    translator = translator_of(tiny_run)
    why = transduce.why(translator, SENTENCE, "öffnet", "Anna", target=TRANSLATION)
    score = translator.score((SENTENCE, TRANSLATION))
    written = next(token for token in score.tokens if token.piece == why.word.token)
    assert np.log(why.word.probability) == pytest.approx(written.log_probability, abs=1e-4)
    difference = np.log(why.word.probability) - np.log(why.other.probability)
    assert why.difference == pytest.approx(difference, abs=1e-4)
    assert [word.text for word in why.words] == [*SENTENCE.replace("?", "").split(), "Was"]
    assert why.word.beam is why.taught is None


def test_a_word_is_hidden_with_all_its_tokens_and_the_next_most_probable_one_is_its_rival(tiny_run: Path) -> None:
    translator = translator_of(tiny_run)
    why = transduce.why(translator, SENTENCE, "Anna", target=TRANSLATION)
    assert why.other.text.casefold() != "anna" and why.other.rank > 0
    assert why.to_dict()["words"][0]["text"] == "What"
    assert json.loads(json.dumps(why.to_dict()))["answer"] == why.answer


def test_direct_contributions_and_biases_add_up_to_the_difference(tiny_run: Path) -> None:
    for norm_kind in ("layer", "rms"):
        config = TransformerConfig(
            encoder_layers=1, decoder_layers=2, dim=12, heads=3, feed_forward_dim=17, norm_kind=norm_kind
        )
        decision = decision_of(with_model(tiny_run, config))
        model: Any = decision.bundle.model
        with intervene(model) as edit:
            plain = edit.record()
            difference = decision.difference(decision.without()).item()
            added = [f"decoder.layers.{layer}.{part}" for layer in (0, 1) for part in ("attention", "cross_attention")]
        added += ["decoder.embedding", *(f"decoder.layers.{layer}.feed_forward" for layer in (0, 1))]
        parts = direct_contributions(decision, plain, [(name, 0) for name in added])
        weight = model.decoder.output.weight[decision.token] - model.decoder.output.weight[decision.other]
        bias = 0.0 if norm_kind == "rms" else (model.decoder.norm.bias @ weight).item()
        if model.decoder.output.bias is not None:
            bias += float(model.decoder.output.bias[decision.token] - model.decoder.output.bias[decision.other])
        assert sum(map(float, filter(None, parts))) + bias == pytest.approx(difference, abs=1e-4)
        of_heads = direct_contributions(decision, plain, [("decoder.layers.1.attention.heads", h) for h in range(3)])
        output = model.decoder.layers[1].attention.attention.output
        value = plain["decoder.layers.1.attention"][0, -1] - output.bias
        assert sum(map(float, filter(None, of_heads))) == pytest.approx(
            direct_contributions(decision, _with(plain, value), [("decoder.layers.1.attention", 0)])[0], abs=1e-4
        )


def _with(plain: Any, value: torch.Tensor) -> dict[str, torch.Tensor]:
    return {**{name: plain[name] for name in plain}, "decoder.layers.1.attention": value[None, None]}


def test_each_word_and_head_that_counts_is_tried_out(tiny_run: Path) -> None:
    translator = translator_of(tiny_run)
    why = transduce.why(translator, SENTENCE, "öffnet", "Anna", target=TRANSLATION)
    changes = {change.what: change for change in why.changes}
    heads = [part for part in why.parts[:12] if part.head is not None]
    assert len(changes) == len(why.changes) == len(why.words) + len(heads)
    for part in heads:
        with transduce.intervene(translator) as edit:
            edit.zero(part.place, heads=part.head)
            scores = translator.score([(SENTENCE, TRANSLATION), (SENTENCE, "Was Anna?")])
        written, other = (score.tokens[1].log_probability for score in scores)
        assert changes[f"without {part}"].difference == pytest.approx(written - other, abs=1e-4)
    assert all(change.writes != "öffnet" for change in why.telling)
    assert f"{len(why.telling) or 'none'} of {len(changes)} changes" in str(why)


@pytest.mark.parametrize("name", ["transformer, norm after", "transformer, recurrence", "bahdanau", "luong, fed"])
def test_every_family_is_asked(tiny_run: Path, name: str) -> None:
    config = msgspec.structs.replace(CONFIGS[name], tie="none") if "luong" in name else CONFIGS[name]
    why = transduce.why(Translator(with_model(tiny_run, config)), SENTENCE, "öffnet", target=TRANSLATION)
    assert why.cause is None or why.parts
    assert all(part.direct is None for part in why.parts if part.place.startswith("encoder"))


def test_all_patched_at_once_is_the_word_left_out(tiny_run: Path) -> None:
    """What leaves the embeddings is all that a word does; patching that alone must undo it wholly."""
    decision = decision_of(ModelBundle.load(tiny_run))
    word, model = InputWord("does", "source", (1,)), decision.bundle.model
    with intervene(model) as edit:
        without = edit.record("encoder.output")
        hidden = float(decision.difference(decision.without(word)))
    with intervene(model) as edit:
        edit.patch("encoder.output", without)
        assert float(decision.difference(decision.without())) == pytest.approx(hidden, abs=1e-5)


def test_a_head_that_copies_is_the_one_that_carries_its_word(tiny_run: Path) -> None:
    """Weights set by hand: one head of three adds up the words of the source, and nothing else does anything."""
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=1, dim=3 * WIDTH, heads=3, feed_forward_dim=4, tie="none", positions="none"
    )
    bundle = with_model(tiny_run, config)
    model: Any = bundle.model
    tokens = len(bundle.tokenizers.source)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
        model.encoder.embedding.table.weight[:, :tokens] = torch.eye(tokens)
        cross = model.decoder.layers[0].cross_attention
        cross.key_value.weight[-2 * WIDTH : -WIDTH, :WIDTH] = torch.eye(WIDTH)  # the values of the second head
        cross.output.weight[:WIDTH, WIDTH : 2 * WIDTH] = torch.eye(WIDTH)
        model.decoder.output.weight[:tokens, :tokens] = torch.eye(tokens)[:, : len(bundle.tokenizers.target)].T
    decision = decision_of(bundle)
    first = carriers(decision, InputWord("", "source", (0,)))[0]
    assert (first.place, first.head) == ("decoder.layers.0.cross_attention.heads", 1)


@pytest.mark.parametrize("ending", [".html", ".png", ".json"])
def test_an_answer_is_a_page_a_figure_or_numbers(tiny_run: Path, tmp_path: Path, ending: str) -> None:
    why = transduce.why(translator_of(tiny_run), SENTENCE, "Anna", target=TRANSLATION)
    why.pictures().save(tmp_path / f"why{ending}")
    made = (tmp_path / f"why{ending}").read_bytes()
    assert ending == ".png" or why.other.text in made.decode()


def test_a_word_of_the_output_is_the_cause_only_where_no_given_word_is() -> None:
    given, written = InputWord("a", "source", (0,), 1.0), InputWord("b", "output", (0,), 30.0)
    assert main_cause([replace(given, left_out=4.0), written]) == replace(given, left_out=4.0)
    assert main_cause([given, written]) == written
    assert main_cause([replace(given, left_out=-1.0)]) is main_cause([]) is None


def test_what_cannot_be_asked_is_said(tiny_run: Path) -> None:
    translator = translator_of(tiny_run)
    with pytest.raises(InputError, match="is not a word of the translation"):
        transduce.why(translator, SENTENCE, "Katze", target=TRANSLATION)
    with pytest.raises(InputError, match="is not one word"):
        transduce.why(translator, SENTENCE, "Anna", "die Zeitung", target=TRANSLATION)
    with pytest.raises(InputError, match="is the word that stands there"):
        transduce.why(translator, SENTENCE, "Anna", "Anna", target=TRANSLATION)


@pytest.mark.slow
def test_planted_causes_and_the_pairs_that_taught_them_are_named(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    run, cases = planted_causes.trained(tmp_path_factory.mktemp("planted"), 24, 12, 14)
    named = planted_causes.named(run, cases)
    assert len(named.asked) > 10
    assert min(named.causes, named.pairs) >= 0.95 * len(named.asked)
    capsys.readouterr()
    case = named.asked[-1]
    app(["look", str(run), case.source, "--why", case.word, "--beam-size", "1", "-o", str(run / "why.html")])
    assert case.taught_by in capsys.readouterr().out
    assert case.taught_by in (run / "why.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_word_of_the_context_that_tells_a_pronoun_is_named(tmp_path: Path) -> None:
    run = pronoun_corpus.trained(tmp_path)
    translator = translator_of(run)
    pairs = open_training_pairs(run, translator.single_model())
    for person, pronoun in pronoun_corpus.PEOPLE.items():
        other = {"she": "he", "he": "she"}[pronoun]
        asked = Request("dann ruft", before=("dann lacht", f"{person} kommt"))
        why = transduce.why(translator, asked, pronoun, other, search=GREEDY, pairs=lambda: pairs)
        assert why.cause is not None and (why.cause.text, why.cause.side) == (person, "context")
        assert why.taught is not None
        assert why.taught.word_and_cause > why.taught.other_and_cause
        assert why.changes[0].what == f"without “{person}”"
