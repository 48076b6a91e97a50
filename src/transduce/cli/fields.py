"""Options that are fields of settings classes, which declare their defaults, ranges and help."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from dataclasses import fields as fields_of
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from transduce import ranges
from transduce.cli.options import OUTPUT, ranged
from transduce.ranges import members, number_of

Verb = TypeVar("Verb", bound=Callable[..., Any])


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
        """Returns the values of the fields that a command line's parameters give; lists become tuples."""
        values = {field: given[option] for option, field in self.field_of.items() if option in given}
        return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}

    def parameters(self) -> Iterator[inspect.Parameter]:
        """Yields the options, as a signature has them."""
        declared = declared_fields(*self.table.rpartition(".")[::2])
        option_of = {name: option for option, name in self.field_of.items()}
        for option, name in self.field_of.items():
            declaration = declared[name]
            type_ = _evaluated(declaration.type)
            default = self.defaults.get(option, _evaluated(declaration.default))
            meaning = self.help.get(option) or _with_options(declaration.meaning.removesuffix("."), option_of)
            help = f"{self.when}: {meaning[0].lower()}{meaning[1:]}" if self.when else meaning
            yield _option_of(option, type_, default, help)


@cache
def declared_fields(module: str, name: str) -> dict[str, Declared]:
    """Returns the fields of a class and of those it inherits from, read in the source of a module of this package."""
    source = Path(__file__).parent.parent.joinpath(*module.split(".")).with_suffix(".py")
    nodes = ast.parse(source.read_text(encoding="utf-8")).body
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    origins = {name.name: node.module or "" for node in imports for name in node.names}
    definition = classes[name]
    declared: dict[str, Declared] = {}
    for base in map(ast.unparse, definition.bases):
        origin = f"transduce.{module}" if base in classes else origins.get(base, "")
        if origin.startswith("transduce."):
            declared |= declared_fields(origin.removeprefix("transduce."), base)
    for node, after in zip(definition.body, [*definition.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        if not (type_ := ast.unparse(node.annotation)).startswith("ClassVar"):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            meaning = " ".join(str(text).split())
            declared[node.target.id] = Declared(type_, ast.unparse(node.value) if node.value else "...", meaning)
    return declared


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


def _option_of(
    name: str, type_: Any, default: Any, help: str, is_argument: bool = False, metavar: str | None = None
) -> inspect.Parameter:
    is_many = isinstance(default, tuple)
    if number_of(type_) is not None:
        kind = next(get_args(member)[0] for member in members(type_) if get_args(member))
        info, type_ = ranged(type_, help), kind if default is not None else kind | None
    elif is_argument:
        is_required = default is inspect.Parameter.empty
        info = typer.Argument(help=f"{help}.", metavar=metavar, show_default=not is_required)
    else:
        names = OUTPUT if name in ("out", "output") else (flag(name),)
        repeatable = "; repeatable" if is_many else ""
        info = typer.Option(*names, help=f"{help}{repeatable}.", metavar=metavar, show_default=not is_many)
    return option(name, Annotated[list[str] | None if is_many else type_, info], None if is_many else default)


def option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """Returns a parameter of a verb that typer makes an option of."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def options_from(table: From) -> "Options":
    """Returns options that are fields of a class of settings; their value is an object of it."""
    module, _, name = f"transduce.{table.table}".rpartition(".")
    return Options(table, make=lambda context: getattr(import_module(module), name)(**table.values(context.params)))


class Options:
    """Options that a verb gets as one value, which `make` makes from the command line."""

    def __init__(self, *tables: From | inspect.Parameter, make: Callable[[typer.Context], Any]) -> None:
        self._tables = tables
        self.make = make

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """The options, which are made when a verb that has them is used: that reads the source of settings."""
        tables = ([table] if isinstance(table, inspect.Parameter) else table.parameters() for table in self._tables)
        return [parameter for table in tables for parameter in table]


def options_of(table: type) -> Options:
    """Returns options that are the fields of a dataclass, with their docstrings as help; their value is one of it."""
    hints = get_type_hints(table, include_extras=True)
    declared = declared_fields(table.__module__.removeprefix("transduce."), table.__name__)
    helps = {name: field.meaning for name, field in declared.items()}
    parameters = [_described(option(each.name, hints[each.name], each.default), helps) for each in fields_of(table)]
    return Options(*parameters, make=lambda context: table(**{name: context.params[name] for name in hints}))


def _described(parameter: inspect.Parameter, helps: Mapping[str, str]) -> inspect.Parameter:
    """Returns a positional parameter as an argument, another as an option, unless its annotation is one already.

    A string in the annotation is shown in place of the type."""
    metadata, type_ = _metadata(parameter), parameter.annotation
    if isinstance(metadata, OptionInfo | ArgumentInfo) or type_ is typer.Context:
        return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    shown = metadata if isinstance(metadata, str) else None
    help = helps.get(parameter.name, "").removesuffix(".")
    is_argument = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    return _option_of(
        parameter.name, get_args(type_)[0] if shown else type_, parameter.default, help, is_argument, shown
    )


def _metadata(parameter: inspect.Parameter) -> object:
    return next(iter(getattr(parameter.annotation, "__metadata__", ())), None)


def with_options(verb: Verb) -> Verb:
    """Returns the verb with an argument for each parameter before `*`, an option for each one after it, and the options
    of a group, such as a dataclass, in place of its parameter; "Args" of its docstring are the help."""
    verb_parameters = inspect.signature(verb).parameters
    text, _, args = inspect.cleandoc(verb.__doc__ or "").partition("\n\nArgs:\n")
    helps = {name: " ".join(help.split()) for name, help in re.findall(r"(?m)^    (\w+): (.*(?:\n     .*)*)", args)}
    groups: dict[str, Options] = {}
    parameters = [] if "context" in verb_parameters else [option("context", typer.Context, inspect.Parameter.empty)]
    for parameter in verb_parameters.values():
        type_ = parameter.annotation
        group = options_of(type_) if isinstance(type_, type) and is_dataclass(type_) else _metadata(parameter)
        if isinstance(group, Options):
            groups[parameter.name] = group
            parameters += group.parameters
        else:
            parameters.append(_described(parameter, helps))

    def run(**given: Any) -> None:
        made = {name: group.make(given["context"]) for name, group in groups.items()}
        verb(**{name: value for name, value in given.items() if name in verb_parameters} | made)

    run.__name__, run.__doc__ = verb.__name__, text
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]
