"""Settings of the sentences that are read before a source."""

from transduce.base.config import Settings
from transduce.base.ranges import PositiveInt, ShareBelowOne


class ContextConfig(Settings, frozen=True):
    """The sentences before a source in its document, which are read with it (Tiedemann and Scherrer 2017)."""

    before: PositiveInt = 2
    """Maximum number of sentences before a source that are read with it, each followed by a break."""
    dropout: ShareBelowOne = 0.2
    """Share of the pairs of an epoch whose source is read alone, so that the model translates one without context as
    well."""
