"""Probes find what is in the vectors of words, and their controls what a probe learns by heart."""

from pathlib import Path

import numpy as np
import pytest
import torch

import transduce
from transduce.analysis import probes
from transduce.base.errors import InputError


def test_a_probe_is_as_accurate_as_its_vectors_allow() -> None:
    labels = np.arange(600) % 3
    tested = torch.arange(600) % 5 == 0
    noise = torch.randn(600, 8, generator=torch.Generator().manual_seed(1))
    planted = noise.clone()
    planted[:, :3] += 6 * torch.nn.functional.one_hot(torch.from_numpy(labels), 3)
    assert probes._accuracy(planted, labels, tested) > 0.98
    assert probes._accuracy(noise, labels, tested) == pytest.approx(1 / 3, abs=0.12)


def test_words_of_sources_and_of_targets_are_probed(tiny_run: Path, corpus: Path) -> None:
    translator = transduce.load(tiny_run, engine="pytorch")
    sources, targets = ((corpus / f"train.{side}").read_text().splitlines() for side in ("en", "de"))
    embedded, *layers = transduce.probe(translator, sources, "length")
    assert embedded.place == "encoder.embedding" and layers[-1].place.endswith(".after")
    assert embedded.accuracy > embedded.majority + 0.1
    tags = [" ".join("ab"[number % 2] for number, _ in enumerate(line.split())) for line in sources]
    (found,) = transduce.probe(translator, sources, tags, at=["encoder.layers.0.attention.heads"])
    assert 0 <= found.accuracy <= 1 and found.selectivity == found.accuracy - found.control
    assert all(each.place.startswith("decoder.") for each in transduce.probe(translator, sources, "next", targets))
    for wrong, told in ((tags[:3], "lines of tags"), (["a", *tags[1:]], "text 1 has")):
        with pytest.raises(InputError, match=told):
            transduce.probe(translator, sources, wrong)
    with pytest.raises(InputError, match="5 texts or more"):
        transduce.probe(translator, sources[:1], "length")
