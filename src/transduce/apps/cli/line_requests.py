"""Requests for the translation of each line, and a report on them at the end."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, repeat

from transduce.apps.cli.input import count_lines
from transduce.base.errors import InputError
from transduce.corpora.context_settings import ContextConfig
from transduce.corpora.lines import read_lines
from transduce.inference.quality.quality_estimate import WorkInFile
from transduce.inference.request import Earlier, Request
from transduce.inference.translation import Translation
from transduce.search.choices import DecisionRule, can_require
from transduce.text.glossary import Entry, Glossary, Use

LINES_NAMED, MANY = 5, 50
"""The most line numbers reported for phrases, and for truncated translations."""


def read_glossary(
    path: str | None,
    search: DecisionRule,
    languages: tuple[str, str],
    use: Use | None,
    entries: Sequence[Entry] = (),
) -> Glossary | None:
    """Reads the glossary of two languages, if asked for, or takes a project's entries; InputError if the search cannot
    require its phrases."""
    if path is None and not entries:
        if use is not None:
            raise InputError("--glossary-use is for a glossary: add --glossary, or leave it out")
        return None
    how: Use = use or "inflected"
    glossary = Glossary(entries, use=how) if path is None else Glossary.read(path, *languages, use=how)
    if glossary.requires_any and not can_require(search):
        raise InputError(
            f"{path or 'the glossary of the project'}: required phrases go with a plain beam, not with --sample or "
            "--groups; leave one out"
        )
    return glossary


def requests_of(
    chunks: Iterator[list[str]],
    prefix: str | None,
    prefix_file: str | None,
    glossary: Glossary | None,
    skip: int = 0,
    context: ContextConfig | None = None,
) -> Iterator[list[Request]]:
    """Yields chunks of lines with their constraints, and the lines before them as context, without the first `skip`
    lines; InputError unless a file of prefixes has one a line."""
    prefixes = repeat(prefix or "") if prefix_file is None else read_lines(prefix_file)
    number, earlier = 0, Earlier(context)
    for chunk in chunks:
        requests = []
        for line in chunk:
            number += 1
            if (begin := next(prefixes, None)) is None:
                raise _too_few(prefix_file, number)
            before = earlier.before(line)
            if number > skip:
                request = Request(line, begin.strip(), *(glossary.applying(line) if glossary else ()))
                requests.append(replace(request, before=before))
        if requests:
            yield requests
    if prefix_file is not None and next(prefixes, None) is not None:
        raise _too_many(prefix_file, number)


def check_prefixes(prefix: str | None, prefix_file: str | None, lines: int | None) -> None:
    """Raises InputError for both kinds of prefixes, or for a file with another number of lines than the input."""
    if prefix is not None and prefix_file is not None:
        raise InputError("--prefix and --prefix-file exclude each other; leave one of them out")
    if prefix_file is None or lines is None or (prefixes := count_lines(prefix_file)) is None:
        return
    if prefixes < lines:
        raise _too_few(prefix_file, prefixes + 1)
    if prefixes > lines:
        raise _too_many(prefix_file, lines)


def _too_few(prefix_file: str | None, line: int) -> InputError:
    return InputError(
        f"{prefix_file} ends before line {line} of the input; it must have one prefix a line, which may be blank"
    )


def _too_many(prefix_file: str | None, lines: int) -> InputError:
    return InputError(f"{prefix_file} has more lines than the input, which has {lines:,}; it must have as many")


@dataclass
class RequestReport:
    """Counts of the outcomes of all lines."""

    lines: int = 0
    split: int = 0
    satisfied: int = 0
    inflected: int = 0
    """Terms that are met in another form than the glossary's."""
    applied: dict[str, None] = field(default_factory=dict)
    """The terms that were in a line, with their translations."""
    unsatisfied: list[int] = field(default_factory=list)
    """Line numbers, one for each unsatisfied phrase."""
    violated: list[int] = field(default_factory=list)
    """Line numbers, one for each violated phrase."""
    changed_numbers: list[int] = field(default_factory=list)
    """Line numbers, one for each number that a translation changes."""
    truncated: list[int] = field(default_factory=list)
    """Line numbers of truncated translations."""
    faulty: dict[str, list[int]] = field(default_factory=dict)
    """Line numbers of translations that went wrong, by what is wrong."""
    work: WorkInFile = field(default_factory=WorkInFile)
    reasons: dict[str, list[int]] = field(default_factory=dict)
    """Line numbers of unsatisfied phrases, by the reason."""

    def add(self, translation: Translation, why: Callable[[Translation, str], str]) -> None:
        """Counts the next line; `why` explains why it lacks a phrase."""
        self.lines += 1
        self.split += translation.was_split
        self.truncated += [self.lines] * translation.truncated
        self.work.add(translation.quality)
        for fault in translation.faults:
            self.faulty.setdefault(fault, []).append(self.lines)
        self.satisfied += len(translation.satisfied)
        self.unsatisfied += [self.lines] * len(translation.unsatisfied)
        reasons = {term.target: term.why for term in translation.terms if not term.met}
        for phrase in translation.unsatisfied:
            reason = reasons[phrase] if phrase in reasons else why(translation, phrase)
            self.reasons.setdefault(reason, []).append(self.lines)
        self.inflected += sum(term.met and term.form != term.target for term in translation.terms)
        self.applied |= dict.fromkeys(f"{term.source}\t{term.target}" for term in translation.terms)
        self.violated += [self.lines] * len(translation.violated)
        self.changed_numbers += [self.lines] * len(translation.changed_numbers)

    def describe(self, longest_source: int, glossary: Glossary | None = None) -> Iterator[str]:
        """Yields the lines of the report."""
        if self.split:
            yield f"{self.split:,} lines of over {longest_source} tokens were translated in pieces"
        if self.truncated:
            where = _where(self.truncated, "", MANY)
            yield f"{len(self.truncated):,} translations were truncated at the maximum length{where}; raise --max-extra"
        for fault, lines in self.faulty.items():
            yield f"{len(lines):,} translations went wrong: each {fault}{_where(lines, '', MANY)}"
        if asked := self.satisfied + len(self.unsatisfied):
            where = _where(self.unsatisfied, "unsatisfied ")
            yield f"{self.satisfied:,} of {asked:,} required phrases satisfied{where}"
            for reason, lines in islice(self.reasons.items(), LINES_NAMED):
                yield f"{len(lines):,} unsatisfied{_where(lines, '')}: {reason}"
        if self.inflected:
            yield f"{self.inflected:,} terms met in another form than the glossary's"
        if absent := _absent(glossary, self.applied):
            yield f"{len(absent):,} terms are in no line: {', '.join(absent[:LINES_NAMED])}" + (
                " ..." if len(absent) > LINES_NAMED else ""
            )
        if self.violated:
            yield f"{len(self.violated):,} banned phrases occur in translations{_where(self.violated, 'found ')}"
        if count := len(self.changed_numbers):
            where = _where(self.changed_numbers, "", MANY)
            yield f"{count:,} numbers are changed in translations{where}; --json names them"


def _absent(glossary: Glossary | None, applied: Collection[str]) -> list[str]:
    """Returns the terms of a glossary that no line had."""
    entries = [] if glossary is None else [entry for entry in glossary.entries if not entry.is_banned]
    return list(dict.fromkeys(e.source for e in entries if e.source and f"{e.source}\t{e.target}" not in applied))


def _where(lines: list[int], noun: str, most: int = LINES_NAMED) -> str:
    if not lines:
        return ""
    numbers = list(dict.fromkeys(lines))
    named = ", ".join(map(str, numbers[:most])) + (" ..." if len(numbers) > most else "")
    return f", {noun}on line{'s' if len(numbers) > 1 else ''} {named}"
