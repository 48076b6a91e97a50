"""An adaptive softmax is a distribution, and its loss is that of its log-probabilities."""

import torch
from torch.testing import assert_close

from transduce.nn.adaptive import AdaptiveEmbedding, AdaptiveOutput, cluster_bounds
from transduce.nn.initialization import Initialization
from transduce.nn.losses import cross_entropy, log_probabilities

VOCABULARY, DIM = 17, 8
SCALED = Initialization("scaled", 1)


def parts(factor: int) -> tuple[AdaptiveEmbedding, AdaptiveOutput]:
    torch.manual_seed(2)
    embedding = AdaptiveEmbedding(cluster_bounds(VOCABULARY, [5, 9]), DIM, factor, SCALED)
    output = AdaptiveOutput(embedding, SCALED)
    for bias in output.biases:
        torch.nn.init.normal_(bias)
    return embedding, output


def test_probabilities_of_all_tokens_add_up_to_one() -> None:
    _, output = parts(2)
    logits = output(torch.randn(3, 4, DIM))
    assert logits.shape == (3, 4, VOCABULARY)
    assert_close(logits.exp().sum(-1), torch.ones(3, 4))


def test_the_loss_and_its_gradients_are_those_of_the_whole_distribution() -> None:
    embedding, output = parts(2)
    hidden, target = torch.randn(3, 4, DIM, requires_grad=True), torch.randint(VOCABULARY, (3, 4))
    is_real = torch.tensor([[True] * 4, [True, True, False, True], [False] * 4])
    expected = -(output(hidden).gather(-1, target[..., None])[..., 0] * is_real)
    expected.sum().backward()
    slow = [hidden.grad, *(parameter.grad for parameter in output.parameters())]
    hidden.grad = None
    output.zero_grad()
    loss = cross_entropy(hidden, output, target, is_real.flatten().nonzero().squeeze(1))
    assert_close(loss.plain, expected.sum())
    assert_close(log_probabilities(hidden, output, target, is_real), -expected)
    loss.smoothed.backward()
    for fast, slower in zip([hidden.grad, *(parameter.grad for parameter in output.parameters())], slow, strict=True):
        assert_close(fast, torch.zeros_like(fast) if slower is None else slower)
    assert {id(table.weight) for table in embedding.tables} <= {id(one) for one in output.parameters()}


def test_rare_tokens_have_narrow_vectors_of_their_own() -> None:
    embedding, _ = parts(2)
    assert [table.weight.shape for table in embedding.tables] == [(5, 8), (4, 4), (8, 2)]
    tokens = torch.tensor([[0, 4, 5], [8, 9, 16]])
    vectors = embedding(tokens)
    assert_close(vectors[1, 0], embedding.projections[1].weight @ embedding.tables[1].weight[3])
    assert_close(vectors[1, 2], embedding.projections[2].weight @ embedding.tables[2].weight[7])
