"""The rows: tiny recipes of every family in every task, and of each of its choices, found in the settings' types."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

import msgspec

from transduce.base.config import override
from transduce.base.ranges import members, number_of
from transduce.base.task_table import TASKS, find_task
from transduce.models.families import PhrasesConfig

SIZES = {
    "heads": 2,
    "kv_heads": 1,
    "encoder_dim": 4,
    "max_positions": 64,
    "memory": 6,
    "segments": 2,
    "window": 2,
    "first_token": 5,
}
"""Sizes of tiny models that differ from those that `_size` gives by the type alone; `encoder_dim` is half of
`decoder_dim`, as the dot score needs."""
COMPANIONS: dict[str, dict[str, Any]] = {
    "cutoffs": {"training.label_smoothing": 0.0},
    "narrowing": {"cutoffs": [5], "training.label_smoothing": 0.0},
    "reverse_source": {"bidirectional": False},
    "score_dim": {"score": "concat"},
    "uniform_bound": {"initialization": "uniform"},
    "fairseq": {"dim": 8},
    "marian": {"dim": 8},
    "sentencepiece": {"normalize": "NFKC"},
    "copy": {"encoder_dim": 8, "bidirectional": False},
}
"""Settings that a choice needs beside it, by its name or value; those with a dot are of other tables."""
UNTOLD = (
    "model",
    "training.start_from",
    "data.source",
    "data.target",
    "data.train",
    "data.validation",
    "data.test",
    "model.dim",
)
"""Settings that need not be told of, since others imply them."""
TRAINING = ("training", "optimizer", "tokenizer", "masking", "head")
"""Tables of how a model learns, whose choices are tried too."""
WRITING = ("translation", "language")
"""Tasks whose families learn each in its way; heads on text encoders learn alike, so their first family is enough."""
OF_ALL_TASKS = ("tokenizer",)
"""Tables whose choices are tried with the first family of all alone, since no family knows of them."""
LEFT_OUT = {
    "training": (
        *(
            "updates",
            "accumulate",
            "precision",
            "start_from",
            "epochs",
            "minutes",
        ),  # columns of their own, or in all rows
        *("compile", "activation_checkpointing", "sharding"),  # ways to compute the same: tests/training/ compares them
    ),
    "training.new_words": ("file", "min_pieces"),
    "optimizer": ("learning_rate", "schedule", "weight_decay"),  # numbers, of which no verb knows
    "tokenizer": ("file", "special", "source", "target", "size", "max_size", "shared", "normalize", "lowercase"),
    "model": (
        "size",
        "initialization",
        "embedding_dropout",
        "attention_dropout",
        "activation_dropout",
        "residual_dropout",
    ),
}
DATA: dict[str, dict[str, Any]] = {
    "translation": {
        name: [f"{file}.en", f"{file}.de"]
        for name, file in (("train", "train"), ("validation", "dev"), ("test", "test"))
    }
    | {"source": "en", "target": "de"},
    "language": {"train": "train.en", "validation": "dev.en", "test": "test.en"},
    "encoder": {"train": "train.en", "validation": "dev.en", "document_lines": 3},
    "classification": {"train": "classes.tsv", "validation": "classes.tsv", "test": "classes.tsv"},
    "tagging": {"train": "tags.conll", "validation": "tags.conll", "test": "tags.conll"},
    "answering": {"train": "asked.json", "validation": "asked.json", "test": "asked.json"},
}
BATCHING: dict[str, dict[str, Any]] = {
    "translation": {"target_tokens": 96},
    "language": {"window": 8, "target_tokens": 64},
}
DIRECTIONS: dict[str, Any] = {
    "data.source": None,
    "data.target": None,
    "data.directions": ["en-de", "de-en"],
    "data.train": [{"files": ["train.en", "train.de"]}],
    "data.validation": [{"files": ["dev.en", "dev.de"]}],
    "data.test": [{"files": ["test.en", "test.de"]}],
}
PIECES: dict[str, Any] = {"tokenizer.kind": "sentencepiece", "tokenizer.normalize": "NFKC", "tokenizer.shared": True}
MARIAN: dict[str, Any] = {"model.norm": "post", "model.tie": "all", "model.output_bias": True}
MARIAN_MT = {**MARIAN, "model.positions": "concatenated", **PIECES}
STUDENT = {
    **MARIAN,
    "model.dim": 64,
    "model.feed_forward_dim": 64,
    "model.positions": "marian",
    "model.decoder_start": "zeros",
    "model.decoder_recurrence": "ssru",
    **PIECES,
}
TOGETHER: dict[str, list[dict[str, Any]]] = {
    "translation": [DIRECTIONS, {**DIRECTIONS, "data.language_token": "decoder"}, MARIAN_MT, STUDENT],
    "language": [{"model.positions": "learned"}],
    "classification": [{"data.second": 2, "data.label": 3}],
}
"""Settings that go together, with each task's first family: data of other kinds, and the forms of other programs."""


