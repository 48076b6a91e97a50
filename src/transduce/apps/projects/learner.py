"""Learns from confirmed segments: a low-rank adapter, a function of the model, the settings and the segments alone."""

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_

from transduce.apps.projects.general import General
from transduce.apps.projects.lessons import Check, Learned, LearningProgress, Lesson, loss_difference, mean_loss
from transduce.apps.projects.project_settings import (
    CHECK_AFTER,
    GENERAL_WEIGHT,
    HOLD_OUT,
    MOST_LOST,
    REPLAYED_GENERAL,
    SNAPSHOT_EVERY,
    LearningSettings,
)
from transduce.apps.projects.snapshots import KEPT, Confirmed, Snapshot, Snapshots, model_key, segment_keys
from transduce.bundle.model_bundle import ModelBundle, identity
from transduce.data.batch import Batch, make_batch
from transduce.data.parts import batches_by_length
from transduce.inference.translator import Translator
from transduce.models.adapters import AdaptersConfig, add_adapters
from transduce.models.scoring import score_tokens
from transduce.nn.low_rank import UP, LowRankLinear
from transduce.objectives.next_token import NextToken
from transduce.objectives.reading import read_target
from transduce.search.beam import Beam
from transduce.training.optimizer import OptimizerConfig, build_optimizers, set_rate
from transduce.training.schedules import Constant

FEWEST_CHECKS = 5
"""Held-out segments from which on they can undo updates: the loss on fewer changes by chance."""
SURE = 2.0
"""Standard errors of the paired losses of held-out segments that a loss must exceed to undo updates."""
SHRINKING = 0.8
"""Factor of an adapter that lost too much, again and again until it has not."""
MOST_SHRINKINGS = 10
"""Times that an adapter is made smaller in a check; the last makes it zero, which is the model without an adapter."""
MOST_STRICTNESS = 4
"""Times that the weight of general text can be doubled."""
INFINITE = 1e9
"""Loss of a pair that is not finite, in nats: it undoes the group."""
CLIP_NORM = 1.0
LABEL_SMOOTHING = 0.1
WARM_UP = 40
"""Updates in which the learning rate rises: Adam's first steps are as long as the rate, however small gradients are."""
TOKENS_AT_ONCE = 1024
"""Padded tokens of a batch whose loss is measured."""

Encoded = tuple[list[int], list[int]]
"""Token ids of a source, after its language token if there is one, and of a target."""


@dataclass
class _State:
    key: str
    progress: LearningProgress = field(default_factory=LearningProgress)
    kept: dict[str, Tensor] = field(default_factory=dict)
    """Tensors at the last check; none if no update came after it."""


