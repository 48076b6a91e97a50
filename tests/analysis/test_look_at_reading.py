"""A look at a model that reads texts tells what the model does with them, and watching changes nothing."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from transduce.analysis.look_at_reading import record_reading
from transduce.analysis.look_at_text import Look
from transduce.analysis.recorded_attention import record_pass
from transduce.base.errors import InputError
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.text_batch import make_text_batch
from transduce.data.windows import batch_of
from transduce.inference.answerer import Answerer
from transduce.inference.classifier import Classifier
from transduce.inference.generator import Generator
from transduce.inference.tagger import Tagger
from transduce.inference.text_encoder import Encoder
from transduce.models.bert import BertConfig
from transduce.models.families import ModelConfig, build_model
from transduce.models.heads import (
    ClassHeadConfig,
    HeadConfig,
    ScoreHeadConfig,
    SpanHeadConfig,
    TagHeadConfig,
    WordHeadConfig,
)
from transduce.models.transformer_encoder import TransformerEncoderConfig
from transduce.models.transformer_xl import TransformerXLConfig
from transduce.models.xlnet import XLNetConfig
from transduce.nn import packing
from transduce.nn.recording import record_attention
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizers

LAYERS, HEADS, DIM = 2, 3, 12
MODELS: dict[str, ModelConfig] = {
    "bert": BertConfig(layers=LAYERS, dim=DIM, heads=HEADS, feed_forward_dim=20, max_positions=20),
    "xlnet": XLNetConfig(layers=LAYERS, dim=DIM, heads=HEADS, feed_forward_dim=20, memory=5),
    "transformer": TransformerEncoderConfig(layers=LAYERS, dim=DIM, heads=HEADS, feed_forward_dim=20),
}
CLASSES = ClassHeadConfig(labels=("bad", "good", "so-so"), pair=True)
SCORES = ScoreHeadConfig(mean=3.0, deviation=2.0)
TAGS = TagHeadConfig(labels=("O", "B-person", "B-place"))
TEXT = "Ada sees the dog in Rome"
PAIR = ("the dog sees Ada", "a cat is in Rome")


def bundle(kind: str, task: str, head: HeadConfig | None, config: ModelConfig | None = None) -> ModelBundle:
    """A model with weights so large that attention is uneven."""
    settings = TokenizerConfig(kind="bert", size=48)
    tokenizers = train_tokenizers(settings, [TEXT, *PAIR], [TEXT, *PAIR])
    torch.manual_seed(1)
    config = config or MODELS[kind]
    size = len(tokenizers.target)
    model = build_model(config, size, size, head).eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.4)
    return ModelBundle(
        BundleConfig(FORMAT, "en", "en", config, settings, longest_source=20, task=task, head=head), model, tokenizers
    )


@pytest.fixture(scope="module", params=MODELS)
def classifier(request: pytest.FixtureRequest) -> Classifier:
    return Classifier(bundle(request.param, "classification", CLASSES))


@pytest.fixture(scope="module")
def look(classifier: Classifier) -> Look:
    return classifier.look(PAIR)


def rows_of(classifier: Classifier) -> list[Any]:
    encode = classifier.bundle.tokenizers.target.encode
    return [(encode(first), encode(second)) for first, second in (PAIR, ("a dog", "Ada"), ("the cat in", "Rome"))]


def test_texts_read_together_have_the_attention_that_each_has_alone(
    classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = classifier.bundle.model
    rows, special = rows_of(classifier), classifier.bundle.special
    alone = [record_reading(model, make_text_batch([row], special)).attention[0] for row in rows]
    batch = make_text_batch(rows, special)
    plain = model(batch.tokens, batch.segments, batch.is_real)
    monkeypatch.setattr(packing, "MOST_WEIGHTS", 2 * batch.tokens.shape[1] ** 2)  # some rows at once, not all
    recorded = record_reading(model, batch)
    assert torch.allclose(recorded.outputs, plain, atol=1e-5)
    for length, of_text, expected in zip(batch.is_real.sum(1), recorded.attention, alone, strict=True):
        assert [one.layer for one in of_text] == list(range(LAYERS))
        for one, other in zip(of_text, expected, strict=True):
            assert one.weights.shape == (1, HEADS, length, length)
            assert torch.allclose(one.weights.sum(-1), torch.ones(()), atol=1e-5)
            assert torch.allclose(one.weights, other.weights, atol=1e-5)
            assert one.weights.std() > 0.01


def test_attention_is_in_the_order_of_the_text_though_xlnet_reads_the_first_token_last() -> None:
    made = bundle("xlnet", "classification", CLASSES)
    batch = make_text_batch([([7, 8, 9], [10])], made.special)
    model: Any = made.model
    with record_attention(model) as tape:
        model(batch.tokens, batch.segments, batch.is_real)
    (found,) = record_reading(model, batch).attention
    for one, (within,) in zip(found, filter(None, tape.values()), strict=True):
        assert torch.equal(one.weights, within.roll((1, 1), (2, 3)))


def test_a_class_is_the_one_that_classify_predicts(classifier: Classifier, look: Look) -> None:
    found: Any = classifier.classify(PAIR)
    (one,) = look.confidence
    assert (look.target.text, one.token, one.rank) == (found.label, found.label, 1)
    assert one.probability == pytest.approx(found.probability, abs=1e-5)
    others = {other.token: other.probability for other in one.alternatives}
    assert others | {one.token: one.probability} == pytest.approx(found.probabilities, abs=1e-5)
    assert look.source is not None
    assert look.source.tokens.count("[SEP]") == 2
    assert look.maps("encoder").shape == (LAYERS, HEADS, *2 * [len(look.source.tokens)])


def test_leaving_a_token_out_is_reading_an_end_token_in_its_place(classifier: Classifier, look: Look) -> None:
    assert look.occlusion is not None
    batch = make_text_batch(rows_of(classifier)[:1], classifier.bundle.special)
    best = classifier.labels.index(look.target.text)

    @torch.inference_mode()
    def log_probability(tokens: torch.Tensor) -> float:
        logits = classifier.bundle.model(tokens, batch.segments, batch.is_real)
        return float(logits.log_softmax(-1)[0, best])

    plain = log_probability(batch.tokens)
    for place, drop in enumerate(look.occlusion.drops[0].tolist()):
        hidden = batch.tokens.clone()
        if place:  # the first is the one that the class is told from
            hidden[0, place] = classifier.bundle.special.target_eos
        assert drop == pytest.approx(plain - log_probability(hidden), abs=1e-4)
    assert abs(look.occlusion.total).max() > 0.01


def test_gradients_add_up_to_what_the_text_is_worth(look: Look) -> None:
    assert look.gradient is not None
    assert look.gradient.error < 0.05 * max(abs(look.gradient.attributions).sum(), 1)
    assert look.gradient.attributions[0] == 0


@pytest.mark.parametrize("kind", MODELS)
def test_scores_tags_answers_and_guesses_are_those_of_their_verbs(kind: str) -> None:
    scorer = Classifier(bundle(kind, "classification", SCORES))
    found = scorer.look(TEXT)
    assert found.target.text == str(scorer.classify(TEXT))
    assert (found.confidence, found.unit) == ([], "score")

    tagger = Tagger(bundle(kind, "tagging", TAGS))
    found, told = tagger.look(TEXT), tagger.tag(TEXT).words
    assert found.target.tokens == [f"{word.text}/{word.tag}" for word in told]
    assert [one.probability for one in found.confidence] == pytest.approx([word.probability for word in told])

    answerer = Answerer(bundle(kind, "answering", SpanHeadConfig()))
    found, answers = answerer.look(*PAIR), answerer.answer(*PAIR, n_best=6).answers
    (one,) = found.confidence
    named = [(one.token, one.probability), *((other.token, other.probability) for other in one.alternatives)]
    assert named == [(answer.text, answer.probability) for answer in answers]

    encoder = Encoder(bundle(kind, "encoder", WordHeadConfig(next_sentence=False)))
    text = "the [MASK] sees a [MASK]"
    found = encoder.look(text)
    for one, place in zip(found.confidence, encoder.fill(text).places, strict=True):
        assert (one.token, one.probability) == (place.guesses[0].token, pytest.approx(place.guesses[0].probability))
    assert encoder.look(*PAIR).target.tokens == []


def test_what_an_answer_loses_is_its_beginning_and_end() -> None:
    answerer = Answerer(bundle("bert", "answering", SpanHeadConfig()))
    found = answerer.look(*PAIR)
    assert found.source is not None
    assert found.occlusion is not None
    batch = make_text_batch([tuple(map(answerer.bundle.tokenizers.target.encode, PAIR))], answerer.bundle.special)  # type: ignore[list-item]
    hidden = batch.tokens.clone()
    hidden[0, 2] = answerer.bundle.special.target_eos
    both = [
        answerer.bundle.model(one, batch.segments, batch.is_real).log_softmax(1)[0] for one in (batch.tokens, hidden)
    ]
    # Of all pairs of places, the answer's has this drop.
    drops = (both[0][:, None, 0] + both[0][None, :, 1]) - (both[1][:, None, 0] + both[1][None, :, 1])
    assert (drops - found.occlusion.drops[0, 2]).abs().min() < 1e-4


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        (MODELS["xlnet"], {"decoder": LAYERS - 1, "query": LAYERS}),
        (TransformerXLConfig(layers=LAYERS, dim=DIM, heads=HEADS, feed_forward_dim=20, memory=5), {"decoder": LAYERS}),
    ],
    ids=["xlnet", "transformer-xl"],
)
def test_streams_of_a_language_model_have_names(config: Any, parts: dict[str, int]) -> None:
    made = bundle("", "language", None, config)
    found = Generator(made).look("the dog", " sees Ada")
    assert {part: len(found.maps(part)) for part in parts} == parts  # type: ignore[arg-type]
    assert len(found.attention) == sum(parts.values())
    for one in found.attention:
        assert one.weights.shape == (HEADS, len(found.read), len(found.read))
        assert torch.allclose(torch.from_numpy(one.weights.sum(-1)), torch.ones(()), atol=1e-5)
        assert not torch.from_numpy(one.weights).triu(1).any()
    batch, model = batch_of([torch.tensor([5, 6, 7, 8]).numpy()]), made.model
    with torch.inference_mode():
        logits, _ = model.decoder(batch.target_in, model.start(model.encode(batch.source, batch.source_is_real)))  # type: ignore[operator, union-attr]
    assert torch.allclose(record_pass(model, batch).log_probabilities, logits.log_softmax(-1), atol=1e-5)  # type: ignore[arg-type]


def test_looks_with_and_without_a_prediction_are_saved_in_each_form(tmp_path: Path) -> None:
    looks = {
        "score": Classifier(bundle("bert", "classification", SCORES)).look(TEXT),
        "nothing": Encoder(bundle("bert", "encoder", None)).look(TEXT),
    }
    for name, one in looks.items():
        for ending in (".html", ".png"):
            one.save(tmp_path / f"{name}{ending}")
        one.save(tmp_path / f"{name}.json")
        facts = json.loads((tmp_path / f"{name}.json").read_text())
        assert facts["target"]["text"] == one.target.text
    assert looks["nothing"].occlusion is None


def test_what_cannot_be_read_is_reported(classifier: Classifier) -> None:
    for text, told in (
        (("a", " "), "no text to look at"),
        (("a " * 30, "b"), "tokens, but the model reads at most 20"),
        ("a", "pairs of texts"),
    ):
        with pytest.raises(InputError, match=told):
            classifier.look(text)  # type: ignore[arg-type]
    assert math.isfinite(classifier.look(("a", "b")).confidence[0].probability)
