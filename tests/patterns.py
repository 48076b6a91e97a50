"""Every regular expression of a package: found in its source files, with the way it is called."""

import ast
import builtins
import importlib
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import normalizers, pre_tokenizers

WAYS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
ANCHORED = ("match", "fullmatch")
"""These try one place of a text. What calls them for one place after the other is tried as a whole, with the reading of
documents: whether it begins again where it has looked before, no pattern tells."""
FLAGS = {"compile": 1, "sub": 4, "subn": 4, "split": 3}
"""Which argument the flags are, where it is not the third."""
UNKNOWN = ("Latin", "b.c")
"""Stand for what no source file tells, such as a name that a user has chosen."""
MOST_VALUES = 30
DEEPEST = 6


@dataclass(frozen=True)
class Pattern:
    """A regular expression, and what is done with it."""

    source: str | bytes
    flags: int
    is_anchored: bool
    """Whether it is tried at the beginning of a text only."""
    where: str
    """File and line."""
    is_tokenizers: bool = False
    """Whether it is one of the tokenizers library, which has another engine."""

    def runner(self) -> Callable[[str], object]:
        """What does with a text the costliest of what can be done with the pattern in the way it is called."""
        if self.is_tokenizers:
            regex = tokenizers.Regex(self.source)
            replace = normalizers.Replace(regex, "x").normalize_str
            split = pre_tokenizers.Split(regex, "isolated").pre_tokenize_str
            return lambda text: (replace(text), split(text))
        compiled: Any = re.compile(self.source, self.flags)
        encoded: Callable[[str], Any] = str if isinstance(self.source, str) else str.encode
        if self.is_anchored:
            return lambda text: (compiled.match(encoded(text)), compiled.fullmatch(encoded(text)))
        return lambda text: sum(1 for _ in compiled.finditer(encoded(text)))


@dataclass(frozen=True)
class Found:
    """The patterns of a package."""

    patterns: list[Pattern]
    """Each once."""
    lost: list[str]
    """Places of calls whose pattern cannot be found out."""
    absent: list[str]
    """Files that cannot be imported, since a library is not there."""


def find_patterns(package: Path) -> Found:
    """All patterns in the source files of an importable package."""
    return Search([SourceFile(path, package) for path in sorted(package.rglob("*.py"))]).run()


