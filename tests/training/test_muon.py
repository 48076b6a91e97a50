"""Muon: what it does to singular values, what PyTorch's own does, and which parameters it moves."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from transduce.models.bert import BertConfig
from transduce.models.families import build_model
from transduce.models.heads import ClassHeadConfig
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig
from transduce.models.xlnet import XLNetConfig
from transduce.nn.positions import LearnedPositions
from transduce.training.muon import Muon, orthogonalize
from transduce.training.optimizer import OptimizerConfig, build_optimizers, inner_matrices


@pytest.mark.parametrize("shape", [(32, 32), (64, 24), (24, 64)])
def test_orthogonal_matrices_keep_their_directions_and_lose_their_lengths(shape: tuple[int, int]) -> None:
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(1))
    found = orthogonalize(matrices)
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    lengths = (left.mT @ found @ right.mT).diagonal(dim1=1, dim2=2)
    assert torch.allclose(left @ torch.diag_embed(lengths) @ right, found, atol=1e-4)
    large = values > 0.05 * values.amax(1, keepdim=True)
    assert lengths[large].min() > 0.6 and lengths[large].max() < 1.3


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this PyTorch has no Muon of its own")
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_it_moves_as_pytorchs_does(weight_decay: float) -> None:
    generator = torch.Generator().manual_seed(2)
    ours = [nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((8, 8), (24, 8), (8, 8), (8, 24))]
    theirs = [nn.Parameter(matrix.detach().clone()) for matrix in ours]
    one = Muon(ours, 0.02, weight_decay, torch.bfloat16)
    other = torch.optim.Muon(theirs, lr=0.02, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")
    before = [matrix.detach().clone() for matrix in ours]
    for _ in range(4):
        for mine, yours in zip(ours, theirs, strict=True):
            mine.grad = torch.randn(mine.shape, generator=generator)
            yours.grad = mine.grad.clone()
        one.step()
        other.step()
    for start, mine, yours in zip(before, ours, theirs, strict=True):
        assert (mine - yours).norm() < 0.02 * (mine - start).norm()  # bfloat16 rounds in another order


@pytest.mark.parametrize("tie", ["none", "target", "all"])
@pytest.mark.parametrize("settings", [TransformerConfig, RecurrentConfig])
def test_it_leaves_what_belongs_to_a_vocabulary_to_adam(
    settings: type[TransformerConfig] | type[RecurrentConfig], tie: str
) -> None:
    model = build_model(settings(dim=16, tie=tie, **sizes(settings)), 91, 91)  # type: ignore[arg-type]
    matrices = inner_matrices(model)
    assert matrices and all(91 not in matrix.shape for matrix in matrices)
    left = [p for p in model.parameters() if p.ndim == 2 and not any(p is matrix for matrix in matrices)]
    assert all(91 in parameter.shape or 1 in parameter.shape for parameter in left)  # a single vector is no matrix
    moved = [p for o in build_optimizers(OptimizerConfig(kind="muon"), model, torch.float32) for p in params(o)]
    assert sorted(map(id, moved)) == sorted(map(id, model.parameters()))


def test_it_leaves_heads_of_encoders_and_single_vectors_to_adam() -> None:
    encoder = BertConfig(layers=1, dim=16, heads=2, feed_forward_dim=24, max_positions=37)
    classifier: Any = build_model(encoder, 91, 91, ClassHeadConfig(labels=tuple("abc")))
    assert not any(parameter is classifier.head.output.weight for parameter in inner_matrices(classifier))
    xlnet: Any = build_model(XLNetConfig(layers=1, dim=16, heads=2, feed_forward_dim=24), 91, 91)
    query = xlnet.decoder.stack.query
    assert query.ndim == 2 and not any(parameter is query for parameter in inner_matrices(xlnet))


@pytest.mark.parametrize("kind", ["adam", "adamw", "muon"])
def test_biases_and_gains_do_not_decay(kind: str) -> None:
    model = build_model(TransformerConfig(dim=16, heads=2, feed_forward_dim=24), 91, 91)
    config = OptimizerConfig(kind=kind, weight_decay=0.5, learning_rate=0.1)  # type: ignore[arg-type]
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for optimizer in build_optimizers(config, model, torch.float32):
        optimizer.step()
    for name, parameter in model.named_parameters():
        moved = not torch.equal(parameter, before[name])
        assert moved == (parameter.ndim > 1), name


def test_it_leaves_learned_positions_to_adam() -> None:
    config = TransformerConfig(dim=16, heads=2, feed_forward_dim=24, positions="learned", max_positions=37)
    model = build_model(config, 91, 91)
    tables = [module.weight for module in model.modules() if isinstance(module, LearnedPositions)]
    adam, muon = build_optimizers(OptimizerConfig(kind="muon"), model, torch.float32)
    assert tables and all(any(table is parameter for parameter in params(adam)) for table in tables)
    assert all(37 not in matrix.shape for matrix in params(muon))


def sizes(settings: type[TransformerConfig] | type[RecurrentConfig]) -> dict[str, int]:
    return (
        {"heads": 2, "feed_forward_dim": 24} if settings is TransformerConfig else {"encoder_dim": 8, "decoder_dim": 16}
    )


def params(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
