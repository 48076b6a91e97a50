"""Makes commands of the functions of verbs, and prints their help."""

import inspect
import re
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import click

from transduce.apps.cli.fields import Options, options_of, parameter_of
from transduce.apps.cli.file_options import likely_option, with_repeated_options

PANELS = {
    "Pairs": "metric drop_worst step pairs pairs_weight tag validation test",
    "Search": (
        "beam_size length_penalty normalization groups diversity n_best no_repeat_ngram "
        "repetition_penalty allow_unknown"
    ),
    "Sampling": "sample mbr temperature top_k top_p min_p seed",
    "Length": "max_ratio max_extra min_ratio max_tokens stop",
    "Constraints": "prefix prefix_file glossary glossary_use project",
    "Model and machine": "with_ then through engine device ray threads precision shortlist shortlist_file compile",
    "Languages": "to from_",
    "Documents": (
        "format memory retranslate fill_only encoding log source_language target_language source_column target_column"
    ),
    "Output": "output out resume json details explain quality quiet",
}
"""The groups in which `--help` shows the options of verbs that have many."""
MANY = 20


class VerbCommand(click.Command):
    """A command whose `--help` shows arguments, and many options in groups."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses arguments, of which some options are followed by one file or two; see `with_repeated_options`."""
        try:
            return super().parse_args(ctx, with_repeated_options(args))
        except click.NoSuchOption as error:
            if any(parameter.name == "validation" for parameter in self.params):  # the verb takes settings, too
                error.possibilities = likely_option(error.option_name, self.params)  # type: ignore[misc]
            raise

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes what the verb does."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(plain(self.help or ""))

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes nothing: `format_options` writes arguments, too."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes arguments and options, many in groups."""
        panels = {name: panel for panel, names in PANELS.items() for name in names.split()}
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", "Options", *PANELS)}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Argument):
                default = str(parameter.default) if isinstance(parameter.default, str | Path) else ""
                text = f"{parameter.help} [default: {default}]" if default else str(parameter.help)
                sections["Arguments"].append((parameter.make_metavar(ctx), plain(text)))
            elif record := parameter.get_help_record(ctx):
                title = panels.get(str(parameter.name), "Options") if len(self.params) > MANY else "Options"
                sections[title].append((record[0], plain(record[1])))
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def plain(text: str) -> str:
    """Returns text without Markdown's marks of code."""
    return text.replace("`", "")


def command_of(verb: Callable[..., None], name: str, kind: type[VerbCommand] = VerbCommand) -> VerbCommand:
    """Returns a command with an argument for each parameter of a function before `*`, an option for each one after it,
    and the options of a group, such as a dataclass, in place of its parameter; "Args" of its docstring are the help."""
    text, _, args = inspect.cleandoc(verb.__doc__ or "").partition("\n\nArgs:\n")
    helps = {name: " ".join(help.split()) for name, help in re.findall(r"(?m)^    (\w+): (.*(?:\n     .*)*)", args)}
    parameters: list[click.Parameter] = []
    makers: dict[str, Callable[[click.Context], Any]] = {}
    own = []
    for each in inspect.signature(verb).parameters.values():
        type_ = each.annotation
        group = next((data for data in getattr(type_, "__metadata__", ()) if isinstance(data, Options)), None)
        if isinstance(type_, type) and is_dataclass(type_):
            group = options_of(type_)
        if group is not None:
            makers[each.name] = group.make
            parameters += group.parameters()
        elif type_ is click.Context:
            makers[each.name] = lambda context: context
        else:
            is_argument = each.kind is not inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter_of(each.name, type_, each.default, helps.get(each.name, ""), is_argument))
            own.append(each.name)

    def run(**given: Any) -> None:
        context = click.get_current_context()
        verb(**{name: given[name] for name in own}, **{name: make(context) for name, make in makers.items()})

    return kind(name, callback=run, params=parameters, help=text)
