import torch
from torch import nn
from torch.testing import assert_close

from transduce.nn.quantization import Int8Linear
from transduce.nn.replacing import replace_linear_layers


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
