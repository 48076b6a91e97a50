"""Writes docs/settings.md from the settings' own declarations: `python docs/make_settings.py > docs/settings.md`."""

import inspect
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import msgspec

from transduce.apps.cli.fields import meanings_of
from transduce.base.config import Settings
from transduce.base.ranges import LARGEST, MOST, members, number_of
from transduce.experiment import TranslationConfig
from transduce.tasks.answering import AnsweringConfig
from transduce.tasks.classification import ClassificationConfig
from transduce.tasks.language.language_settings import LanguageConfig
from transduce.tasks.pretraining import PretrainingConfig
from transduce.tasks.tagging import TaggingConfig

INTRODUCTION = f"""# Settings

Every table of an experiment's TOML file: each setting's values, default and meaning. On the command line a setting is
`table.key=value`. A number beyond its range is an error before anything is written; where no upper bound is shown,
whole numbers go to {MOST:,} (seeds to 2^63 - 1) and others to {LARGEST:g}; none may be infinite. This page is made
from the code by `python docs/make_settings.py > docs/settings.md`.
Where a table has several kinds, names of kinds before a colon say which of them have a setting, or a default.
"""

PARTS: list[tuple[str, type[Settings], tuple[str, ...]]] = [
    ("", TranslationConfig, ()),
    (
        """# With task = "language"

A language model has the tables above but `[search]`, and these in place of those of the same name.
""",
        LanguageConfig,
        ("data", "model", "batching"),
    ),
    (
        """# With task = "classification"

A classifier, of texts or of pairs of texts, has the tables above but `[search]`, and these in place of those of the
same name; beside them `predict` at the top level: "class" (the default), or "score" where labels are numbers,
and `pooling`: "pooler" (the default), "mean" of all tokens' vectors, or the "first" token's.
""",
        ClassificationConfig,
        ("data", "model", "batching"),
    ),
    (
        """# With task = "tagging"

A tagger has the tables of a classifier, and this in place of the one of the same name.
""",
        TaggingConfig,
        ("data",),
    ),
    (
        """# With task = "answering"

A model that answers questions has the tables of a classifier, and these in place of those of the same name.
""",
        AnsweringConfig,
        ("data", "head"),
    ),
    (
        """# With task = "encoder"

The pre-training of a text encoder has the tables of a classifier, and these in place of those of the same name; beside
them `next_sentence` at the top level: whether it also learns if a text follows another (true, the default).
""",
        PretrainingConfig,
        ("data", "masking"),
    ),
]
"""Introductions, settings, and the tables that are not as those of the parts before; none: all tables."""


def main() -> None:
    """Print the page."""
    print(INTRODUCTION)
    known = Known({}, set())
    for introduction, config, names in PARTS:
        if introduction:
            print(introduction)
        for paths, classes in _sections(config, names):
            print("\n".join(_table(paths, classes, known)))


class Row(NamedTuple):
    """A setting."""

    name: str
    values: str
    default: str
    meaning: str


class Known(NamedTuple):
    """Settings and classes that the page of settings lists already."""

    rows: dict[tuple[str, Row], str]
    """Titles of the tables that have these settings, by the table around and the setting."""
    classes: set[type[Settings]]


def _sections(config: type[Settings], names: tuple[str, ...]) -> list[tuple[list[str], tuple[type[Settings], ...]]]:
    """Tables of an experiment with the classes that each may be; tables of the same classes are one."""
    found: dict[tuple[type[Settings], ...], list[str]] = {} if names else {(config,): [""]}

    def add(path: str, classes: tuple[type[Settings], ...]) -> None:
        found.setdefault(classes, []).append(path)
        inner: dict[str, dict[type[Settings], None]] = {}
        for field in (field for table in classes for field in msgspec.structs.fields(table)):
            for member in members(field.type):
                for name, each in [
                    (f"{path}.{field.name}", member),
                    *((f"[{path}.{field.name}]", item) for item in _items(member)),
                ]:
                    if _is_table(each):
                        inner.setdefault(name, {})[each] = None
        for name, kinds in inner.items():
            add(name, tuple(kinds))

    for field in msgspec.structs.fields(config):
        tables = tuple(member for member in members(field.type) if _is_table(member))
        if tables and (not names or field.name in names):
            add(field.name, tables)
    return [(paths, classes) for classes, paths in found.items()]


