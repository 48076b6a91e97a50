"""Translates whole documents with a model, a search and a glossary."""

from docsegments.document import Languages
from docsegments.memory import Remembers
from docsegments.translating import document_translator
from docsegments.translating.sentence_translator import SentenceTranslator, Translate
from transduce.base.errors import InputError
from transduce.inference.request import Request
from transduce.inference.sentence_model import LineTranslator, SentenceModel, with_terms
from transduce.search.choices import DecisionRule
from transduce.text.glossary import Glossary


class DocumentTranslator(document_translator.DocumentTranslator):
    """Translates whole documents, in the formats of `docsegments.document_formats`, with a translator.

    Placeholders are required phrases if the search supports them (a beam, in PyTorch), else they are put in
    afterwards. A segment that occurs several times is translated once.
    """

    def __init__(
        self,
        translator: LineTranslator | SentenceTranslator | Translate,
        search: DecisionRule | None = None,
        glossary: Glossary | None = None,
        memory: Remembers | None = None,
        languages: Languages | None = None,
        splits_sentences: bool = True,
    ) -> None:
        """Makes a translator of documents.

        Args:
            translator: a `Translator`; a function from a list of texts to the list of their translations does, too.
            search: how the `Translator` chooses a translation (default: a beam).
            glossary: terms, which are required or banned in each sentence that the `Translator` translates.
            memory: translations that exist.
            languages: languages to translate between; the model's where they are left open.
            splits_sentences: translate a segment sentence by sentence; else at once, as far as the model can read it.

        Raises InputError for other languages than the model's, and for a search or a glossary with a function.
        """
        if not isinstance(translator, SentenceTranslator) and not callable(translator):
            translator = _sentence_model(translator, search, glossary)
        elif search is not None or glossary is not None:
            raise InputError("a search and a glossary go with a Translator alone; leave them out")
        super().__init__(translator, memory, languages, splits_sentences)


def _sentence_model(
    translator: LineTranslator, search: DecisionRule | None, glossary: Glossary | None
) -> SentenceModel:
    model = SentenceModel(translator, search)
    if glossary is not None:

        def constrain(request: Request) -> Request:
            demands = glossary.applying(request.text)
            return with_terms(request, demands if model.can_require else demands._replace(required=()))

        model.constrain = constrain
    return model
