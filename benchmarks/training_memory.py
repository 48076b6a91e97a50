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

from transduce.data.batch import Batch
from transduce.experiment import load_recipe
from transduce.objectives.objective import Loss
from transduce.objectives.translation import Translation
from transduce.training.precision import choose_precision
from updates import Updates, random_batch

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
    config, cpu = load_recipe("multi30k-words").config, torch.device("cpu")
    if form == "plain":
        updates = Updates(config, VOCABULARY, plain_loss, torch.float32, cpu)
    else:
        updates = Updates(config, VOCABULARY, Translation(0.1), choose_precision("auto", cpu), cpu)
    for seed in range(UPDATES):
        updates.make(random_batch(seed, VOCABULARY, SENTENCES, LENGTH))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


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
