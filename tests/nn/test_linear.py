import torch
from torch import nn
from torch.testing import assert_close

from transduce.nn.adaptive import AdaptiveEmbedding, AdaptiveOutput
from transduce.nn.initialization import Initialization
from transduce.nn.linear import replace_linear_layers
from transduce.nn.quantization import Int8Linear


@torch.no_grad()
def test_modules_that_use_their_matrices_keep_them() -> None:
    start = Initialization("xavier", 1)
    embedding = AdaptiveEmbedding([(0, 5), (5, 11)], 8, 2, start)
    output, tokens = AdaptiveOutput(embedding, start), torch.arange(11)[None]
    before = output(embedding(tokens))
    replace_linear_layers(model := nn.ModuleList([embedding, output, nn.Linear(8, 8)]), Int8Linear)
    assert_close(output(embedding(tokens)), before, rtol=0, atol=0)
    assert isinstance(model[2], Int8Linear)


@torch.no_grad()
def test_all_linear_layers_of_a_model_change_and_tied_embeddings_do_not() -> None:
    embedding, output = nn.Embedding(11, 8), nn.Linear(8, 11, bias=False)
    output.weight = embedding.weight
    model = nn.Sequential(embedding, nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)), output)
    before = embedding.weight.clone()
    replace_linear_layers(model, Int8Linear)
    assert sum(isinstance(module, Int8Linear) for module in model.modules()) == 2
    assert not any(isinstance(module, nn.Linear) for module in model.modules())
    assert_close(embedding.weight, before, rtol=0, atol=0)
