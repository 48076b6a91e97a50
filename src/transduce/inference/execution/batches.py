"""Sequences of similar length together, so that little is padded and memory is bounded."""

from collections.abc import Iterator, Sequence


def batches_of(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices in groups, by rising length; a group's padded size stays within the budget, unless it is a single one."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[i] > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
