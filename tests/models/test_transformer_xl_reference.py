"""With the weights of Hugging Face's Transformer-XL, ours gives the same losses over segments with memory.

The last release that had it gave the numbers: see make_transformer_xl_reference.py.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from transduce.models.transformer_xl import TransformerXL, TransformerXLConfig, build_transformer_xl
from transduce.nn.losses import log_probabilities

SEGMENTS, TIME, ROWS, VOCABULARY, HEADS, KEY_DIM = 3, 5, 2, 23, 3, 5
MEMORY = 6  # keys that a query attends to there, itself among them
SIZES: dict[str, Any] = {"layers": 2, "dim": 12, "heads": HEADS, "feed_forward_dim": 17, "dropout": 0.0}
EXPECTED = json.loads((Path(__file__).parent / "transformer_xl_reference.json").read_text())
CHOICES: dict[str, dict[str, Any]] = {"plain": {}, "adaptive": {"cutoffs": (7, 11), "narrowing": 2}}


def named(model: TransformerXL) -> Iterator[tuple[str, torch.Tensor]]:
    """The weights by Hugging Face's names."""
    decoder: Any = model.decoder
    for number, layer in enumerate(decoder.layers):
        name, attention = f"transformer.layers.{number}", layer.attention
        yield f"{name}.dec_attn.qkv_net.weight", torch.cat([attention.query.weight, attention.key_value.weight])
        yield f"{name}.dec_attn.r_net.weight", attention.distance.weight
        yield f"{name}.dec_attn.o_net.weight", attention.output.weight
        yield f"{name}.dec_attn.r_w_bias", attention.content_bias
        yield f"{name}.dec_attn.r_r_bias", attention.distance_bias
        for kind in ("weight", "bias"):
            yield f"{name}.dec_attn.layer_norm.{kind}", getattr(layer.around_attention.norm, kind)
            yield f"{name}.pos_ff.layer_norm.{kind}", getattr(layer.around_feed_forward.norm, kind)
            yield f"{name}.pos_ff.CoreNet.0.{kind}", getattr(layer.feed_forward.inner, kind)
            yield f"{name}.pos_ff.CoreNet.3.{kind}", getattr(layer.feed_forward.output, kind)
    table = decoder.embedding.table
    if isinstance(table, torch.nn.Embedding):
        yield "transformer.word_emb.emb_layers.0.weight", table.weight
        yield "crit.out_layers.0.bias", torch.empty(VOCABULARY)
        return
    yield "crit.cluster_weight", decoder.output.clusters.weight
    yield "crit.cluster_bias", decoder.output.clusters.bias
    for number, (part, projection) in enumerate(zip(table.tables, table.projections, strict=True)):
        yield f"transformer.word_emb.emb_layers.{number}.weight", part.weight
        yield f"transformer.word_emb.emb_projs.{number}", projection.weight
        yield f"crit.out_layers.{number}.bias", decoder.output.biases[number]


@torch.no_grad()
def load(model: TransformerXL) -> None:
    """Fill a model as the reference was filled."""
    for number, (name, weight) in enumerate(sorted(named(model), key=lambda one: one[0])):
        filling = torch.tensor([0.4 * math.sin(1.7 * i + number) for i in range(weight.numel())]).view_as(weight)
        if name.endswith("qkv_net.weight"):
            attention: Any = model.decoder.layers[int(name.split(".")[2])].attention
            query, key_value = filling.split([HEADS * KEY_DIM, 2 * HEADS * KEY_DIM])
            attention.query.weight.copy_(query)
            attention.key_value.weight.copy_(key_value)
        else:
            weight.copy_(filling)


@pytest.mark.parametrize("name", CHOICES)
def test_losses_over_segments_are_those_of_the_public_implementation(name: str) -> None:
    config = TransformerXLConfig(**SIZES, key_dim=KEY_DIM, value_dim=KEY_DIM, memory=MEMORY - 1, **CHOICES[name])
    model = build_transformer_xl(config, VOCABULARY).eval()
    load(model)
    rows = [[(7 * i + 5 * row + i * i) % VOCABULARY for i in range(SEGMENTS * TIME)] for row in range(ROWS)]
    tokens, found = torch.tensor(rows), []
    state = model.resume(torch.zeros(2, ROWS, MEMORY - 1, 12))  # there a text begins after zeros, which it attends to
    for segment in tokens.split(TIME, 1):
        hidden, state = model.decoder.read(segment, state)
        is_real = torch.ones(ROWS, TIME - 1, dtype=torch.bool)
        found.append(-log_probabilities(hidden[:, :-1], model.decoder.output, segment[:, 1:], is_real))
    assert_close(torch.cat(found, 1).detach(), torch.tensor(EXPECTED[name]), atol=1e-4, rtol=0)
