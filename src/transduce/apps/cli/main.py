"""The command `transduce`: its verbs."""

import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import click

from transduce.apps.cli.commands import VerbCommand, command_of, plain
from transduce.apps.cli.failures import run
from transduce.apps.cli.fields import flag
from transduce.apps.cli.over_files import INPUTS, OverFiles
from transduce.apps.cli.stopping import stoppable
from transduce.base.errors import TransduceError
from transduce.base.version import VERSION

VERBS = (
    "quickstart recipes plan train sweep distill backtranslate runs average merge extend translate generate classify "
    "tag answer fill embed score evaluate compare look align info shortlist export push serve learn import"
)
"""The verbs in the order of --help; each is a function, in a file of its name or the one of `FILES`."""
FILES = {
    "train": "quickstart sweep",
    "distill": "backtranslate",
    "measure": "evaluate compare",
    "pairs": "score align shortlist",
    "texts": "classify tag answer fill embed",
    "exchange": "export push import",
    "weights": "average merge extend",
    "info": "recipes",
}
"""The files of several verbs."""
GROUPS = {"data": "list get doctor clean tokenize forms next forecast", "keys": "add list revoke"}
"""The groups of verbs; each is a file, whose docstring is its help."""
BRACKETED = re.compile(r"\((\w++)\)")
"""The name of an argument in a message of the library."""


class Group(click.Group):
    """Verbs in an order; without the name of one, the group shows its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of the verbs in the order of --help."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses arguments up to the verb's name."""
        return super().parse_args(ctx, args or ["--help"])

    def help_of(self, name: str) -> str:
        """Returns the help of a verb."""
        return self.commands[name].help or ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the first sentence of each verb's help."""
        helps = {name: self.help_of(name).partition("\n\n")[0] for name in self.commands}
        with formatter.section("Commands"):
            formatter.write_dl([(name, plain(" ".join(help.split()))) for name, help in helps.items()])


class Program(Group):
    """The program, which imports a verb's file, and makes its options, when the verb is used."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns a verb or a group of verbs; None for an unknown name."""
        if cmd_name in self.commands and self.commands[cmd_name] is None:
            self.commands[cmd_name] = _made_group(cmd_name) if cmd_name in GROUPS else _made_verb(cmd_name)
        return self.commands.get(cmd_name)

    def all_commands(self) -> dict[str, click.Command]:
        """Returns all verbs and groups of verbs, made, by their names."""
        context = click.Context(self)
        return {name: command for name in self.commands if (command := self.get_command(context, name)) is not None}

    def help_of(self, name: str) -> str:
        """Returns the docstring of a verb or a group."""
        return inspect.getdoc(_module(name) if name in GROUPS else _function(_module(name), name)) or ""

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> Any:
        """Runs the verb that the arguments name, and leaves failures to the caller; `--debug` among them shows the
        traceback of what fails."""
        arguments, debug = _without_debug(sys.argv[1:] if args is None else args)
        try:
            with self.make_context("transduce", arguments, max_content_width=100) as context:
                self.invoke(context)
        except BaseException as error:
            if isinstance(error, TransduceError):
                error.args = (_with_options(str(error), self.commands.get(arguments[0])),)
            if debug and not isinstance(error, SystemExit | click.exceptions.Exit):
                traceback.print_exc()
            raise


def _made_verb(name: str) -> click.Command:
    return command_of(_function(_module(name), name), name, OverFiles if name in INPUTS else VerbCommand)


def _made_group(name: str) -> click.Command:
    module = _module(name)
    verbs = [command_of(_function(module, verb), verb) for verb in GROUPS[name].split()]
    return Group(name, commands=verbs, help=plain(module.__doc__ or ""))


def _module(name: str) -> ModuleType:
    """Returns the file of a verb or a group."""
    return import_module(
        f"transduce.apps.cli.{next((file for file, verbs in FILES.items() if name in verbs.split()), name)}"
    )


def _function(module: ModuleType, name: str) -> Callable[..., None]:
    """Returns the function of a verb; where a keyword or a function of Python has its name, an underscore follows."""
    return vars(module).get(f"{name}_") or vars(module)[name]


def _with_options(message: str, command: click.Command | None) -> str:
    """Returns a message of the library, which names arguments in brackets, with the options of a command in place of
    their names: (--overwrite) for (overwrite)."""
    commands = getattr(command, "commands", {"": command}).values() if command is not None else ()
    options = {str(each.name).strip("_") for one in commands for each in one.params if isinstance(each, click.Option)}
    return BRACKETED.sub(lambda name: f"({flag(name[1])})" if name[1] in options else name[0], message)


app = Program(
    "transduce",
    commands=dict.fromkeys([*VERBS.split(), *GROUPS]),  # type: ignore[arg-type]  # made when they are used
    help="Train, understand and use attention models that turn one sequence into another.",
    params=[
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            help="Show the traceback of a failure; for every command; TRANSDUCE_DEBUG=1 does the same.",
        ),
    ],
)
click.version_option(VERSION, message="transduce %(version)s", help="Print the version.")(app)


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
