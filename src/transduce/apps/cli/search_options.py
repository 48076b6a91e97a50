"""The options of searches; their defaults and ranges are those of the settings."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from transduce.apps.cli.fields import From, Options, flag
from transduce.apps.cli.options import is_given
from transduce.base.errors import InputError
from transduce.base.ranges import Candidates

if TYPE_CHECKING:
    from transduce.search.choices import DecisionRule, MinimumBayesRisk, Search

SHARED = From(
    "search.search_settings.SearchSettings",
    "n_best max_ratio max_extra min_ratio no_repeat_ngram repetition_penalty allow_unknown keep_numbers",
    help={"n_best": "Print the N best translations of each line, tab-separated: line, score and text"},
)
OF_BEAM = From("search.beam.Beam", "beam_size=size length_penalty normalization")
OF_GROUPS = From("search.diverse.DiverseBeam", "groups", defaults={"groups": 1})
OF_DIVERSITY = From("search.diverse.DiverseBeam", "diversity", when="With --groups")
OF_SAMPLING = From("search.sampling.Sampling", "temperature top_k top_p min_p seed", when="With --sample")
SAMPLE, MBR = (From("apps.cli.search_options.Choices", name) for name in ("sample", "mbr"))


class Choices:
    """The options that choose another search than a beam."""

    sample: bool = False
    """Sample at random instead of greedy or beam search."""
    mbr: Candidates | None = None
    """Minimum Bayes risk: choose, of this many outputs of the beam, the one that is most like all others by chrF
    (default of --beam-size: as many)."""


def make_rule(context: click.Context) -> "DecisionRule":
    """Returns the search, or the choice among candidates, that a command asks for; InputError for invalid settings."""
    try:
        return _search(context) if context.params.get("mbr") is None else _minimum_bayes_risk(context)
    except ValueError as error:
        raise _mistake(error) from None


BeamOptions = Annotated[Any, Options(OF_BEAM, make=make_rule)]
"""The options of a plain beam."""
RuleOptions = Annotated[Any, Options(OF_BEAM, MBR, make=make_rule)]
"""The options of a plain beam, or minimum Bayes risk."""
TranslationOptions = Annotated[
    Any,
    Options(OF_BEAM, OF_GROUPS, OF_DIVERSITY, SAMPLE, MBR, OF_SAMPLING, SHARED, make=make_rule),
]
"""The options of all searches for a translation."""
GenerationOptions = Annotated[
    Any,
    Options(
        SAMPLE,
        replace(OF_SAMPLING, when=""),
        replace(OF_BEAM, names="beam_size=size length_penalty", defaults={"beam_size": 1}),
        OF_GROUPS,
        OF_DIVERSITY,
        replace(
            SHARED,
            names="n_best no_repeat_ngram repetition_penalty allow_unknown",
            help={"n_best": "Print the N best texts, or N samples, for each prompt"},
        ),
        make=make_rule,
    ),
]
"""The options of all searches for the text of a language model."""


def _search(context: click.Context) -> "Search":
    from transduce.search.beam import Beam
    from transduce.search.diverse import DiverseBeam
    from transduce.search.sampling import Sampling

    options = context.params
    shared, beam, of_groups, of_samples = _settings(context)
    if options.get("sample"):
        _refuse(context, (OF_BEAM, OF_GROUPS, OF_DIVERSITY), "works with beam search only, not with --sample")
        return Sampling(**shared, **of_samples)
    _refuse(context, (OF_SAMPLING,), "goes with --sample")
    if options.get("groups", 1) > 1:
        return DiverseBeam(**shared, **beam, **of_groups)
    _refuse(context, (OF_DIVERSITY,), "goes with --groups 2 or more")
    return Beam(**shared, **beam)


def _settings(context: click.Context) -> Iterator[dict[str, Any]]:
    """Yields settings of every search that the command has options for, of beams, of groups and of samples."""
    for tables in ((SHARED,), (OF_BEAM,), (OF_GROUPS, OF_DIVERSITY), (OF_SAMPLING,)):
        yield {name: value for table in tables for name, value in table.values(context.params).items()}


def _minimum_bayes_risk(context: click.Context) -> "MinimumBayesRisk":
    """Returns the choice among the outputs of a beam, which is as wide as they are many by default."""
    from transduce.search.beam import Beam
    from transduce.search.choices import MinimumBayesRisk

    shared, beam, _, _ = _settings(context)
    count, wanted = context.params["mbr"], shared.get("n_best", 1)
    if context.params.get("sample"):
        raise InputError("--mbr chooses among outputs of a beam; leave --sample out")
    _refuse(context, (OF_GROUPS, OF_DIVERSITY), "does not go with --mbr")
    _refuse(context, (OF_SAMPLING,), "goes with --sample")
    if wanted > count:
        raise InputError(f"--n-best must be from 1 to the number of candidates, {count} (--mbr)")
    if not is_given(context, "beam_size"):
        beam["size"] = count
    if count > beam["size"]:
        raise InputError(f"--mbr {count} asks for more outputs than --beam-size {beam['size']} finds; raise it")
    return MinimumBayesRisk(candidates=Beam(**shared | {"n_best": count}, **beam), n_best=wanted)


def _refuse(context: click.Context, tables: Iterable[From], why: str) -> None:
    for name in (name for table in tables for name in table.field_of):
        if is_given(context, name):
            raise InputError(f"{flag(name)} {why}; leave it out")


def _mistake(error: ValueError) -> InputError:
    """Returns an error with the names of settings replaced by those of their options."""
    message = str(error)
    for table in (SHARED, OF_BEAM, OF_GROUPS, OF_DIVERSITY, OF_SAMPLING):
        for name, setting in table.field_of.items():
            message = re.sub(rf"\b{setting}\b" if "_" in setting else rf"^{setting}\b", flag(name), message)
    return InputError(message)