class SourceFile:
    """A module as a tree and as its names."""

    def __init__(self, path: Path, package: Path) -> None:
        self.path = path
        self.module = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(text)
        self.may_have_patterns = re.search(r"\b(?:re|regex|Regex)\b", text) is not None
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def names(self) -> dict[str, Any]:
        """What the module's names mean, once it is imported."""
        return {**vars(builtins), **vars(importlib.import_module(self.module))}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node is within, from the inside out."""
        while node := self.parents.get(node):  # type: ignore[assignment]
            yield node


class Search:
    """Looks through files for calls of `re` and of the tokenizers' `Regex`."""

    def __init__(self, files: list[SourceFile]) -> None:
        self.files = files
        self.calls: dict[str, list[tuple[SourceFile, ast.Call]]] = defaultdict(list)
        self.uses: dict[str, list[tuple[SourceFile, ast.AST]]] = defaultdict(list)
        for file in files:
            for node in ast.walk(file.tree):
                if isinstance(node, ast.Call):
                    self.calls[_last_name(node.func)].append((file, node))
                elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                    self.uses[_last_name(node)].append((file, node))

    def run(self) -> Found:
        """All that there are."""
        found: dict[tuple[str | bytes, int, bool], Pattern] = {}
        lost, absent = [], []
        for file in self.files:
            if not file.may_have_patterns:
                continue
            try:
                file.names  # noqa: B018  # imports the module
            except ImportError as error:
                absent.append(f"{file.module}: {error}")
                continue
            for node in ast.walk(file.tree):
                if not isinstance(node, ast.Call) or (function := _function(node, file)) is None:
                    continue
                patterns = list(self._patterns(node, function, file))
                if not patterns:
                    lost.append(f"{file.module}:{node.lineno}: {ast.unparse(node)[:80]}")
                for pattern in patterns:
                    key = (pattern.source, pattern.flags, pattern.is_tokenizers)
                    if key not in found or (found[key].is_anchored and not pattern.is_anchored):
                        found[key] = pattern
        return Found(list(found.values()), lost, absent)

    def _patterns(self, call: ast.Call, function: str, file: SourceFile) -> Iterator[Pattern]:
        argument = _argument(call, 0, "pattern")
        flags = _argument(call, FLAGS.get(function, 2), "flags")
        where = f"{file.module}:{call.lineno}"
        flag_values = self._values(flags, file, 0) if flags is not None else [0]
        values = self._values(argument, file, 0) if argument is not None else []
        for value, flag in itertools.product(values, flag_values or [0]):
            if isinstance(value, re.Pattern):  # re.search(COMPILED, text)
                value, flag = value.pattern, value.flags & ~re.UNICODE
            if not isinstance(value, str | bytes) or not isinstance(flag, int):
                continue
            is_tokenizers = function == "Regex"
            is_anchored = not is_tokenizers and self._is_anchored(call, function, file)
            pattern = Pattern(value, int(flag), is_anchored, where, is_tokenizers)
            try:
                pattern.runner()
            except Exception:  # each library has its own for what is no pattern, which a stand-in may have made of one
                continue
            yield pattern

    def _is_anchored(self, call: ast.Call, function: str, file: SourceFile) -> bool:
        """Whether a pattern is tried at one place of a text, however it gets to where it is called."""
        if function != "compile":
            return function in ANCHORED
        around = list(file.around(call))
        if isinstance(around[0], ast.Attribute):
            return around[0].attr in ANCHORED
        if isinstance(around[0], ast.Assign) and all(isinstance(target, ast.Name) for target in around[0].targets):
            uses = [use for target in around[0].targets for use in self._uses(target.id, file)]  # type: ignore[attr-defined]
            return all(getattr(use, "attr", "") in ANCHORED for use in uses)
        ways = {node.attr for node in ast.walk(file.tree) if _is_of_local_pattern(node, file)}  # type: ignore[attr-defined]
        return bool(ways) and ways <= {*ANCHORED}

    def _uses(self, name: str, file: SourceFile) -> Iterator[ast.AST]:
        """What each use of a name is within; those in other files too, unless the name is private."""
        for other, use in self.uses[name]:
            if other is file or not name.startswith("_"):
                yield other.parents[use]

    def _values(self, node: ast.AST, file: SourceFile, depth: int) -> list[Any]:
        """What an expression may be; nothing where that cannot be found out."""
        if depth > DEEPEST:
            return []
        match node:
            case ast.JoinedStr(values=parts):
                choices = [self._values(part, file, depth + 1) or list(UNKNOWN) for part in parts]
                return ["".join(map(str, chosen)) for chosen in _product(choices)]
            case ast.FormattedValue(value=value):
                return self._values(value, file, depth + 1)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                choices = [self._values(side, file, depth + 1) or list(UNKNOWN) for side in (left, right)]
                return [sum_ for chosen in _product(choices) if (sum_ := _sum(*chosen)) is not None]
            case ast.IfExp(body=body, orelse=other):
                return [*self._values(body, file, depth + 1), *self._values(other, file, depth + 1)]
            case ast.Call() if ast.unparse(node.func) == "re.escape":
                return [re.escape(value) for value in self._values(node.args[0], file, depth + 1) or UNKNOWN]
        inside = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        names = {name.id: name for name in ast.walk(node) if isinstance(name, ast.Name) and name.id not in inside}
        chosen_names = list(names)
        values = []
        for chosen in _product([self._of_name(names[name], file, depth) for name in chosen_names]):
            try:
                code = compile(ast.Expression(node), file.module, "eval")  # type: ignore[arg-type]
                values.append(eval(code, {**file.names, **dict(zip(chosen_names, chosen, strict=True))}))
            except Exception:  # whatever comes of what is no real value
                continue
        return values

    def _of_name(self, name: ast.Name, file: SourceFile, depth: int) -> list[Any]:
        for scope in file.around(name):
            bound = list(self._bound(name.id, scope, file, depth))
            if bound:
                return [value for values in bound for value in values] or list(UNKNOWN)
        return [file.names[name.id]] if name.id in file.names else list(UNKNOWN)

    def _bound(self, name: str, scope: ast.AST, file: SourceFile, depth: int) -> Iterator[list[Any]]:
        """Values of each place of a scope that gives a name one."""
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            arguments = scope.args
            for index, argument in enumerate([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]):
                if argument.arg == name:
                    yield self._passed(scope, index, name, depth)
            by_position = [*arguments.posonlyargs, *arguments.args]
            defaults = zip(reversed(by_position), reversed(arguments.defaults), strict=False)
            for argument, default in [*defaults, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]:
                if argument.arg == name and default is not None:
                    yield self._values(default, file, depth + 1)
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(scope):
                match node:
                    case ast.Assign(targets=targets, value=value):
                        for target in targets:
                            yield from self._assigned(name, target, value, file, depth)
                    case (
                        ast.AnnAssign(target=target, value=ast.expr() as value)
                        | ast.NamedExpr(target=target, value=value)
                    ):
                        yield from self._assigned(name, target, value, file, depth)
                    case ast.For(target=target, iter=iterated):
                        yield from self._iterated(name, target, iterated, file, depth)
        for generator in getattr(scope, "generators", []):
            yield from self._iterated(name, generator.target, generator.iter, file, depth)

    def _assigned(
        self, name: str, target: ast.expr, value: ast.expr, file: SourceFile, depth: int
    ) -> Iterator[list[Any]]:
        if isinstance(target, ast.Name) and target.id == name:
            yield self._values(value, file, depth + 1)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, part in zip(target.elts, value.elts, strict=False):
                yield from self._assigned(name, one, part, file, depth)
        elif _index(name, target) is not None:
            yield [part for whole in self._values(value, file, depth + 1) for part in _part(name, target, whole)]

    def _iterated(
        self, name: str, target: ast.expr, iterated: ast.expr, file: SourceFile, depth: int
    ) -> Iterator[list[Any]]:
        if _index(name, target) is not None:
            found: list[Any] = []
            for whole in self._values(iterated, file, depth + 1):
                try:
                    elements = list(itertools.islice(whole, MOST_VALUES))
                except TypeError:
                    continue
                found += [part for element in elements for part in _part(name, target, element)]
            yield found

    def _passed(self, function: ast.AST, index: int, name: str, depth: int) -> list[Any]:
        """Values of a parameter where the function is called, by its name."""
        found: list[Any] = []
        for file, call in self.calls.get(getattr(function, "name", ""), ()):
            of_method = isinstance(call.func, ast.Attribute) and not isinstance(call.func.value, ast.Name)
            argument = _argument(call, index - of_method, name)
            if argument is not None and file.may_have_patterns:
                found += self._values(argument, file, depth + 1)
        return found[:MOST_VALUES]