@dataclass(frozen=True)
class Row:
    """A tiny recipe."""

    task: str
    family: str
    """What `model.kind` says."""
    changes: str
    """All settings that differ from the family's defaults, as JSON of dotted keys."""

    @property
    def choice(self) -> str:
        """The settings that differ, for people; empty for the family's defaults."""
        told = {key: value for key, value in msgspec.json.decode(self.changes).items() if key not in UNTOLD}
        return ", ".join(f"{key}={_shown(value)}" for key, value in told.items())

    @property
    def name(self) -> str:
        """Task, family and choice."""
        return " ".join(filter(None, (self.task, self.family, self.choice)))

    @property
    def recipe(self) -> dict[str, Any]:
        """The settings, as a tree."""
        tree: dict[str, Any] = override(base_of(self.task, self.family), msgspec.json.decode(self.changes))
        return tree

    @property
    def is_exact(self) -> bool:
        """True if a batch in parts teaches the same as a whole one: not where each part draws numbers of its own, nor
        where Muon makes rounding errors of small singular values as large as the others."""
        draws = ("dropout", "hard", "teacher_forcing", "muon")
        return not any(word in self.changes for word in draws)


def every_row() -> list[Row]:
    """Each family's defaults in every task, each choice of its settings alone, and the choices of how it learns.

    A choice that several families of a task have is tried with the first of them, and text encoders' own in one task.
    """
    rows: list[Row] = []
    seen: set[tuple[bool, str]] = set()
    for task in TASKS:
        for place, family in enumerate(families(task)):
            kind = str(family.__struct_config__.tag)
            rows.append(Row(task, kind, "{}"))
            for changes in map(_json, _choices(family, "model")):
                if (task in WRITING, changes) not in seen:
                    seen.add((task in WRITING, changes))
                    rows.append(Row(task, kind, changes))
            if place == 0 or task in WRITING:
                rows += [Row(task, kind, _json(changes)) for changes in _choices_of_learning(task, is_first=place == 0)]
    return rows


def families(task: str) -> list[type[msgspec.Struct]]:
    """The settings of the families that a task's models may be of, without that which is learned without updates."""
    model = next(field.type for field in msgspec.structs.fields(find_task(task).config) if field.name == "model")
    return [family for family in _tables(model) if family is not PhrasesConfig]


def _choices_of_learning(task: str, is_first: bool) -> Iterator[dict[str, Any]]:
    config = find_task(task).config
    for field in msgspec.structs.fields(config):
        if field.name in OF_ALL_TASKS and not (is_first and task == next(iter(TASKS))):
            continue
        if field.name in TRAINING:
            for changes in _choices(_tables(field.type)[0], field.name):
                needs_base = any(key.startswith(("training.adapters", "training.new_words")) for key in changes)
                start: dict[str, Any] = {"training.start_from": "base/model"}
                start |= {"model": None} if task not in WRITING else {}  # what an encoder starts from says what it is
                yield changes | (start if needs_base else {})
        elif not _tables(field.type) and field.name not in ("task", "seed", "phrases"):
            yield from ({field.name: value} for value in _values(field.type, field.default, field.name))
    if is_first:
        yield from TOGETHER.get(task, ())


def _json(changes: Mapping[str, Any]) -> str:
    return msgspec.json.encode(changes).decode()


