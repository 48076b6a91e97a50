"""Begins a translation as that of a similar source does, up to the word where the sources begin to differ."""

from collections.abc import Callable, Mapping
from unicodedata import category

from docsegments.orthography.words import words
from docsegments.translating.sentence_translator import Links
from transduce.analysis.alignment import SAMPLE
from transduce.apps.projects.project import Project
from transduce.apps.projects.project_memory import Match
from transduce.inference.sentence_model import LineTranslator, SentenceModel


class Repairs:
    """Finds the beginnings of similar translations that stay right, by the words that a model's attention aligns."""

    def __init__(self, translator_of: Callable[[Project], LineTranslator | None]) -> None:
        """Takes a function that returns the model of a project's languages, None without one."""
        self._translator_of = translator_of

    def __call__(self, project: Project, similar: Mapping[int, tuple[str, Match]]) -> dict[int, str]:
        """Returns the beginning that each source's translation shares with that of its match, where there is one.

        None is found with an exported model, or one without attention.
        """
        translator = self._translator_of(project)
        if translator is None or not similar:
            return {}
        model = SentenceModel(translator)
        pairs = [(match.source, match.target) for _, match in similar.values()]
        model.find_aligner([*project.memory.pairs()[:SAMPLE], *pairs])
        links = model.align(pairs)
        beginnings = {
            number: shared_beginning(source, match.source, match.target, of_pair)
            for (number, (source, match)), of_pair in zip(similar.items(), links, strict=True)
            if of_pair is not None
        }
        return {number: beginning for number, beginning in beginnings.items() if beginning}


def shared_beginning(source: str, other: str, translation: str, links: Links) -> str:
    """Returns the words at the beginning of another source's translation that are also right for this source.

    Each of them is linked to words at the beginning of both sources, in which these do not differ, or stands before
    such a word without a link of its own. Empty if there are none.

    Args:
        source: the text to translate.
        other: a similar text.
        translation: the translation of the other text.
        links: words of the other text and its translation that go together, counted from 0; see `Aligner.align`.
    """
    asked, known = ([text[start:end] for start, end in words(text)] for text in (source, other))
    pairs = enumerate(zip(asked, known, strict=False))
    equal = next((number for number, (word, same) in pairs if word != same), min(len(asked), len(known)))
    furthest: dict[int, int] = {}  # the last word of the other text that each word of its translation goes with
    for i, j in links:
        furthest[j] = max(i, furthest.get(j, 0))
    kept = 0
    for number, (_, end) in enumerate(words(translation)):
        if furthest.get(number, -1) >= equal:
            break
        kept = end if number in furthest else kept
    while kept and category(translation[kept - 1]).startswith("P"):  # another source may go on after it
        kept -= 1
    return translation[:kept]
