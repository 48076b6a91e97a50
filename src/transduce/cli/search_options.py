"""The options of `translate` and `generate` as settings and requests, and what is told of the requests at the end."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import typer

from transduce.cli.model import search_mistake
from transduce.cli.streams import count_lines
from transduce.corpora.formats import read_lines
from transduce.errors import InputError
from transduce.inference.requests import Request
from transduce.inference.translator import Translation
from transduce.search.beam import Beam
from transduce.search.choices import Search, can_require
from transduce.search.diverse import DiverseBeam
from transduce.search.sampling import Sampling
from transduce.text.glossary import Glossary

SHARED = ("n_best", "max_ratio", "max_extra", "min_ratio", "allow_unknown", "no_repeat_ngram", "repetition_penalty")
OF_BEAM = ("beam_size", "length_penalty", "normalization", "coverage_penalty")
OF_GROUPS = ("groups", "diversity")
OF_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "seed")
LINES_NAMED = 5


def make_search(context: typer.Context) -> Search:
    """Search settings from a command's options; InputError for a combination that makes no sense."""
    options = dict(context.params)
    shared = {name: options[name] for name in SHARED if name in options}
    beam = {name.removeprefix("beam_"): options[name] for name in OF_BEAM if name in options}
    try:
        if options["sample"]:
            _refuse(context, (*OF_BEAM, *OF_GROUPS), "works with beam search only, not with --sample")
            return Sampling(**shared, **{name: options[name] for name in OF_SAMPLING})
        _refuse(context, OF_SAMPLING, "goes with --sample")
        if options["groups"] > 1:
            return DiverseBeam(**shared, **beam, **{name: options[name] for name in OF_GROUPS})
        _refuse(context, ("diversity",), "goes with --groups 2 or more")
        return Beam(**shared, **beam)
    except ValueError as error:
        raise search_mistake(error) from None


def _refuse(context: typer.Context, names: Iterable[str], why: str) -> None:
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":  # typer's own class in some versions, click's in others
            raise InputError(f"--{name.replace('_', '-')} {why}; leave one of them out")


def read_glossary(path: str | None, search: Search) -> Glossary | None:
    """The glossary, if one is asked for; InputError where it requires phrases that the search cannot require."""
    if path is None:
        return None
    glossary = Glossary.read(path)
    if glossary.requires_any and not can_require(search):
        raise InputError(f"{path}: required phrases go with a plain beam, not with --sample or --groups; leave one out")
    return glossary


def requests_of(
    chunks: Iterator[list[str]], prefix: str | None, prefix_file: str | None, glossary: Glossary | None, skip: int = 0
) -> Iterator[list[Request]]:
    """Each line but the first ones, whole chunks to skip, with what is asked of its translation; InputError unless a
    file of prefixes has one a line."""
    prefixes = None if prefix_file is None else read_lines(prefix_file)
    number = 0
    for chunk in chunks:
        requests = []
        for line in chunk:
            number += 1
            begin = prefix or ""
            if prefixes is not None:
                try:
                    begin = next(prefixes)
                except StopIteration:
                    raise _too_few(prefix_file, number) from None
            if number <= skip:
                continue
            required, banned = (glossary.required(line), glossary.banned(line)) if glossary else ((), ())
            requests.append(Request(line, begin.strip(), required, banned))
        if requests:
            yield requests
    if prefixes is not None and next(prefixes, None) is not None:
        raise _too_many(prefix_file, number)


def check_prefixes(prefix: str | None, prefix_file: str | None, lines: int | None) -> None:
    """Raise InputError for both kinds of prefixes, or for more or fewer in a file than the input has lines, if it is
    known how many there are."""
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
    """What became of all lines."""

    lines: int = 0
    split: int = 0
    truncated: int = 0
    satisfied: int = 0
    unsatisfied: list[int] = field(default_factory=list)
    """Line numbers, one for each phrase."""
    violated: list[int] = field(default_factory=list)
    """Line numbers, one for each phrase."""

    def add(self, translation: Translation) -> None:
        """Count the next line."""
        self.lines += 1
        self.split += translation.was_split
        self.truncated += translation.truncated
        self.satisfied += len(translation.satisfied)
        self.unsatisfied += [self.lines] * len(translation.unsatisfied)
        self.violated += [self.lines] * len(translation.violated)

    def describe(self, longest_source: int) -> Iterator[str]:
        """What a person should know, a line each."""
        if self.split:
            yield f"{self.split:,} lines of over {longest_source} tokens were translated in pieces"
        if self.truncated:
            yield f"{self.truncated:,} translations were truncated at the maximum length"
        if asked := self.satisfied + len(self.unsatisfied):
            yield f"{self.satisfied:,} of {asked:,} required phrases satisfied{_where(self.unsatisfied, 'unsatisfied')}"
        if self.violated:
            yield f"{len(self.violated):,} banned phrases occur in translations{_where(self.violated, 'found')}"


def _where(lines: list[int], what: str) -> str:
    if not lines:
        return ""
    numbers = list(dict.fromkeys(lines))
    named = ", ".join(map(str, numbers[:LINES_NAMED])) + (" ..." if len(numbers) > LINES_NAMED else "")
    return f", {what} on line{'s' if len(numbers) > 1 else ''} {named}"
