"""Writes a translation with clusters of placeholders in it, each as far from its neighbours as in the source."""

from dataclasses import dataclass

from transduce.documents.clusters import Cluster, is_joined_letter

ENDING = frozenset(".,;:!?…。！？")
"""Signs at the end of a sentence, or of a part of it."""
_CLOSING = frozenset(")]}>”’»")
_OPENING = frozenset("([{<„“«‹¿¡\"'")


@dataclass(frozen=True)
class Change:
    """Characters of the translation, and the cluster that takes their place; None where nothing does."""

    start: int
    end: int
    cluster: Cluster | None
    is_inserted: bool = False


class ClusterWriter:
    """Writes a text with changes, given in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.written: list[str] = []
        self.size = 0
        self.last = ""  # character
        self.done = 0
        self.cluster: Cluster | None = None  # that has just been written
        self.places: list[tuple[Cluster, int]] = []

    def write(self, change: Change) -> None:
        """Write what is before a change, and the cluster that it brings."""
        start, end = max(change.start, self.done), max(change.end, self.done)
        following = self.text[end : end + 1]
        self._put(self.text[self.done : start])
        self.done = end
        if change.cluster is None:
            if not self.last or self.last.isspace():
                if following.isspace():
                    self.done += 1
                elif not following or following in ENDING or following in _CLOSING:
                    self._drop_last_blank()
            elif is_joined_letter(self.last, following):
                self._put(" ")
            return
        cluster = change.cluster
        if self._must_part(cluster, change.is_inserted):
            self._put(" ")
        self.places.append((cluster, self.size))
        self._put(cluster.shown, cluster)
        if (
            change.is_inserted
            and following
            and (following.isalnum() or following in _OPENING)
            and (cluster.after.isspace() or not is_joined_letter(following, cluster.after))
        ):
            self._put(" ")

    def _must_part(self, cluster: Cluster, is_inserted: bool) -> bool:
        """Whether a blank belongs before a cluster that is written next."""
        if not self.last or self.last.isspace():
            return False
        if self.cluster is not None:
            return True  # what touches in the source is one cluster
        if self.last in "%$@!{#&\\" and self.last != cluster.before:  # which would belong to what is held
            return True
        if is_inserted:
            return self.last not in _OPENING
        return is_joined_letter(self.last, "a") and not is_joined_letter(cluster.before, "a")

    def _put(self, text: str, cluster: Cluster | None = None) -> None:
        if not text:
            return
        is_after = cluster is None and self.cluster is not None and is_joined_letter(text[0], "a")
        if is_after and self.cluster is not None and not is_joined_letter(self.cluster.after, "a"):
            text = f" {text}"
        self.written.append(text)
        self.size += len(text)
        self.last = text[-1]
        self.cluster = cluster

    def _drop_last_blank(self) -> None:
        if self.written and self.cluster is None and self.written[-1][-1:].isspace():
            self.written[-1] = self.written[-1][:-1]
            self.size -= 1
            self.last = self.written[-1][-1:] or (self.written[-2][-1:] if len(self.written) > 1 else "")

    def finish(self) -> str:
        """The text, with what is left of it."""
        self._put(self.text[self.done :])
        return "".join(self.written)
