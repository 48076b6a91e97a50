"""The command `transduce`: its verbs."""

import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from transduce.cli.failures import UsageError, run
from transduce.cli.fields import flag, with_options
from transduce.cli.file_options import TakesFiles
from transduce.cli.over_files import OverFiles
from transduce.cli.stopping import stoppable
from transduce.errors import TransduceError
from transduce.version import VERSION

VERBS = (
    "quickstart recipes plan train sweep distill backtranslate runs average merge extend translate generate classify "
    "tag answer fill embed score evaluate compare look align info shortlist export push serve learn import"
)
"""The verbs in the order of --help; each is a function, in a file of its name or the one of `FILES`."""
FILES = {
    "train": "quickstart sweep",
    "distill": "backtranslate",
    "evaluate": "compare",
    "pairs": "score align shortlist",
    "texts": "classify tag answer fill embed",
    "exchange": "export push import",
    "weights": "average merge extend",
    "info": "recipes",
}
"""The files of several verbs."""
GROUPS = {"data": "data", "keys": "serve"}
"""The groups of verbs, with their files."""
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
MAY_BE_BLANK = ("stop", "prompt", "prefix", "text", "target")
"""The options whose value is text of a user's own."""
BRACKETED = re.compile(r"\((\w++)\)")
"""The name of an argument in a message of the library."""


class InPanels(TyperCommand):
    """A command whose `--help` shows its options in groups."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for panel, names in PANELS.items():
            for parameter in self.params:
                if parameter.name in names.split() and parameter.param_type_name == "option":
                    parameter.rich_help_panel = panel  # type: ignore[attr-defined]


class Commands(Mapping[str, Any]):
    """The verbs and groups of verbs by name: a verb's file is imported, and its options are made, when it is used."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = dict.fromkeys((*VERBS.split(), *GROUPS))

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, name: str) -> Any:
        if self._made[name] is None:
            self._made[name] = _made_command(name)
        return self._made[name]


def _made_command(name: str) -> Any:
    """Returns a command, or a group of them, as typer makes it."""
    defined = _defined(name)
    if not isinstance(defined, typer.Typer):
        program = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")
        program.command(name, cls=KINDS.get(name))(with_options(defined))
        return typer.main.get_command(program)
    group = typer.main.get_group(defined)
    group.name = name
    return group


def _defined(name: str) -> Any:
    """Returns the function of a verb, or the typer application of a group."""
    file = GROUPS.get(name) or next((file for file, verbs in FILES.items() if name in verbs.split()), name)
    return getattr(import_module(f"transduce.cli.{file}"), f"{name}_" if iskeyword(name) else name)


def _summary(name: str) -> str:
    """Returns the sentence on a verb or group in the program's help."""
    defined = _defined(name)
    text = str(defined.info.help) if isinstance(defined, typer.Typer) else inspect.cleandoc(defined.__doc__)
    return " ".join(text.partition("\n\n")[0].partition(" Example:")[0].split())


class Verbs(TyperGroup):
    """Leaves every failure to its caller; typer would print boxes and end the process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"commands": Commands()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a line for each verb, whose options are not made."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(name)) for name in self.commands])

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> None:
        """Runs the verb that the arguments name; `--debug` among them shows the traceback of what fails."""
        arguments, debug = _without_debug(sys.argv[1:] if args is None else args)
        try:
            with self.make_context("transduce", arguments or ["--help"]) as context:
                self.invoke(context)
        except BaseException as error:
            if isinstance(error, TransduceError):
                error.args = (_with_options(str(error), self.commands.get(arguments[0]) if arguments else None),)
            if debug and not isinstance(error, SystemExit | typer.Exit):
                traceback.print_exc()
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds the verb; UsageError for an option whose value is only white space, a likely mistake of a script."""
        name, command, rest = super().resolve_command(ctx, args)
        options = {flag for each in getattr(command, "params", ()) if _takes_text(each) for flag in each.opts}
        for index, word in enumerate(rest):
            flag, sign, value = word.partition("=")
            if not sign and index + 1 < len(rest):
                value = rest[index + 1]
            if word == "--":
                break
            if flag in options and value and not value.strip():
                raise UsageError(f"{flag} is {value!r}: it has no letters; give a value or leave the option out", ctx)
        return name, command, rest


def _with_options(message: str, command: Any) -> str:
    """Returns a message of the library, which names arguments in brackets, with the options of a command in place of
    their names: (--overwrite) for (overwrite)."""
    commands = getattr(command, "commands", {"": command}).values() if command is not None else ()
    options = {each.name.strip("_") for one in commands for each in one.params if each.param_type_name == "option"}
    return BRACKETED.sub(lambda name: f"({flag(name[1])})" if name[1] in options else name[0], message)


def _takes_text(parameter: Any) -> bool:
    """Returns True if a parameter is an option whose value may not be blank; `--stop` may end texts at a blank."""
    is_option = parameter.param_type_name == "option" and not getattr(parameter, "is_flag", False)
    return is_option and parameter.name not in MAY_BE_BLANK


class InPanelsOverFiles(InPanels, OverFiles):
    """A verb with many options that runs for each of several files."""


class InPanelsWithFiles(InPanels, TakesFiles):
    """A verb with many options that takes files to validate and test on."""


KINDS: dict[str, type[TyperCommand]] = {
    "train": TakesFiles,
    "sweep": TakesFiles,
    "distill": InPanelsWithFiles,
    "backtranslate": InPanelsWithFiles,
    "translate": InPanelsOverFiles,
    "score": OverFiles,
    "generate": InPanels,
}
app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes and Markdown, as verbs show them, would double the time of `transduce --help`
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"transduce {VERSION}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the traceback of a failure; for every command; TRANSDUCE_DEBUG=1 does the same."
        ),
    ] = False,
) -> None:
    """Train, understand and use attention models that turn one sequence into another."""


def main() -> None:
    """Runs the command; every failure is one line on standard error and an exit status."""
    _stand_in_for_closed_streams()
    if sys.platform == "win32":  # whose own encoding lacks most letters
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding="utf-8")
    os.environ.setdefault("PYTORCH_ENABLE_MPS_FALLBACK", "1")  # what Apple's GPUs cannot compute, the processor does
    with stoppable() as stop:
        status = run(app, stop)
    sys.exit(status)


def _without_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Returns the arguments without `--debug`, which may be anywhere before `--`, and True if it is among them."""
    arguments = list(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != "--debug"]
    return kept + arguments[end:], len(kept) < end or os.environ.get("TRANSDUCE_DEBUG", "0") not in ("", "0")


def _stand_in_for_closed_streams() -> None:
    """Opens /dev/null in place of each standard stream that was closed (as by `>&-`), so that no other file gets its
    number; standard input and output in the wrong direction, so that reading and writing them fail."""
    for descriptor, (name, flags) in enumerate(
        (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))
    ):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, flags)
            if nothing != descriptor:
                os.dup2(nothing, descriptor)
                os.close(nothing)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
