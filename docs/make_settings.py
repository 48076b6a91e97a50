"""Writes docs/settings.md from the settings' own declarations: `python docs/make_settings.py > docs/settings.md`."""

import inspect
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from transduce.cli.fields import meanings_of
from transduce.config import Settings
from transduce.experiment import TranslationConfig
from transduce.ranges import LARGEST, MOST, members, number_of
from transduce.tasks.answering import AnsweringConfig
from transduce.tasks.classification import ClassificationConfig
from transduce.tasks.encoder import PretrainingConfig
from transduce.tasks.language.settings import LanguageConfig
from transduce.tasks.tagging import TaggingConfig

INTRODUCTION = f"""# Settings

Every table of an experiment's TOML file: each setting's type, default and meaning. On the command line a setting is
`table.key=value`. A number beyond its range is an error before anything is written; where no upper bound is shown,
whole numbers go to {MOST:,} (seeds to 2^63 - 1) and others to {LARGEST:g}; none may be infinite. This page is made
from the code by `python docs/make_settings.py > docs/settings.md`.
"""

LANGUAGE_MODELS = """# With task = "language"

A language model has the tables above but `[search]`, and these in place of those of the same name.
"""
OF_LANGUAGE_MODELS = ("data", "model", "batching")

CLASSIFIERS = """# With task = "classification"

A classifier, of texts or of pairs of texts, has the tables above but `[search]`, and these in place of those of the
same name; beside them `predict` at the top level: "class" (the default), or "score" where labels are numbers,
and `pooling`: "pooler" (the default), "mean" of all tokens' vectors, or the "first" token's.
"""
OF_CLASSIFIERS = ("data", "model", "batching")

TAGGERS = """# With task = "tagging"

A tagger has the tables of a classifier, and these in place of those of the same name.
"""
OF_TAGGERS = ("data",)

ANSWERERS = """# With task = "answering"

A model that answers questions has the tables of a classifier, and these in place of those of the same name.
"""
OF_ANSWERERS = ("data", "head")

ENCODERS = """# With task = "encoder"

The pre-training of a text encoder has the tables of a classifier, and these in place of those of the same name; beside
them `next_sentence` at the top level: whether it also learns if a text follows another (true, the default).
"""
OF_ENCODERS = ("data", "masking")


def main() -> None:
    """Print the page."""
    print(INTRODUCTION)
    print("\n".join(_section("", TranslationConfig)))
    for introduction, config, names in (
        (LANGUAGE_MODELS, LanguageConfig, OF_LANGUAGE_MODELS),
        (CLASSIFIERS, ClassificationConfig, OF_CLASSIFIERS),
        (TAGGERS, TaggingConfig, OF_TAGGERS),
        (ANSWERERS, AnsweringConfig, OF_ANSWERERS),
        (ENCODERS, PretrainingConfig, OF_ENCODERS),
    ):
        print(introduction)
        for field in msgspec.structs.fields(config):
            for table in members(field.type) if field.name in names else ():
                if _is_table(table):
                    print("\n".join(_section(field.name, table)))


def _section(path: str, table: type[Settings]) -> Iterator[str]:
    """The table's settings, then the tables in it."""
    tag = table.__struct_config__.tag
    title = f"`[{path}]`" if path else "Top level"
    yield f"## {title}{f' with kind = {chr(34)}{tag}{chr(34)}' if tag else ''}\n"
    yield f"{inspect.cleandoc(table.__doc__ or '')}\n"
    yield "| setting | type | range | default | meaning |\n| --- | --- | --- | --- | --- |"
    meanings = meanings_of(table)
    inner: list[tuple[str, type[Settings]]] = []
    for field in msgspec.structs.fields(table):
        allowed = members(field.type)
        tables = [member for member in allowed if _is_table(member)]
        inner += [(f"{path}.{field.name}".lstrip("."), member) for member in tables]
        inner += [(f"[{path}.{field.name}]", item) for member in allowed for item in _items(member) if _is_table(item)]
        if tables and not path:
            continue  # a section of its own says more
        meaning = meanings[field.name].replace("|", "\\|")
        number = number_of(field.type)
        range_ = number.describe() if number else ""
        yield f"| `{field.name}` | {_type(field.type)} | {range_} | {_default(field)} | {meaning} |"
    yield ""
    for name, member in inner:
        yield from _section(name, member)


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