def _function(call: ast.Call, file: SourceFile) -> str | None:
    """Which function of `re` is called, or "Regex"; None for all others."""
    name = _last_name(call.func)
    if name not in file.names and not isinstance(call.func, ast.Attribute):
        return None
    try:
        function = eval(compile(ast.Expression(call.func), file.module, "eval"), file.names)
    except Exception:  # a local name
        return None
    if function is tokenizers.Regex:
        return "Regex"
    return next((way for way in ("compile", *WAYS) if function is getattr(re, way)), None)


def _is_of_local_pattern(node: ast.AST, file: SourceFile) -> bool:
    """Whether a node is `name.search` or the like, where the name is not the module's: of a loop, or an argument."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr in WAYS
        and not (isinstance(node.value, ast.Name) and node.value.id in file.names)
    )


def _argument(call: ast.Call, index: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[index] if 0 <= index < len(call.args) else None


def _last_name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _product(choices: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    return itertools.islice(itertools.product(*choices), MOST_VALUES)


def _sum(left: Any, right: Any) -> Any:
    try:
        return left + right
    except TypeError:
        return None


def _index(name: str, target: ast.expr) -> int | None:
    """Where in a target a name is; 0 where it is the target itself."""
    if isinstance(target, ast.Name):
        return 0 if target.id == name else None
    parts = target.elts if isinstance(target, ast.Tuple) else []
    return next((n for n, part in enumerate(parts) if _index(name, part) is not None), None)


def _part(name: str, target: ast.expr, value: Any) -> Iterator[Any]:
    """What a name gets of a value that is taken apart."""
    if isinstance(target, ast.Name):
        yield value
        return
    index = _index(name, target)
    assert index is not None and isinstance(target, ast.Tuple)
    try:
        yield from _part(name, target.elts[index], list(value)[index])
    except (TypeError, IndexError):
        return
