"""Terms of a project in the forms that sentences need, learned from its memory in the background."""

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from docsegments.budget import check
from docsegments.orthography.words import PhraseIndex, holds
from transduce.apps.projects.project import Project
from transduce.apps.projects.translation_facts import TermUse
from transduce.base.errors import DataError
from transduce.corpora.corpus import SentencePair
from transduce.inference.inflections import Inflections, other_form
from transduce.text.glossary import Entry, Glossary
from transduce.text.terms import Term

GROWN = 1.2
"""Forms are learned again once the memory has this many times the sources that they were learned from."""

MOST_TERMS = 200
"""The most terms of one sentence whose use is explained."""


@dataclass(frozen=True)
class _Learned:
    """A glossary with forms, and what it was learned from."""

    entries: tuple[Entry, ...]
    sources: int
    withdrawn: tuple[int, int]
    """Segments that had been taken back, and memories that had been replaced."""
    glossary: Glossary


class ProjectTerms:
    """Glossaries of projects with inflected forms; see Terms."""

    def __init__(self) -> None:
        """Starts with no forms; a thread learns them when a project's glossary is first asked for."""
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, "terms")
        self._learned: WeakKeyDictionary[Project, _Learned] = WeakKeyDictionary()
        self._waiting: set[Project] = set()

    def close(self) -> None:
        """Ends what learns; it is learned again after the next start."""
        self._worker.shutdown(cancel_futures=True)

    def glossary(self, project: Project) -> Glossary | None:
        """Returns a project's glossary with the forms learned so far, at once; None without terms.

        Forms that people gave an entry are its only ones.
        """
        if (plain := project.glossary) is None:
            return None
        entries, sources, withdrawn = tuple(plain.entries), len(project.memory), _withdrawn(project)
        with self._lock:
            learned = self._learned.get(project)
            is_same = learned is not None and (learned.entries, learned.withdrawn) == (entries, withdrawn)
            if not (is_same and learned and sources <= GROWN * learned.sources) and project not in self._waiting:
                self._waiting.add(project)
                self._worker.submit(self._learn, project, entries)
            return learned.glossary if is_same and learned else plain

    def __call__(self, project: Project, source: str, translation: str) -> list[TermUse]:
        """Returns the terms that a sentence asks for, whether its translation has one of their forms, and why not."""
        glossary = self.glossary(project)
        if glossary is None:
            return []
        applying = glossary.applying(source)
        terms, banned = applying.terms[:MOST_TERMS], applying.banned[:MOST_TERMS]
        phrases = [*banned, *(form for term in terms for form in (term.target, *term.forms))]
        held = PhraseIndex(map(str.casefold, phrases)).held_by(translation.casefold())
        uses = [_use(term, terms, translation, held) for term in terms]
        return uses + [
            TermUse("", phrase, not is_there, "banned" if is_there else "avoided")
            for phrase in banned
            for is_there in [phrase.casefold() in held]
        ]

    def _learn(self, project: Project, entries: tuple[Entry, ...]) -> None:
        try:
            withdrawn, pairs = _withdrawn(project), project.memory.pairs()
            learned = _Learned(entries, len(pairs), withdrawn, Glossary(with_forms(entries, pairs)))
            with self._lock:
                self._learned[project] = learned
        finally:
            with self._lock:
                self._waiting.discard(project)


def _withdrawn(project: Project) -> tuple[int, int]:
    return project.store.taken_back(), project.store.imports()


def with_forms(entries: Sequence[Entry], pairs: Iterable[tuple[str, str]]) -> list[Entry]:
    """Returns a glossary's entries with the forms of them that sources and translations have; see `Inflections`."""
    try:
        return Inflections.learn(SentencePair(*pair) for pair in pairs).inflected(entries)
    except DataError:  # there are no pairs
        return list(entries)


def _use(term: Term, terms: tuple[Term, ...], translation: str, held: set[str]) -> TermUse:
    check()
    form = next((form for form in (term.target, *term.forms) if form.casefold() in held), None)
    if form is not None:
        why = "as in the glossary" if form == term.target else f"as {form!r}"
    elif (other := other_form(term.target, translation)) is not None:
        why = f"the translation has {other!r}, a form that the glossary does not allow"
    elif around := next((other.source for other in terms if other != term and holds(other.source, term.source)), None):
        why = f"it is a part of the term {around!r}"
    else:
        why = "missing"
    return TermUse(term.source, term.target, form is not None, why)