def _table(paths: list[str], classes: tuple[type[Settings], ...], known: Known) -> Iterator[str]:
    """One table for all kinds: a line for each kind, and for each setting, which names its kinds if not all have it.

    What a class without kinds is for is the heading of its last column. A setting that a table beside it has, or the
    same table of an earlier task, is named alone.
    """
    title, place = ", ".join(f"`[{path}]`" for path in paths), paths[0].strip("[]")
    around = place.rpartition(".")[0] or place
    yield f"## {title}" if paths != [""] else "## Top level"
    docs = {table: " ".join((inspect.getdoc(table) or "").split()).replace("|", "\\|") for table in classes}
    kinds = {table: str(table.__struct_config__.tag or "") for table in classes}
    kind = kinds[classes[0]]
    about = docs[classes[0]] + (f' `kind = "{kind}"`' if kind else "") if len(classes) == 1 else "meaning"
    lines, same = [], {}
    rows: dict[Row, dict[str, list[str]]] = {}
    for table in classes:
        is_new = table not in known.classes or len(classes) == 1
        if len(classes) > 1:
            lines.append(f'| `kind` | "{kinds[table]}" | | {docs[table]}{"" if is_new else " Settings as above."} |')
        for row in _rows(table, is_top=paths == [""]) if is_new else ():
            if len(classes) == 1 and (where := known.rows.get((around, row)) or known.rows.get((place, row))):
                same.setdefault(where, []).append(f"`{row.name}`")
                continue
            known.rows[around, row] = known.rows[place, row] = title
            rows.setdefault(row._replace(default=""), {}).setdefault(row.default, []).append(kinds[table])
        known.classes.add(table)
    order = list(dict.fromkeys(row.name for row in rows))
    for row, defaults in sorted(rows.items(), key=lambda kept: order.index(kept[0].name)):
        of = [kind for kept in defaults.values() for kind in kept]
        default = "; ".join(f"{', '.join(kept)}: {default or 'none'}" for default, kept in defaults.items())
        meaning = row.meaning if len(of) == len(classes) else f"{', '.join(of)}: {row.meaning}"
        lines.append(
            f"| `{row.name}` | {row.values} | {default if len(defaults) > 1 else next(iter(defaults))} | {meaning} |"
        )
    yield f"| setting | values | default | {about} |\n| --- | --- | --- | --- |"
    yield from (
        f"| {', '.join(names)} | | | As in {where}{' above' * (where == title)}. |" for where, names in same.items()
    )
    yield from lines
    yield ""


def _rows(table: type[Settings], is_top: bool) -> Iterator[Row]:
    """Each setting of a class; at the top level those that are no tables, which have a section of their own."""
    meanings = meanings_of(table)
    for field in msgspec.structs.fields(table):
        if not (is_top and any(_is_table(member) for member in members(field.type))):
            number = number_of(field.type)
            values = " ".join(filter(None, (_type(field.type), number.describe() if number else "")))
            yield Row(field.name, values, _default(field), meanings[field.name].replace("|", "\\|"))


def _items(type_: Any) -> tuple[Any, ...]:
    """What a list may hold."""
    return members(get_args(type_)[0]) if get_origin(type_) in (list, tuple) else ()


def _is_table(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, Settings)


def _type(type_: Any) -> str:
    names = []
    for member in members(type_):
        if get_origin(member) is Literal:
            names += [f'"{choice}"' for choice in get_args(member)]
        elif get_origin(member) in (list, tuple):
            names.append("list")
        elif _is_table(member):
            names.append("table")
        elif get_origin(member) is Annotated:
            names.append({int: "integer", float: "number"}[get_args(member)[0]])
        elif member is not type(None):
            names.append({str: "text", bool: "true or false", int: "integer"}[member])
    return ", ".join(dict.fromkeys(names))


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    if field.default is None:
        return ""
    if isinstance(field.default, Settings):
        tag = field.default.__struct_config__.tag
        return f'kind = "{tag}"' if tag else "its own defaults"
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return f"`{list(field.default) if isinstance(field.default, tuple) else field.default}`"


if __name__ == "__main__":
    main()
