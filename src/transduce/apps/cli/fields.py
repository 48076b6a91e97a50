"""Arguments and options of commands: parameters of functions, and fields of dataclasses and of settings classes, which
declare their defaults, ranges and help."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import click

from transduce.base import ranges
from transduce.base.ranges import Number, members, number_of

OUTPUT = ("--output", "-o", "--out")
"""The names of the option for a verb's output, a file or a folder."""
MAY_BE_BLANK = ("stop", "prompt", "prefix", "text", "target")
"""The options whose value is text of a user's own."""
REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Help:
    """The spelling and help of a command's parameter, where its name and type do not give them."""

    text: str = ""
    """The meaning of the parameter (default: from the docstring of the function or the class)."""
    metavar: str | None = None
    """The sign for its value (default: by the type)."""
    flags: tuple[str, ...] = ()
    """Names of the option (default: by the parameter's name)."""
    bare: str | None = None
    """The option's value where the command line gives none (default: a value must be given)."""
    is_argument: bool = False
    """True for a field of a dataclass that is an argument."""
    hidden: bool = False


class Declared(NamedTuple):
    """A field as declared in the source of its class."""

    type: str
    default: str
    meaning: str
    """The docstring below the field, on one line."""


@dataclass(frozen=True)
class From:
    """Fields of a class of settings as options."""

    table: str
    """The class, by its path in the package, such as search.beam.Beam. Only its source is read: imports are slow."""
    names: str
    """Names of the fields, or `option=field` where the option has another name."""
    when: str = ""
    """The condition of an option, such as "With --mbr": its help begins so."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Defaults that a verb sets in place of the settings' own, by option."""
    help: Mapping[str, str] = field(default_factory=dict)
    """Help of options that do more in a verb than the settings say, by option."""

    @property
    def field_of(self) -> dict[str, str]:
        """The field of each option."""
        return {name: field or name for name, _, field in (part.partition("=") for part in self.names.split())}

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the values of the fields that a command line's parameters give."""
        return {field: given[option] for option, field in self.field_of.items() if option in given}

    def parameters(self) -> Iterator[click.Parameter]:
        """Yields the options."""
        declared = declared_fields(*self.table.rpartition(".")[::2])
        option_of = {name: option for option, name in self.field_of.items()}
        for option, name in self.field_of.items():
            declaration = declared[name]
            type_ = _evaluated(declaration.type)
            default = self.defaults.get(option, _evaluated(declaration.default))
            meaning = self.help.get(option) or _with_options(declaration.meaning.removesuffix("."), option_of)
            help = f"{self.when}: {meaning[0].lower()}{meaning[1:]}" if self.when else meaning
            yield parameter_of(option, type_, default, help)


