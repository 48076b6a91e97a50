"""Peak memory of training with a large vocabulary, ours beside the plain form: `python benchmarks/training_memory.py`.

The model has the sizes of the recipe `multi30k-words` but 32,000 words a side; a batch has 4,096 target tokens. The
plain form is the same model in float32 with PyTorch's cross-entropy over the logits of the whole batch.
"""

import resource
import subprocess
import sys
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from transduce.data.batch import Batch, SpecialIds, make_batch
from transduce.experiment import load_recipe
from transduce.models.families import build_model
from transduce.objectives.objective import Loss
from transduce.objectives.translation import Translation
from transduce.training.optimizer import build_optimizers, normalize_gradients
from transduce.training.precision import WorkingCopy, choose_precision

VOCABULARY = 32_000
SENTENCES, LENGTH = 256, 15  # 4,096 tokens with the end of each sentence
UPDATES = 3
FORMS = ("plain", "ours")


def main() -> None:
    if len(sys.argv) > 1:
        train(sys.argv[1])
        return
    peaks = {form: peak(form) for form in FORMS}
    for form, mebibytes in peaks.items():
        print(f"{form}: peak {mebibytes:,.0f} MiB")
    print(f"ours is {peaks['ours'] / peaks['plain']:.2f} of the plain form")


def peak(form: str) -> float:
    """Most resident memory of a process that trains in this form, in MiB, the interpreter and torch included."""
    done = subprocess.run([sys.executable, __file__, form], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


def train(form: str) -> None:
    """Make a few updates on random tokens, and print the most memory that was resident, in KiB."""
    config = load_recipe("multi30k-words").config
    masters = build_model(config.model, VOCABULARY, VOCABULARY)
    is_plain = form == "plain"
    dtype = torch.float32 if is_plain else choose_precision("auto", torch.device("cpu"))
    working = WorkingCopy(masters, dtype)
    optimizers = build_optimizers(config.optimizer, masters, dtype)
    objective = plain_loss if is_plain else Translation(0.1)
    for seed in range(UPDATES):
        loss = objective(working.model.train(), random_batch(seed), None)
        loss.total.backward()
        working.collect_gradients()
        normalize_gradients(masters.parameters(), loss.tokens, 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        working.refresh()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def random_batch(seed: int) -> Batch:
    """Sentences of equal length."""
    ids = torch.randint(3, VOCABULARY, (2, SENTENCES, LENGTH), generator=torch.Generator().manual_seed(seed))
    source, target = ids.tolist()
    return make_batch(source, target, SpecialIds(0, 2, 0, 1, 2))


def plain_loss(model: nn.Module, batch: Batch, carried: dict[str, Tensor] | None) -> Loss:
    """Label-smoothed cross-entropy as PyTorch has it."""
    translator: Any = model
    logits, _ = translator.decoder(
        batch.target_in, translator.start(translator.encode(batch.source, batch.source_is_real))
    )
    total = functional.cross_entropy(
        logits.flatten(0, 1), batch.target_out.flatten(), label_smoothing=0.1, reduction="sum"
    )
    return Loss(total, total.detach(), batch.target_is_real.sum())


if __name__ == "__main__":
    main()
