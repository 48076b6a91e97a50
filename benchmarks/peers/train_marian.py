"""Times updates of Hugging Face's Marian in a plain loop. Runs in its own environment: see measurements.py."""

import json
import random
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import torch
import transformers
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pad_sequence

from peers.marian_config import marian_config
from peers.stopwatch import Finished, Stopwatch

PAD, BOS, EOS = 0, 2, 3
IGNORED = -100  # where Marian's loss sees padding


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    sides = [read(Path(job["data"]), language) for language in (job["source"], job["target"])]
    model = transformers.MarianMTModel(marian_config(job["model"], len(sides[0][1]), len(sides[1][1]))).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    stopwatch = Stopwatch(job["warm_up"], job["updates"])
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=job["precision"] == "bfloat16")
    try:
        for source, target in batches(sides[0][0], sides[1][0], job["batch"]):
            labels = target[:, 1:].masked_fill(target[:, 1:] == PAD, IGNORED)
            with autocast:
                loss = model(
                    input_ids=source, attention_mask=source != PAD, decoder_input_ids=target[:, :-1], labels=labels
                ).loss
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            stopwatch.update(int((labels != IGNORED).sum()))
    except Finished:
        stopwatch.report(version=transformers.__version__, torch=torch.__version__, precision=job["precision"])


def read(data: Path, language: str) -> tuple[list[Tensor], list[str]]:
    """The training sentences of a language as ids with an end token, and its vocabulary."""
    vocabulary = (data / f"vocab.{language}").read_text(encoding="utf-8").split("\n")[:-1]
    ids = {token: number for number, token in enumerate(vocabulary)}
    lines = (data / f"train.{language}").read_text(encoding="utf-8").split("\n")[:-1]
    return [torch.tensor([*(ids[token] for token in line.split(" ")), EOS]) for line in lines], vocabulary


def batches(source: list[Tensor], target: list[Tensor], size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Padded batches of pairs drawn at random, epoch after epoch; targets begin with BOS."""
    beginning = torch.tensor([BOS])
    for seed in count():
        order = random.Random(seed).sample(range(len(source)), len(source))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            yield (
                pad_sequence([source[i] for i in chosen], batch_first=True, padding_value=PAD),
                pad_sequence([torch.cat([beginning, target[i]]) for i in chosen], batch_first=True, padding_value=PAD),
            )


if __name__ == "__main__":
    main()