@cache
def declared_fields(module: str, name: str) -> dict[str, Declared]:
    """Returns the fields that a class itself declares, read in the source of a module of this package."""
    source = Path(__file__).parents[2].joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    (body,) = (node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name)
    declared: dict[str, Declared] = {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            type_, default = ast.unparse(node.annotation), ast.unparse(node.value) if node.value else "..."
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            declared[node.target.id] = Declared(type_, default, " ".join(str(text).split()))
    return declared


def meanings_of(table: type) -> dict[str, str]:
    """Returns the docstrings of the fields of a class, with those that it inherits."""
    modules = {base: base.__module__ for base in reversed(table.__mro__) if base.__module__.startswith("transduce.")}
    return {
        name: declared.meaning
        for base, module in modules.items()
        for name, declared in declared_fields(module.removeprefix("transduce."), base.__name__).items()
    }


def _evaluated(text: str) -> Any:
    """Evaluates a type or a default that is written with the names of ranges.py."""
    return eval(text, vars(ranges), {"Literal": Literal})  # of our own source


def _with_options(text: str, option_of: Mapping[str, str]) -> str:
    """Returns the text with the names of fields replaced by those of their options."""
    names = {name: flag(option) for name, option in option_of.items() if "_" in name}  # others are words, too
    return re.sub(r"\w+", lambda name: names.get(name[0], name[0]), text)


def flag(option: str) -> str:
    """Returns the name of an option on the command line."""
    return f"--{option.strip('_').replace('_', '-')}"


def parameter_of(name: str, type_: Any, default: Any, help: str, is_argument: bool = False) -> click.Parameter:
    """Returns an option for values of a type, or an argument; the range of numbers is shown in its help, and checked.

    In an annotation, a string is shown in place of the type, and `Help` says more.
    """
    info = next(iter(getattr(type_, "__metadata__", ())), None)
    if isinstance(info, str | Help):
        type_ = get_args(type_)[0]
    info = info if isinstance(info, Help) else Help(metavar=info if isinstance(info, str) else None)
    number, value_type = number_of(type_), next(member for member in members(type_) if member is not NoneType)
    if is_many := get_origin(value_type) in (list, tuple):
        value_type = get_args(value_type)[0]
    text = (info.text or help).removesuffix(".")
    text += (f"; {number.describe()}" if number else "") + ("; repeatable" if isinstance(default, tuple) else "") + "."
    declared: dict[str, Any] = {
        "type": number.kind if number else _type_of(value_type),
        "metavar": info.metavar,
        "required": default is REQUIRED,
        "callback": partial(_checked, number=number, is_list=is_many and not isinstance(default, tuple)),
    }
    if default is not REQUIRED:
        declared["default"] = default
    if is_argument or info.is_argument:
        argument = click.Argument([name], nargs=-1 if is_many else 1, **declared)
        argument.help = text
        return argument
    return click.Option(
        [*(info.flags or (OUTPUT if name in ("out", "output") else (flag(name),))), name],
        help=text,
        is_flag=value_type is bool,
        multiple=is_many,
        hidden=info.hidden,
        show_default=not (default is None or isinstance(default, bool | tuple)),
        **declared if info.bare is None else declared | {"flag_value": info.bare},
    )


def _type_of(type_: Any) -> Any:
    """Returns click's type for values that have no range."""
    if get_origin(type_) is Literal:
        return click.Choice(get_args(type_))
    return click.Path(path_type=Path) if type_ is Path else type_


def _checked(
    context: click.Context, parameter: click.Parameter, value: Any, number: Number | None, is_list: bool
) -> Any:
    """Returns the value of a parameter, several as a list; UsageError for a number beyond its range, and for white
    space alone, which is a likely mistake of a script."""
    name = parameter.opts[0]
    if number is not None and value is not None and (problem := number.problem(value)):
        raise click.UsageError(f"{name} {problem}, but is {value}", context)
    may_be_blank = isinstance(parameter, click.Argument) or parameter.name in MAY_BE_BLANK
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str | Path) and not may_be_blank and str(text) and not str(text).strip():
            raise click.UsageError(
                f"{name} is {str(text)!r}: it has no letters; give a value or leave the option out", context
            )
    return (list(value) or None) if is_list else value


def options_from(table: From) -> "Options":
    """Returns options that are fields of a class of settings; their value is an object of it."""
    module, _, name = f"transduce.{table.table}".rpartition(".")
    return Options(table, make=lambda context: getattr(import_module(module), name)(**table.values(context.params)))


class Options:
    """Options that a verb gets as one value, which `make` makes from the command line."""

    def __init__(self, *tables: From | click.Parameter, make: Callable[[click.Context], Any]) -> None:
        self._tables = tables
        self.make = make

    def parameters(self) -> Iterator[click.Parameter]:
        """Yields the options, which are made when a verb that has them is used: that reads the source of settings."""
        for table in self._tables:
            yield from table.parameters() if isinstance(table, From) else [table]


def options_of(table: type) -> Options:
    """Returns options that are the fields of a dataclass, with their docstrings as help; their value is one of it."""
    hints, helps = get_type_hints(table, include_extras=True), meanings_of(table)
    parameters = [parameter_of(each.name, hints[each.name], each.default, helps[each.name]) for each in fields(table)]
    return Options(*parameters, make=lambda context: table(**{name: context.params[name] for name in hints}))