class Learner:
    """Trains the adapter of one project, segment by segment, with replay of earlier ones and of general pairs.

    The same segments in the same order give the same adapter, bit for bit, on one kind of processor and version of
    PyTorch: also if the learner was stopped or killed, or learned segments that were taken back. It computes on the
    CPU in float32 by one thread. Not for several threads at once.
    """

    def __init__(
        self,
        bundle: ModelBundle,
        settings: LearningSettings,
        general: General | None = None,
        folder: Path | None = None,
    ) -> None:
        """Begins with no segment.

        Args:
            bundle: a model loaded for this learner alone, which is changed; in the project's direction.
            settings: the table `[learning]`.
            general: pairs that the model should not forget (default: the sentences of its probe).
            folder: where snapshots are kept; None keeps none.

        Raises InputError for a model that writes no texts, ConfigError for a rank that it is too narrow for.
        """
        assert bundle.folder is not None, "adapters are for a model that was loaded from a folder"
        self.settings = settings
        self.general = general or General.of_probe(bundle)
        self.adapters = AdaptersConfig(rank=settings.rank, alpha=settings.alpha)
        self._model_key = model_key(identity(bundle.folder), settings)
        content = [self._model_key, bundle.config.source, bundle.config.target, self.general.content]
        self._first_key = hashlib.sha256(msgspec.json.encode(content)).hexdigest()
        self._snapshots = None if folder is None else Snapshots(folder, SNAPSHOT_EVERY)
        self._bundle = bundle
        with torch.random.fork_rng([]):
            torch.manual_seed(settings.seed)
            add_adapters(bundle.writer, self.adapters)
        self._model = bundle.writer.eval()
        named = self._model.named_parameters()
        self._learned = {name: parameter for name, parameter in named if parameter.requires_grad}
        config = OptimizerConfig(
            kind="adamw",
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            epsilon=1e-8,
            betas=(0.9, 0.98),
            schedule=Constant(),
        )
        (self._optimizer,) = build_optimizers(config, self._model, torch.float32)
        self._objective = NextToken(LABEL_SMOOTHING)
        self._first = self._tensors()
        self._translator = Translator(bundle)
        self._state = _State(self._first_key)
        self._encoded: dict[tuple[str, str], Encoded] = {}
        self._is_new = True
        pairs = [self._encode(pair.source, pair.target) for pair in self.general.pairs]
        pairs = [pair for pair in pairs if self._fits(pair)]
        every = max(2, len(pairs) // settings.checks) if self.general.is_replayed else 1
        self._general_checks = pairs[::every][: settings.checks]
        self._general_replay = [pair for number, pair in enumerate(pairs) if number % every]
        self._general_replay = self._general_replay if self.general.is_replayed else []
        with _one_thread(), self._without_adapter():
            self._general_loss = mean_loss(self._losses(self._general_checks))

    def learn(self, segments: Sequence[Confirmed], most: int | None = None) -> Learned:
        """Learns from segments, all that were confirmed and not taken back, in their order; those that it knows already
        cost nothing. With `most`, it stops after so many new ones."""
        keys = segment_keys(self._first_key, segments)
        with _one_thread():
            if self._is_new or keys[min(self._position, len(segments))] != self._state.key:
                self._return_to(keys)
                self._is_new = False
            end = len(segments) if most is None else min(len(segments), self._position + most)
            while self._position < end:
                self._lesson(segments, keys)
                if self._position < end and self._position % SNAPSHOT_EVERY == 0:
                    self._save(keys)
            self._save(keys)
        progress = self._state.progress
        adapter = {name: tensor.detach().clone() for name, tensor in self._learned.items()}
        return Learned(self._state.key, adapter, list(progress.lessons), list(progress.checks))

    def losses(self, segments: Sequence[Confirmed]) -> list[tuple[float, int]]:
        """Returns the loss of each segment's target in nats, and its tokens, with what was learned so far."""
        return self._losses([self._encode(segment.source, segment.target) for segment in segments])

    @property
    def _position(self) -> int:
        return len(self._state.progress.lessons)

    def _return_to(self, keys: Sequence[str]) -> None:
        """Returns to the last known state that is one of those with these keys."""
        snapshot = None if self._snapshots is None else self._snapshots.newest(keys)
        if snapshot is None:
            self._state = _State(self._first_key)
            self._load(self._first)
            return
        kept = {name.removeprefix(KEPT): tensor for name, tensor in snapshot.tensors.items() if name.startswith(KEPT)}
        self._state = _State(snapshot.key, msgspec.json.decode(snapshot.facts, type=LearningProgress), kept)
        self._load({name: tensor for name, tensor in snapshot.tensors.items() if not name.startswith(KEPT)})

    def _save(self, keys: Sequence[str]) -> None:
        """Writes a snapshot unless there is one of this state."""
        state = self._state
        if self._snapshots is None or not self._position or self._snapshots.path(self._position, state.key).exists():
            return
        tensors = self._tensors() | {KEPT + name: tensor for name, tensor in state.kept.items()}
        facts = msgspec.json.encode(state.progress).decode()
        own_keys = state.key, self._first_key, self._model_key
        self._snapshots.write(Snapshot(self._position, *own_keys, self.adapters.scale, facts, tensors), keys)

    def _lesson(self, segments: Sequence[Confirmed], keys: Sequence[str]) -> None:
        began, index, state = time.monotonic(), self._position, self._state
        segment, progress = segments[index], state.progress
        pair = self._encode(segment.source, segment.target)
        if not self._fits(pair):
            lesson = Lesson("left out")
        else:
            lesson = Lesson("held out" if (index + 1) % HOLD_OUT == 0 else "learned")
            (lesson.adapted,), lesson.before = self._translate([segment.source]), mean_loss(self._losses([pair]))
            lesson.after = lesson.before
        progress.lessons.append(lesson)
        if lesson.kind == "held out":
            progress.new.append(index)
        if lesson.kind == "learned":
            if not state.kept:
                state.kept = self._tensors()
            self._train(index, segments)
            lesson.after = mean_loss(self._losses([pair]))
            progress.group.append(index)
            if len(progress.group) >= CHECK_AFTER:
                self._check(segments, keys[index + 1])
        state.key = keys[index + 1]
        lesson.seconds = time.monotonic() - began

    def _train(self, index: int, segments: Sequence[Confirmed]) -> None:
        """Makes the updates of a segment."""
        settings, lessons = self.settings, self._state.progress.lessons
        new = self._encode(segments[index].source, segments[index].target)
        known = [i for i, lesson in enumerate(lessons[:index]) if lesson.kind == "learned" and not lesson.is_undone]
        for step in range(settings.steps):
            generator = np.random.default_rng([settings.seed, index, step])
            drawn = [known[i] for i in _draw(generator, len(known), settings.replayed)]
            rows = [new, *(self._encode(segments[i].source, segments[i].target) for i in drawn)]
            loss = self._objective(self._model, self._batch(rows), None)
            total = loss.total / loss.tokens
            general = _draw(generator, len(self._general_replay), REPLAYED_GENERAL)
            if general:
                weight = GENERAL_WEIGHT * 2**self._state.progress.strictness
                total = total + weight * self._divergence([self._general_replay[i] for i in general])
            total.backward()
            clip_grad_norm_(self._learned.values(), CLIP_NORM)
            update = index * settings.steps + step + 1
            set_rate(self._optimizer, settings.learning_rate * min(1.0, update / WARM_UP))
            self._optimizer.step()
            self._optimizer.zero_grad()

    def _divergence(self, pairs: Sequence[Encoded]) -> Tensor:
        """Returns how far the model's predictions are from those without an adapter: KL(p || q), in nats per token, as
        in learning without forgetting (Li and Hoiem 2017)."""
        batch = self._batch(pairs)
        with torch.no_grad(), self._without_adapter():
            before = self._log_probabilities(batch)  # log p  [tokens, vocabulary]
        after = self._log_probabilities(batch)  # log q
        return functional.kl_div(after, before, reduction="sum", log_target=True) / len(before)

    def _log_probabilities(self, batch: Batch) -> Tensor:
        """Returns log-probabilities of all tokens of the vocabulary at each real target token, [tokens, vocabulary]."""
        decoder = self._model.decoder
        state = self._model.start(self._model.encode(batch.source, batch.source_is_real))
        hidden = read_target(decoder, state, batch.target_in).hidden  # [rows, time, dim]
        return decoder.output(hidden[batch.target_is_real]).log_softmax(-1)

    def _check(self, segments: Sequence[Confirmed], key: str) -> None:
        """Undoes the group of updates since the last check if the model lost more than a bound by it, and makes the
        adapter smaller if all of them together did."""
        state, progress = self._state, self._state.progress
        after, general = self._losses_of(progress.held_out, segments), self._forgotten()
        undone, shrunk = self._reason(after, general), 1.0
        if undone:
            self._load(state.kept)
            for index in progress.group:
                progress.lessons[index].is_undone = True
        else:
            progress.accepted, progress.general = after, general
            shrunk = self._shrink(segments)
        self._adjust_strictness(general)
        with self._without_adapter():
            progress.static += self._losses_of(progress.new, segments)
            seen = [*progress.group, *progress.new]
            for index, text in zip(seen, self._translate([segments[i].source for i in seen]), strict=True):
                progress.lessons[index].static = text
        progress.accepted += self._losses_of(progress.new, segments)
        progress.held_out += progress.new
        for of_checks in (progress.held_out, progress.static, progress.accepted):
            del of_checks[: -self.settings.checks]
        position, first = len(progress.lessons), progress.group[0]
        losses = mean_loss(progress.static), mean_loss(progress.accepted)
        general = general if undone else progress.general
        progress.checks.append(Check(position, first, *losses, general, undone, shrunk, key))
        progress.group, progress.new, state.kept = [], [], {}

    def _reason(self, after: Sequence[tuple[float, int]], general: float) -> str:
        """Returns the reason for undoing a group with these losses; "" to keep it."""
        most, progress = MOST_LOST, self._state.progress
        lost, error = loss_difference(progress.accepted, after)
        if len(after) >= FEWEST_CHECKS and lost > max(most, SURE * error):
            return f"{lost:.3f} nats per token lost on held-out segments, more than {most:g}"
        if (lost := general - progress.general) > most:
            return f"{lost:.3f} nats per token lost on general text, more than {most:g}"
        return ""

    def _shrink(self, segments: Sequence[Confirmed]) -> float:
        """Makes the adapter smaller until it has not forgotten more than allowed, and is no worse on the held-out
        segments than none; returns the factor."""
        progress, shrunk = self._state.progress, 1.0
        for number in range(MOST_SHRINKINGS):
            is_worse = len(progress.accepted) >= FEWEST_CHECKS and mean_loss(progress.accepted) > mean_loss(
                progress.static
            )
            if progress.general <= self.settings.most_forgotten and not is_worse:
                break
            factor = SHRINKING if number < MOST_SHRINKINGS - 1 else 0.0
            shrunk *= factor
            with torch.no_grad():
                for name, parameter in self._learned.items():
                    if name.endswith(f".{UP}"):
                        parameter.mul_(factor)
            progress.accepted, progress.general = self._losses_of(progress.held_out, segments), self._forgotten()
        return shrunk

    def _adjust_strictness(self, general: float) -> None:
        """Doubles the weight of general text where half of what may be forgotten is lost; halves it below a quarter."""
        progress, most = self._state.progress, self.settings.most_forgotten
        change = (general > most / 2) - (general < most / 4)
        progress.strictness = min(max(0, progress.strictness + change), MOST_STRICTNESS)

    def _forgotten(self) -> float:
        """Returns the loss on general pairs, more than without an adapter, in nats per token."""
        return mean_loss(self._losses(self._general_checks)) - self._general_loss

    def _losses_of(self, indices: Sequence[int], segments: Sequence[Confirmed]) -> list[tuple[float, int]]:
        return self.losses([segments[i] for i in indices])

    @torch.no_grad()
    def _losses(self, pairs: Sequence[Encoded]) -> list[tuple[float, int]]:
        """Returns the loss of each pair in nats, and its target tokens."""
        losses: dict[int, tuple[float, int]] = {}
        lengths = [max(len(source), len(target)) + 1 for source, target in pairs]
        for chosen in batches_by_length(lengths, TOKENS_AT_ONCE) if pairs else []:
            batch = self._batch([pairs[i] for i in chosen])
            read, predicted = (batch.source, batch.source_is_real), (batch.target_out, batch.target_is_real)
            scores = score_tokens(self._model, *read, batch.target_in, *predicted).sum(1)
            for i, score in zip(chosen, scores.tolist(), strict=True):
                losses[i] = (-score if math.isfinite(score) else INFINITE, len(pairs[i][1]) + 1)
        return [losses[i] for i in range(len(pairs))]

    def _batch(self, pairs: Sequence[Encoded]) -> Batch:
        sources, targets = zip(*pairs, strict=True)
        return make_batch(sources, targets, self._bundle.special)

    def _translate(self, sources: Sequence[str]) -> list[str]:
        return [translation.text for translation in self._translator.translate(sources, Beam(size=1))]

    @contextmanager
    def _without_adapter(self) -> Iterator[None]:
        """Makes the model what it was before it had an adapter."""
        layers = [module for module in self._model.modules() if isinstance(module, LowRankLinear)]
        for layer in layers:
            layer.scale = 0.0
        try:
            yield
        finally:
            for layer in layers:
                layer.scale = self.adapters.scale

    def _encode(self, source: str, target: str) -> Encoded:
        pair = source.strip(), target.strip()
        if pair not in self._encoded:
            (ids,) = self._bundle.read([pair[0]])
            self._encoded[pair] = ids, self._bundle.tokenizers.target.encode(pair[1])
        return self._encoded[pair]

    def _fits(self, pair: Encoded) -> bool:
        """Returns True if a pair can be learned: neither side is empty or too long."""
        limits = (self._model.source_limit, self._model.target_limit)
        most = [min(limit or self.settings.longest + 1, self.settings.longest + 1) for limit in limits]
        return all(0 < len(side) < limit for side, limit in zip(pair, most, strict=True))

    def _tensors(self) -> dict[str, Tensor]:
        """Returns a copy of all that updates change."""
        tensors = {name: parameter.detach().clone() for name, parameter in self._learned.items()}
        for name, parameter in self._learned.items():
            for kind, moment in self._optimizer.state.get(parameter, {}).items():
                tensors[f"{name}.{kind}"] = moment.detach().clone()
        return tensors

    @torch.no_grad()
    def _load(self, tensors: dict[str, Tensor]) -> None:
        """Returns to what `_tensors` gave."""
        self._optimizer.state.clear()
        for name, parameter in self._learned.items():
            parameter.copy_(tensors[name])
            state: dict[str, Any] = {}
            for kind in ("step", "exp_avg", "exp_avg_sq"):
                if f"{name}.{kind}" in tensors:
                    state[kind] = tensors[f"{name}.{kind}"].clone()
            if state:
                self._optimizer.state[parameter] = state


def _draw(generator: np.random.Generator, among: int, most: int) -> list[int]:
    drawn: list[int] = generator.choice(among, min(among, most), replace=False).tolist() if among else []
    return drawn


@contextmanager
def _one_thread() -> Iterator[None]:
    """Computes by one thread: sums by several would depend on their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
