"""The careless translator makes no document lose a placeholder or a tag."""

import pytest

for library in ("polib", "pysubs2", "docx", "markdown"):
    pytest.importorskip(library)

from careless_documents import KINDS, Kind, measure  # noqa: E402


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_nothing_is_lost_added_or_broken(kind: Kind) -> None:
    count = measure(kind, 60, seed=7)
    assert count.placeholders > 30
    assert (count.lost, count.added, count.broken) == (0, 0, 0)
