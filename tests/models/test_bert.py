"""BERT is Hugging Face's, padding changes nothing and is not computed, and heads stand on any encoder."""

from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from transformers import BertConfig as TheirConfig
from transformers import BertModel

from transduce.apps.exchange.huggingface.huggingface_bert import BERT
from transduce.apps.exchange.huggingface.tensor_names import from_theirs
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.models.bert import Bert, BertConfig, build_bert
from transduce.models.families import build_encoder_model
from transduce.models.heads import (
    ClassHeadConfig,
    HeadConfig,
    ScoreHeadConfig,
    SpanHeadConfig,
    TagHeadConfig,
    TextHead,
    WordHeadConfig,
)
from transduce.models.interface import Pooling, TextEncoder
from transduce.nn import packing
from transduce.text.tokenizer_settings import TokenizerConfig

VOCABULARY, ROWS, TIME = 23, 5, 11
CONFIG = BertConfig(layers=2, dim=12, heads=3, feed_forward_dim=17, max_positions=13)
THEIRS = TheirConfig(
    vocab_size=VOCABULARY,
    num_hidden_layers=2,
    hidden_size=12,
    num_attention_heads=3,
    intermediate_size=17,
    max_position_embeddings=13,
)
LENGTHS = torch.tensor([11, 3, 7, 2, 10])
HEADS: list[tuple[HeadConfig, tuple[int, ...]]] = [
    (ClassHeadConfig(labels=("a", "b", "c")), (ROWS, 3)),
    (ScoreHeadConfig(mean=2.0, deviation=0.5), (ROWS, 1)),
    (TagHeadConfig(labels=("O", "B-x", "I-x", "B-y")), (ROWS, TIME, 4)),
    (SpanHeadConfig(), (ROWS, TIME, 2)),
    (WordHeadConfig(), (ROWS, TIME, VOCABULARY)),
]


def build(**changes: Any) -> Bert:
    torch.manual_seed(3)
    return build_bert(BertConfig(**({"layers": 2, "dim": 12, "heads": 3} | changes)), VOCABULARY).eval()


@pytest.fixture
def text() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(VOCABULARY, (ROWS, TIME), generator=generator)
    is_real = torch.arange(TIME) < LENGTHS[:, None]
    return tokens, (torch.arange(TIME) > 1).long().expand(ROWS, -1), is_real


@torch.no_grad()
@pytest.mark.parametrize("is_padded", [False, True])
def test_a_bert_is_hugging_faces(text: tuple[Tensor, Tensor, Tensor], is_padded: bool) -> None:
    tokens, segments, is_real = text
    if not is_padded:
        is_real = torch.ones_like(is_real)
    torch.manual_seed(7)
    theirs = BertModel(THEIRS).eval()
    for parameter in theirs.parameters():  # which begin as zeros and ones, that a swap would not show
        parameter.add_(torch.randn_like(parameter) / 10)
    ours = build_encoder_model(CONFIG, VOCABULARY, None).eval()
    bundle = BundleConfig(
        format=FORMAT, source="", target="", model=CONFIG, tokenizer=TokenizerConfig(), longest_source=1, task="encoder"
    )
    ours.load_state_dict(from_theirs(theirs.state_dict(), BERT().same(bundle), ours.state_dict(), "theirs"))
    found = ours.encoder(tokens, segments, is_real)
    expected = theirs(tokens, is_real, segments)
    assert_close(found.hidden[is_real], expected.last_hidden_state[is_real], atol=1e-5, rtol=1e-5)
    assert_close(found.pooled, expected.pooler_output, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_padding_changes_nothing(text: tuple[Tensor, Tensor, Tensor]) -> None:
    tokens, segments, is_real = text
    model = build()
    padded = model(tokens, segments, is_real)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = model(tokens[row : row + 1, :length], segments[row : row + 1, :length], is_real[row : row + 1, :length])
        assert_close(padded.hidden[row, :length], alone.hidden[0])
        assert_close(padded.pooled[row], alone.pooled[0])


@pytest.mark.parametrize("most", [1, 60, 250])
def test_rows_that_attention_takes_apart_are_the_same(
    text: tuple[Tensor, Tensor, Tensor], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build(dropout=0.0, attention_dropout=0.0)
    model(*text).hidden[text[2]].square().sum().backward()
    expected = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    monkeypatch.setattr(packing, "MOST_WEIGHTS", most)
    assert len(packing.Packing.of(text[2]).blocks) > 1
    model(*text).hidden[text[2]].square().sum().backward()
    for name, parameter in model.named_parameters():
        if expected[name] is not None:
            assert_close(parameter.grad, expected[name], atol=1e-4, rtol=1e-4)


def test_padding_is_not_computed(text: tuple[Tensor, Tensor, Tensor]) -> None:
    model, seen = build(), []
    model.layers[1].feed_forward.register_forward_hook(lambda module, inputs, output: seen.append(output.shape[1]))
    model(*text)
    assert seen == [int(LENGTHS.sum())]


def test_padding_gets_no_gradient(text: tuple[Tensor, Tensor, Tensor]) -> None:
    tokens, segments, is_real = text
    model = build(dropout=0.0, attention_dropout=0.0)
    tokens = torch.where(is_real, tokens % (VOCABULARY - 1), VOCABULARY - 1)  # a token of padding alone
    model(tokens, segments, is_real).hidden.square().sum().backward()
    assert model.table.weight.grad is not None
    assert not model.table.weight.grad[VOCABULARY - 1].any()
    assert model.table.weight.grad[: VOCABULARY - 1].any()


@torch.no_grad()
def test_the_vector_of_a_text_is_the_mean_of_its_own_tokens(text: tuple[Tensor, Tensor, Tensor]) -> None:
    encoded = build()(*text)
    for row, length in enumerate(LENGTHS.tolist()):
        assert_close(encoded.vectors("mean")[row], encoded.hidden[row, :length].mean(0))
    assert_close(encoded.vectors("first"), encoded.hidden[:, 0])
    assert_close(encoded.vectors("pooler"), encoded.pooled)


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_a_head_reads_the_vector_that_its_settings_name(text: tuple[Tensor, Tensor, Tensor], pooling: Pooling) -> None:
    config = msgspec.structs.replace(CONFIG, pooler=False)
    head = ClassHeadConfig(labels=("a", "b", "c"), pooling=pooling)
    model = build_encoder_model(config, VOCABULARY, head).eval()
    assert isinstance(model.head, TextHead)
    assert_close(model(*text), model.head.output(model.encoder(*text).vectors(pooling)))


@torch.no_grad()
@pytest.mark.parametrize(("head", "shape"), HEADS, ids=lambda value: type(value).__name__)
def test_a_head_reads_an_encoder(head: HeadConfig, shape: tuple[int, ...], text: tuple[Tensor, Tensor, Tensor]) -> None:
    torch.manual_seed(3)
    model = build_encoder_model(CONFIG, VOCABULARY, head).eval()
    assert isinstance(model.encoder, TextEncoder)
    assert model(*text).shape == shape


def test_sizes_go_by_names() -> None:
    assert BertConfig(size="mini").sizes == (4, 256, 4, 1024)
    assert BertConfig(size="base").sizes == (12, 768, 12, 3072)
    assert BertConfig(size="base", layers=3, dim=96).sizes == (3, 96, 12, 384)
    with pytest.raises(ValueError, match="give size"):
        BertConfig(layers=2)
    with pytest.raises(ValueError, match="not a multiple"):
        BertConfig(size="tiny", heads=3)
