"""How fast a language model learns beside a plain PyTorch loop: `python benchmarks/language_model_speed.py`

Updates of the recipe shakespeare, and of the same model and batches written plainly: one module a layer, PyTorch's own
attention, cross-entropy and AdamW. Both at the precision that `transduce train` chooses, in turns; target tokens a
second by medians, and the ratio of each turn's two. With `--recipe shakespeare-xl`, a Transformer-XL with its memory
beside a plain Transformer of the same sizes, which sees no more than each segment.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from transduce.data.batch import Batch
from transduce.data.streams import Streams
from transduce.data.text_store import TextStore
from transduce.data.windows import Windows
from transduce.experiment import load_recipe
from transduce.models.causal import CausalTransformerConfig
from transduce.models.families import build_model
from transduce.models.transformer_xl import TransformerXLConfig
from transduce.nn.positions import turns
from transduce.objectives.next_segment import NextSegment
from transduce.objectives.next_token import NextToken
from transduce.objectives.objective import Objective
from transduce.tasks.language.language_settings import LanguageConfig
from transduce.training.optimizer import build_optimizers, normalize_gradients
from transduce.training.precision import WorkingCopy, choose_precision

VOCABULARY = 324  # of the recipe's characters, with bytes and special tokens
WARM_UP = 2  # turns that are not counted


class PlainBlock(nn.Module):
    """Attention and a feed-forward network, each normalised before and added after."""

    def __init__(self, dim: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.first_norm, self.second_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.joint, self.output = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.inner, self.outer = nn.Linear(dim, inner), nn.Linear(inner, dim)

    def forward(self, hidden: Tensor, rotation: Tensor) -> Tensor:
        rows, time_, dim = hidden.shape
        heads = self.joint(self.first_norm(hidden)).view(rows, time_, 3, self.heads, dim // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        query, key = (turned(part, rotation) for part in (query, key))
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.output(attended.transpose(1, 2).reshape(rows, time_, dim))
        return hidden + self.outer(functional.gelu(self.inner(self.second_norm(hidden))))


class PlainModel(nn.Module):
    """The recipe's model, written plainly."""

    rotation: Tensor

    def __init__(self, layers: int, dim: int, heads: int, inner: int, window: int) -> None:
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, dim)
        self.blocks = nn.ModuleList([PlainBlock(dim, heads, inner) for _ in range(layers)])
        self.norm, self.output = nn.LayerNorm(dim), nn.Linear(dim, VOCABULARY, bias=False)
        self.output.weight = self.table.weight
        self.register_buffer("rotation", torch.view_as_complex(turns(window, dim // heads).contiguous()))

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.table(tokens)
        for block in self.blocks:
            hidden = block(hidden, self.rotation[: tokens.shape[1]])
        return self.output(self.norm(hidden))


def turned(part: Tensor, rotation: Tensor) -> Tensor:
    pairs = torch.view_as_complex(part.float().reshape(*part.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(part.dtype)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--recipe", choices=["shakespeare", "shakespeare-xl"], default="shakespeare")
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE", help="other settings than the recipe's")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--updates", type=int, default=40, help="of a turn")
    options = parser.parse_args()
    config = load_recipe(options.recipe, options.changes).config
    text = torch.randint(260, VOCABULARY, (200_000,), generator=torch.Generator().manual_seed(1))
    store = TextStore(text.numpy(), len(text), len(text))
    remembers = isinstance(config.model, TransformerXLConfig)
    read = Streams(store, config.batching) if remembers else Windows(store, config.batching, seed=1)
    first = read.planned().epoch(0)
    batches = [first.make(numbers) for numbers in first.batches[: options.updates]]
    dtype = choose_precision(config.training.precision, torch.device("cpu"))
    jobs = {"Transduce": ours(config, dtype), "a plain loop": plain(config, dtype)}
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(WARM_UP + options.turns):
        for name, update in jobs.items():
            started = time.perf_counter()
            for batch in batches:
                update(batch)
            seconds[name].append(time.perf_counter() - started)
    tokens = sum(batch.target_out.numel() for batch in batches)
    for name, found in seconds.items():
        print(f"{name}: {tokens / statistics.median(found[WARM_UP:]):,.0f} target tokens a second, {dtype}")
    ratios = [b / a for a, b in zip(*(found[WARM_UP:] for found in seconds.values()), strict=True)]
    print(f"Transduce is {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})")


def ours(config: LanguageConfig, dtype: torch.dtype) -> Callable[[Batch], None]:
    """What `transduce train` does in an update."""
    masters = build_model(config.model, VOCABULARY, VOCABULARY)
    working = WorkingCopy(masters, dtype)
    optimizers = build_optimizers(config.optimizer, masters, dtype)
    remembers = isinstance(config.model, TransformerXLConfig)
    objective: Objective = (NextSegment if remembers else NextToken)(config.training.label_smoothing)
    carried: dict[str, Tensor] | None = None

    def update(batch: Batch) -> None:
        nonlocal carried
        loss = objective(working.model.train(), batch, carried)
        carried = loss.carried
        loss.total.backward()
        working.collect_gradients()
        normalize_gradients(masters.parameters(), loss.tokens, config.training.clip_norm)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        working.refresh()

    return update


def plain(config: LanguageConfig, dtype: torch.dtype) -> Callable[[Batch], None]:
    """The same written plainly, with autocast where the precision is bfloat16."""
    sizes = config.model
    assert isinstance(sizes, CausalTransformerConfig | TransformerXLConfig)
    window = config.batching.window
    model = PlainModel(sizes.layers, sizes.dim, sizes.heads, sizes.feed_forward_dim, window)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    autocast = partial(torch.autocast, "cpu", torch.bfloat16, enabled=dtype == torch.bfloat16)

    def update(batch: Batch) -> None:
        with autocast():
            logits = model(batch.target_in)
            loss = functional.cross_entropy(logits.flatten(0, 1).float(), batch.target_out.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return update


if __name__ == "__main__":
    main()