def base_of(task: str, family: str) -> dict[str, Any]:
    """The tiny settings of a family's defaults."""
    types = {str(one.__struct_config__.tag): one for one in families(task)}
    tokenizer = {"kind": "bert", "size": 300} if task == "encoder" else {"kind": "words", "min_frequency": 1}
    return {
        "task": task,
        "data": DATA[task],
        "tokenizer": tokenizer,
        "model": {"kind": family, **_sizes(types[family])},
        "batching": BATCHING.get(task, {"examples": 6, "max_tokens": 32}),
        "training": {"updates": 4, "precision": "float32", "report_every": 1},
        # So large an epsilon leaves Adam's steps proportional to gradients: rounding errors stay as small as they are.
        "optimizer": {"learning_rate": 0.1, "epsilon": 1.0, "schedule": {"kind": "constant", "warmup": 1}},
        "checkpoint": {"every_updates": 2, "keep_last": 9},
        "validation": {"every_updates": 4},
    } | ({"search": {"size": 1, "max_ratio": 0.0, "max_extra": 3}} if task == "translation" else {})


def _sizes(type_: type[msgspec.Struct]) -> dict[str, Any]:
    """Tiny sizes for each setting that is one, and no dropout."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(type_):
        if field.name in SIZES and field.name not in ("first_token", "kv_heads"):
            found[field.name] = SIZES[field.name]
        elif field.name.endswith("dropout") and isinstance(field.default, float):
            found[field.name] = 0.0
        elif (size := _size(field)) is not None:
            found[field.name] = size
    return found


def _size(field: msgspec.structs.FieldInfo) -> int | None:
    if field.name.endswith("layers"):
        return 1
    is_width = field.name == "dim" or field.name.endswith("_dim")
    return 8 if is_width and (isinstance(field.default, int) or field.name == "dim") else None


def _choices(type_: type[msgspec.Struct], prefix: str) -> Iterator[dict[str, Any]]:
    """For each choice of a table that is not its default: dotted keys and values, with what it needs beside it."""
    of_model = prefix.startswith("model")
    sizes = _sizes(type_) if of_model else {}
    for field in msgspec.structs.fields(type_):
        is_size = field.name in sizes and "dropout" not in field.name
        if is_size or field.name in LEFT_OUT.get(prefix, ()):
            continue
        key, tables = f"{prefix}.{field.name}", _tables(field.type)
        for table in tables:
            tag = table.__struct_config__.tag
            made = {f"{key}.kind": str(tag)} if tag is not None else {}
            made |= {f"{key}.{name}": size for name, size in _sizes(table).items()} if of_model else {}
            if made and not isinstance(field.default, table):
                yield made
            elif not made and field.default is None and _is_whole(table):
                yield {key: {}}
            yield from ({**made, **deeper} for deeper in _choices(table, key))
        if not tables:
            for value in _values(field.type, field.default, field.name):
                if value == "file":  # of one's own, which is of no kind
                    continue
                word = value if isinstance(value, str) and value in COMPANIONS else field.name
                beside = COMPANIONS.get(key, COMPANIONS.get(word, {}))
                yield {key: value} | {
                    (name if "." in name else f"{prefix}.{name}"): one for name, one in beside.items()
                }


def _is_whole(table: type[msgspec.Struct]) -> bool:
    """Returns True if a table needs no setting."""
    try:
        table()
    except (TypeError, ValueError):
        return False
    return True


def _values(type_: Any, default: Any, name: str) -> list[Any]:
    """Values of a setting that are not its default, one of each kind that matters."""
    found: list[Any] = []
    for member in members(type_):
        if get_origin(member) is Literal:
            found += [value for value in get_args(member) if value != default]
        elif member is bool:
            found.append(not default)
        elif get_origin(member) is tuple and name != "betas":
            found.append([5] if "int" in str(member) else [])
    number = number_of(type_)
    if number is not None and not found:
        is_share = number.kind is float and default in (None, 0.0, 1.0)
        found += [0.3] if is_share else [SIZES.get(name, 2)] if number.kind is int and default in (None, 1) else []
    return [value for value in found if value != []]


def _tables(type_: Any) -> list[type[msgspec.Struct]]:
    return [one for one in members(type_) if isinstance(one, type) and issubclass(one, msgspec.Struct)]


def _shown(value: Any) -> str:
    return "{}" if value == {} else str(value).lower() if isinstance(value, bool) else str(value)
