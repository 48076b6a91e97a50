"""Speed of updates beside transformers' Marian, and their share of the speed of a large matrix product."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.attention import varlen  # noqa: F401  # so that FlopCounterMode knows its operators
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from gpu_parts.measuring import LONGEST, Figures, Measurement, Scale, configure, median_seconds
from transduce.base.config import to_tree
from transduce.data.batch import Batch, make_batch
from transduce.data.parts import buckets
from transduce.data.planned import Epoch, PlannedData, Rows
from transduce.data.sentence_pairs import BatchingConfig
from transduce.models.families import build_model
from transduce.objectives.next_token import NextToken
from transduce.training.checkpoint import Checkpoints
from transduce.training.distributed import Processes
from transduce.training.precision import choose_precision
from transduce.training.trainer import Trainer
from transduce.training.validation import Validation
from updates import SPECIAL

Update = Callable[[Rows], object]

IGNORED = -100  # the label of padding


def train(shape: str, scale: Scale, device: torch.device) -> Iterator[Measurement]:
    """The large product, Transduce and Marian; what is compiled comes last, since that takes longest."""
    training = Training(shape, scale, device)
    yield "a large matrix product", training.measure_peak
    yield "Transduce", training.measure_transduce
    yield "transformers' Marian", lambda: training.measure(training.marian())
    yield "Transduce, compiled", lambda: training.measure(training.trainer(compile=True).update)


class Training:
    """Updates of a model by several systems, on the same batches."""

    def __init__(self, shape: str, scale: Scale, device: torch.device) -> None:
        self.changes = scale.shapes[shape]
        self.config, self.sizes = configure(self.changes)
        self.scale, self.device, self.dtype = scale, device, choose_precision("auto", device)
        draw = np.random.default_rng(1)
        source = np.exp(draw.normal(3.1, 0.6, scale.pairs))  # as subwords of news, 27 on average
        target = source * draw.normal(1.05, 0.15, scale.pairs)
        lengths = [np.clip(side, 1, LONGEST).astype(int) for side in (source, target)]
        self.pairs = [[draw.integers(3, scale.vocabulary, length) for length in side] for side in lengths]
        fits = BatchingConfig(target_tokens=scale.target_tokens).fits
        batches = buckets(lengths[0] + 1, lengths[1] + 1, fits)
        self.batches = [batches[number] for number in draw.permutation(len(batches))]
        self.tokens = int((lengths[1] + 1).sum())
        self.peak = self.operations = 0.0

    def measure_peak(self) -> Figures:
        one, other = torch.randn(2, self.scale.square, self.scale.square, device=self.device).to(self.dtype)
        self.peak = 2 * self.scale.square**3 / median_seconds(lambda: one @ other, self.device)
        return {"TFLOP/s": self.peak / 1e12}

    def measure_transduce(self) -> Figures:
        update = self.trainer(compile=False).update
        with FlopCounterMode(display=False) as counter:
            self.update_all(update)
        self.operations = counter.get_total_flops()
        return self.measure(update)

    def measure(self, update: Update) -> Figures:
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
        seconds = median_seconds(lambda: self.update_all(update), self.device)
        figures = {"target tokens a second": self.tokens / seconds, "ms an update": 1000 * seconds / len(self.batches)}
        if self.peak and self.operations:
            speed = self.operations / seconds
            figures |= {"TFLOP/s": speed / 1e12, "share of the peak, %": 100 * speed / self.peak}
        if self.device.type == "cuda":
            figures["peak memory, GiB"] = torch.cuda.max_memory_allocated(self.device) / 2**30
        return figures

    def update_all(self, update: Update) -> None:
        for rows in self.batches:
            update(rows)

    def make(self, rows: Rows) -> Batch:
        source, target = ([side[row] for row in rows] for side in self.pairs)
        return make_batch(source, target, SPECIAL)

    def trainer(self, compile: bool) -> Trainer:
        """The trainer of `transduce train`, without validation and checkpoints."""
        config, sizes = configure([*self.changes, f"training.compile={str(compile).lower()}"])
        epoch = Epoch(self.batches, len, self.make, lambda rows: ("a batch", ""))
        return Trainer(
            build_model(sizes, self.scale.vocabulary, self.scale.vocabulary).to(self.device),
            NextToken(config.training.label_smoothing),
            PlannedData(lambda number: epoch),
            lambda model, processes: Validation({}, 0.0),
            Checkpoints(Path(), config.checkpoint, lambda folder, model: None),
            [],
            config.training,
            config.optimizer,
            config.validation,
            Processes(),
        )

    def marian(self) -> Update:
        """Marian in the loop that a user would write; it normalises after sublayers, which costs the same."""
        import transformers  # which may be missing

        from peers.marian_config import marian_config

        vocabulary = self.scale.vocabulary
        config = marian_config({**to_tree(self.sizes), "norm": "post"}, vocabulary, vocabulary)
        config.attention_dropout = self.sizes.attention_dropout or 0.0
        model: Any = transformers.MarianMTModel(config)
        model.to(self.device).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, fused=True)
        autocast = torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype == torch.bfloat16)

        def update(rows: Rows) -> None:
            batch = self.make(rows).to(self.device)
            labels = batch.target_out.masked_fill(~batch.target_is_real, IGNORED)
            with autocast:
                logits = model(
                    input_ids=batch.source,
                    attention_mask=batch.source_is_real.long(),
                    decoder_input_ids=batch.target_in,
                ).logits
                smoothing = self.config.training.label_smoothing
                loss = cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        return update
