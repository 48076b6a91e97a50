"""Settings of phrase-based models, the one family without a neural network; what they are is in `transduce.phrases`."""

from transduce.base.config import Settings


class PhrasesConfig(Settings, frozen=True, tag_field="kind", tag="phrases"):
    """A phrase-based model (Koehn, Och and Marcu 2003), for hundreds to some thousands of sentence pairs: learned in
    seconds, it translates better than a neural model of so little text."""
