"""Fixtures of the tests of projects and learning."""

from functools import partial

import pytest

import transduce.projects.learner
from transduce.search.beam import Beam


@pytest.fixture(autouse=True)
def short_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lesson translates; the tiny model does not know where a sentence ends, and sixty tokens would take longer
    than the updates."""
    monkeypatch.setattr(transduce.projects.learner, "Beam", partial(Beam, max_ratio=1.0, max_extra=9))
