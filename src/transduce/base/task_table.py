"""The table of tasks: the values of `task` in a recipe, the tool that runs each task's models, and its module."""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Literal

from transduce.base.errors import ConfigError, InputError

Tool = Literal["translator", "generator", "classifier", "tagger", "answerer", "encoder"]
"""The tools that run models: inference/translator.py and so on."""

ProbeKind = Literal["pairs", "texts"]
"""The contents of a bundle's probe: sources with targets that the model scores, or texts that it reads; see
probe.py."""


@dataclass(frozen=True)
class TaskEntry:
    """A row of the table."""

    title: str
    """The name of its models, with the article."""
    tool: Tool
    example: str
    """An example command that uses the model MODEL."""
    place: str
    """Module and name of the task's Task; see tasks/task.py."""
    probe: ProbeKind = "pairs"


TASKS = {
    "translation": TaskEntry(
        "a translation model",
        "translator",
        "echo 'a sentence' | transduce translate MODEL",
        "transduce.tasks.translation.translation_task:TRANSLATION",
    ),
    "language": TaskEntry(
        "a language model",
        "generator",
        "transduce generate MODEL 'To be'",
        "transduce.tasks.language.language_task:LANGUAGE",
    ),
    "encoder": TaskEntry(
        "a text encoder",
        "encoder",
        "echo 'a sentence' | transduce embed MODEL",
        "transduce.tasks.pretraining:ENCODER",
        "texts",
    ),
    "tagging": TaskEntry(
        "a tagger",
        "tagger",
        "echo 'a sentence' | transduce tag MODEL",
        "transduce.tasks.tagging:TAGGING",
        "texts",
    ),
    "answering": TaskEntry(
        "a model that answers questions",
        "answerer",
        "echo 'a question?' | transduce answer MODEL --passage FILE",
        "transduce.tasks.answering:ANSWERING",
        "texts",
    ),
    "classification": TaskEntry(
        "a classifier",
        "classifier",
        "echo 'a sentence' | transduce classify MODEL",
        "transduce.tasks.classification:CLASSIFICATION",
        "texts",
    ),
}


def find_task(name: object) -> Any:
    """Imports and returns the Task of a name; ConfigError for an unknown name."""
    if not isinstance(name, str) or name not in TASKS:
        raise ConfigError(f"task: no task '{name}'; there are {', '.join(TASKS)}")
    return resolve_name(TASKS[name].place)


def check_task(model: object, task: str, wanted: str) -> None:
    """Raises InputError, with a fitting command, for a model of another task than the one wanted."""
    if task != wanted:
        raise _not_for(model, task)


def check_tool(model: object, task: str, wanted: str) -> None:
    """Raises InputError, with a fitting command, for a model of a task whose models another tool runs."""
    if TASKS[task].tool != wanted:
        raise _not_for(model, task)


def check_writes(model: object, task: str) -> None:
    """Raises InputError, with a fitting command, for a model that does not predict next tokens."""
    if TASKS[task].probe != "pairs":
        raise _not_for(model, task)


def check_reads_texts(model: object, task: str) -> None:
    """Raises InputError, with a fitting command, for a model without a text encoder."""
    if TASKS[task].probe != "texts":
        raise _not_for(model, task)


def _not_for(model: object, task: str) -> InputError:
    return InputError(f"{model} is {TASKS[task].title}, which is not supported here; try: {TASKS[task].example}")
