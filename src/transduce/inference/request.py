"""A request: one line to translate, with its constraints; needs no PyTorch, so documents' processes can use it."""

from dataclasses import dataclass

from transduce.text.terms import Term


@dataclass(frozen=True)
class Request:
    """A line to translate, and constraints on its translation; a blank line's translation stays blank."""

    text: str
    prefix: str = ""
    """Whole words that the translation begins with."""
    required: tuple[str, ...] = ()
    """Words or phrases that the translation must hold; of a line that is split, the pieces that have their terms."""
    banned: tuple[str, ...] = ()
    """Words or phrases that the translation must not hold."""
    terms: tuple[Term, ...] = ()
    """Terms of the line. One whose target is required is met by any of its forms."""

    def allowed(self, phrase: str) -> tuple[str, ...]:
        """Returns the phrases that meet a required one: itself first, then other forms of terms."""
        forms = (form for term in self.terms if term.target == phrase for form in term.forms)
        return tuple(dict.fromkeys([phrase, *forms]))
