"""Settings of the sentences that are read before a source."""

from typing import Literal

from transduce.base.config import Settings
from transduce.base.ranges import PositiveInt, ShareBelowOne


class ContextConfig(Settings, frozen=True):
    """The sentences before a source in its document, which are read with it (Tiedemann and Scherrer 2017)."""

    before: PositiveInt = 2
    """Maximum number of sentences before a source that are read with it, each followed by a break."""
    side: Literal["source", "both"] = "source"
    """Texts that are read of each sentence before: its source alone, or also its translation after it where it is known
    (both), so that a form of address or a term stays the same. Both languages need one vocabulary then."""
    dropout: ShareBelowOne = 0.2
    """Share of the pairs of an epoch whose source is read alone, so that the model translates one without context as
    well; with both sides as many of the others are read without the translations before."""

    @property
    def texts(self) -> int:
        """The most texts that are read before a source."""
        return self.before * (2 if self.side == "both" else 1)


def reads_both(context: ContextConfig | None) -> bool:
    """Returns True if a model reads sentences before and their translations; None stands for no context."""
    return context is not None and context.side == "both"
