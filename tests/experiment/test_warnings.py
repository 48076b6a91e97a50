"""Warnings before a run, of data and settings that are allowed and probably a mistake."""

from itertools import pairwise
from pathlib import Path

import pytest

import transduce
from transduce.corpora.generated.grammar import derive_pairs


@pytest.mark.slow
def test_a_warm_up_longer_than_the_training_and_shifted_lines_are_told(tmp_path: Path) -> None:
    pairs = derive_pairs(600, seed=1)
    lines: list[str] = []
    transduce.train(
        [(pair.source, other.target) for pair, other in pairwise(pairs)],
        tmp_path / "run",
        overrides={
            "data": {
                "validation": [(pair.source, pair.target) for pair in pairs[:9]],
                "source": "en",
                "target": "de",
                "doctor": 0,
            },
            "model": {"kind": "transformer", "encoder_layers": 1, "decoder_layers": 1, "dim": 8, "heads": 2},
            "tokenizer": {"kind": "words", "min_frequency": 1},
            "training": {"updates": 1},
            "optimizer": {"learning_rate": 0.01, "schedule": {"kind": "linear", "warmup": 5}},
        },
        tell=lines.append,
    )
    text = "\n".join(lines)
    assert "careful: the learning rate rises for 5 updates, but training ends after 1" in text
    assert "careful: line n of the source seems to belong to line n-1 of the target" in text
