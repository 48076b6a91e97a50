"""A glossary's terms in sentences of documents, which cost a client characters as they apply."""

from collections.abc import Callable
from dataclasses import dataclass

from transduce.apps.serving.request_texts import WantedTokens
from transduce.inference.request import Request
from transduce.inference.sentence_model import with_terms
from transduce.text.glossary import Glossary


@dataclass(frozen=True)
class ChargedTerms:
    """Adds a glossary's terms to requests for sentences, on the server's side of a document's process."""

    glossary: Glossary
    wanted: WantedTokens
    charge: Callable[[int], None]
    """Counts characters of terms that apply, before they cost anything."""

    def __call__(self, request: Request) -> Request:
        """Returns the request with its terms; RefusedError (413) for too many of them."""
        demands = self.glossary.applying(request.text)
        if demands.required or demands.banned:
            self.charge(sum(map(len, (*demands.required, *demands.banned))))
            request = with_terms(request, demands)
            self.wanted.check(request)
        return request
