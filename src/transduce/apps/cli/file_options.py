"""Options that name the files of a test set as the shell does: `--validation dev.de dev.en`, or one file of pairs."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from typing import Annotated

import click
import msgspec

from transduce.base.config import flatten

NAMES = ("--validation", "--test")


@dataclass(frozen=True)
class HeldOut:
    """Files that are held out of training."""

    validation: Annotated[list[str] | None, "FILE [FILE]"] = None
    """Files to validate on: two aligned ones, or one file of pairs."""
    test: Annotated[list[str] | None, "FILE [FILE]"] = None
    """Files to test on when training ends: two aligned ones, or one file."""

    def held_out(self, context: click.Context) -> Mapping[str, Sequence[str]]:
        """Returns the files by the settings that they are for; UsageError for more than two."""
        given = {"validation": self.validation or (), "test": self.test or ()}
        for name, files in given.items():
            if len(files) > 2:
                raise click.UsageError(
                    f"--{name} takes two aligned files or one file of pairs, not {len(files)}", context
                )
        return {name: files for name, files in given.items() if files}


@dataclass(frozen=True)
class Data(HeldOut):
    """Files that are held out of training, the columns of a table, and files of one language."""

    source_column: str | None = None
    """The source's column in a .tsv or .csv file: its name in the first line, or its number from 1 (default: the one
    called by the source language, source or text)."""
    target_column: str | None = None
    """The target's column (default: the one called by the target language, target or translation)."""

    mono: Annotated[list[str] | None, "FILE"] = None
    """A file of sentences in the target language, one a line, that a phrase-based model learns from, too; may be
    repeated."""

    def held_out(self, context: click.Context) -> Mapping[str, Sequence[str]]:
        """Returns the files by the settings that they are for; UsageError for more than two that are held out."""
        return {**super().held_out(context), **({"monolingual": self.mono} if self.mono else {})}

    def columns(self, context: click.Context) -> list[str]:
        """Returns the columns of a table as a `key=value` change, if given; UsageError for only one of them."""
        if (self.source_column is None) != (self.target_column is None):
            raise click.UsageError("--source-column and --target-column go together", context)
        if self.source_column is None or self.target_column is None:
            return []
        names = (self.source_column, self.target_column)
        columns = [int(name) if name.isascii() and name.isdecimal() else name for name in names]
        return [f"data.columns={msgspec.json.encode(columns).decode()}"]


def likely_option(name: str, parameters: Sequence[click.Parameter]) -> list[str]:
    """Returns the option or setting that is most like an unknown option; settings are not options, but `KEY=VALUE`."""
    recipe = resources.files("transduce.recipes").joinpath("multi30k.toml").read_text(encoding="utf-8")
    settings = flatten(tomllib.loads(recipe))  # read without importing what settings are for
    known = {key.rpartition(".")[2].replace("_", "-"): f"{key}=VALUE" for key in settings}
    known |= {option.strip("-"): option for parameter in parameters for option in parameter.opts}
    return [known[each] for each in get_close_matches(name.strip("-"), list(known), n=1)]


def with_repeated_options(arguments: list[str]) -> list[str]:
    """Returns the arguments with the option before each of its files.

    A second file follows unless the first holds both sides, or the next argument is an option, a setting or `--`."""
    if not any(argument.partition("=")[0] in NAMES for argument in arguments):
        return arguments
    from transduce.corpora.formats import is_file_of_pairs
    from transduce.experiment.automatic import is_setting

    result: list[str] = []
    option, first = "", ""
    for number, argument in enumerate(arguments):
        if argument == "--":
            return result + list(arguments[number:])
        name, _, value = argument.partition("=")
        if name in NAMES:
            option, first = name, value
            result.append(argument)
        elif option and not first:
            first = argument
            result.append(argument)
        else:
            is_file = not argument.startswith("-") and not is_setting(argument)
            result += [option, argument] if option and is_file and not is_file_of_pairs(first) else [argument]
            option = ""
    return result
