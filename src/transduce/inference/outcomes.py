"""Reports which phrases and terms of a request its translation holds, and why it lacks the others."""

from collections.abc import Sequence
from dataclasses import replace

from docsegments.orthography.joining import join_sentences
from docsegments.text.written_numbers import changes
from transduce.inference.constraints import Constraints
from transduce.inference.inflections import other_form
from transduce.inference.request import Request
from transduce.inference.translation import Candidate, Translation
from transduce.search.choices import DecisionRule, score_of_pieces
from transduce.text.phrase_encoder import holds
from transduce.text.terms import Term, TermOutcome


def with_outcomes(
    translation: Translation,
    request: Request,
    constraints: Constraints,
    keeps_numbers: tuple[str, str] | None = None,
) -> Translation:
    """Returns the translation of a request's line with what it holds; `keeps_numbers` are the codes of both languages,
    if it is to keep numbers."""
    text = translation.text
    satisfied = [phrase for phrase in request.required if constraints.met_by(request, phrase, text) is not None]
    found = replace(
        translation,
        satisfied=satisfied,
        unsatisfied=[phrase for phrase in request.required if phrase not in satisfied],
        violated=constraints.found_in(text, request.banned),
        changed_numbers=[] if keeps_numbers is None else changes(request.text, text, keeps_numbers).changed,
    )
    return replace(found, terms=[_outcome(term, request, found, constraints) for term in request.terms])


def joined(pieces: Sequence[Candidate], rule: DecisionRule, language: str) -> Candidate:
    """Returns a line's output from those of its pieces, in their order; language is the code of the target."""
    text = join_sentences([piece.text for piece in pieces], language)
    scores, totals = zip(*((piece.score, piece.log_probability) for piece in pieces), strict=True)
    return Candidate(text, score_of_pieces(rule, scores), sum(totals))


def why_unsatisfied(translation: Translation, phrase: str, constraints: Constraints) -> str:
    """Explains why a translation lacks a phrase that it was required to hold, and what may help."""
    if not constraints.wording.forms(phrase):
        return f"the model's vocabulary cannot write {phrase!r}"
    if translation.truncated:
        return "the longest length was reached before; raise max_extra or max_ratio"
    if translation.was_split:
        return "the line was translated in pieces; give shorter lines"
    return "the search did not find a place for it; search with a larger beam"


def _outcome(term: Term, request: Request, translation: Translation, constraints: Constraints) -> TermOutcome:
    form = constraints.met_by(request, term.target, translation.text)
    why = "" if form is not None else _why_unmet(term, request, translation, constraints)
    return TermOutcome(term.source, term.target, form is not None, form or "", why)


def _why_unmet(term: Term, request: Request, translation: Translation, constraints: Constraints) -> str:
    if not constraints.phrase(request, term.target).forms:
        return why_unsatisfied(translation, term.target, constraints)
    if (form := other_form(term.target, translation.text)) is not None:
        return f"the translation has {form!r}, a form that the glossary does not allow"
    longer = (other.source for other in request.terms if other != term and holds(other.source, term.source))
    if (around := next(longer, None)) is not None:
        return f"it is a part of the term {around!r}"
    if term.target not in request.required:
        return "it was not required, and the model chose other words"
    return why_unsatisfied(translation, term.target, constraints)
