"""A family written from models/interface.py alone trains, is validated, scored, searched, saved and loaded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import transduce
from transduce.bundle.model_bundle import ModelBundle
from transduce.models import families
from transduce.models.interface import Decoder, EncoderDecoder, Memory
from transduce.nn.places import Place, Places


@dataclass(frozen=True)
class MeanState:
    """Vectors of each row, [rows, dim]: the mean of its source, and the sum of what was read."""

    source: Tensor
    total: Tensor
    rows_per_sentence: int = 1

    def expand(self, rows_per_sentence: int) -> "MeanState":
        repeated = (x.repeat_interleave(rows_per_sentence, 0) for x in (self.source, self.total))
        return MeanState(*repeated, rows_per_sentence)

    def reorder(self, rows: Tensor) -> "MeanState":
        return MeanState(self.source[rows], self.total[rows], self.rows_per_sentence)

    def select(self, sentences: Tensor) -> "MeanState":
        rows = torch.arange(len(self.source), device=sentences.device).view(-1, self.rows_per_sentence)
        return self.reorder(rows[sentences].flatten())


class MeanDecoder(Decoder[MeanState]):
    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__()
        self.embedding, self.layers = nn.Embedding(vocabulary, dim), nn.ModuleList([nn.Linear(2 * dim, dim)])
        self.output = nn.Linear(dim, vocabulary)

    def read(self, tokens: Tensor, state: MeanState) -> tuple[Tensor, MeanState]:
        total = state.total[:, None] + self.embedding(tokens).cumsum(1)  # [rows, time, dim]
        hidden = self.layers[0](torch.cat([total, state.source[:, None].expand_as(total)], -1)).tanh()
        return hidden, MeanState(state.source, total[:, -1], state.rows_per_sentence)


class Mean(EncoderDecoder[MeanState]):
    def __init__(self, source_vocabulary: int, target_vocabulary: int, dim: int) -> None:
        super().__init__()
        self.source, self.decoder = nn.Embedding(source_vocabulary, dim), MeanDecoder(target_vocabulary, dim)

    def encode(self, source: Tensor, is_real: Tensor) -> Memory:
        return Memory(self.source(source), is_real)

    def places(self) -> Places:
        """Those of the decoder, and the source's vectors."""
        return {**super().places(), "encoder.embedding": Place(self.source)}

    def start(self, memory: Memory) -> MeanState:
        real = memory.is_real[..., None]
        mean = (memory.hidden * real).sum(1) / real.sum(1).clamp(min=1)
        return MeanState(mean, torch.zeros_like(mean))


@pytest.fixture
def run(recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose `model.kind` makes such a model, as a case in models/families.py would."""

    def build(config: Any, source_vocabulary: int, target_vocabulary: int) -> Mean:
        return Mean(source_vocabulary, target_vocabulary, config.dim)

    monkeypatch.setattr(families, "build_transformer", build)
    transduce.train(str(recipe_file), tmp_path / "run")
    return tmp_path / "run"


def test_it_trains_scores_translates_and_is_loaded(run: Path) -> None:
    model = ModelBundle.load(run).writer
    assert isinstance(model, Mean) and isinstance(model, EncoderDecoder) and isinstance(model.decoder, Decoder)
    log = [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]
    losses = [line["loss"] for line in log if "loss" in line]
    assert losses[-1] < losses[0] - 0.1
    source, targets = "The dog sleeps.", ["Der Hund schläft.", "Der Hund."]
    translator, beam = transduce.load(run), transduce.Beam(size=4)
    (alone,) = translator.translate([source], search=beam)
    assert [found.text for found in translator.translate([source] * 2, search=beam)] == [alone.text] * 2
    scores = [translator.score((source, target)).log_probability for target in targets]
    assert max(scores) < 0 and scores[0] != scores[1]
    for precision in ("bfloat16", "int8"):
        assert len(transduce.load(run, precision=precision).translate([source])) == 1


@torch.no_grad()
def test_in_steps_is_at_once() -> None:
    torch.manual_seed(1)
    model, tokens = Mean(11, 13, 6), torch.randint(13, (3, 7))
    source = torch.randint(11, (3, 5))
    at_once, _ = model.decoder(tokens, model.start(model.encode(source, source >= 0)))
    state, parts = model.start(model.encode(source, source >= 0)), []
    for token in tokens.split(1, 1):
        logits, state = model.decoder(token, state)
        parts.append(logits)
    assert_close(torch.cat(parts, 1), at_once)


@torch.no_grad()
def test_its_places_can_be_changed() -> None:
    torch.manual_seed(1)
    model, tokens, source = Mean(11, 13, 6), torch.randint(13, (3, 7)), torch.randint(11, (3, 5))

    def logits() -> Tensor:
        return model.decoder(tokens, model.start(model.encode(source, source >= 0)))[0]

    plain = logits()
    with transduce.intervene(model) as edit:
        recording = edit.record()
        logits()
    assert set(recording) == set(transduce.places(model)) > {"decoder.layers.0.after", "encoder.embedding"}
    with transduce.intervene(model) as edit:
        for name in recording:
            edit.patch(name, recording)
        assert torch.equal(logits(), plain)
    with transduce.intervene(model) as edit:
        edit.zero("encoder.embedding", at=2, rows=1)
        assert (logits() != plain).any(-1).any(1).tolist() == [False, True, False]
