"""Writes the card of an exported model as the hub reads it: the bundle's facts as YAML, and text below."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from transduce.base.errors import InputError
from transduce.base.task_table import TASKS, Tool
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle, card_of
from transduce.bundle.model_card import IDENTIFIER
from transduce.corpora.languages import is_language
from transduce.evaluation.metrics import TITLES

PIPELINES: Mapping[Tool, str] = {
    "translator": "translation",
    "generator": "text-generation",
    "encoder": "fill-mask",
    "classifier": "text-classification",
    "tagger": "token-classification",
    "answerer": "question-answering",
}
"""The hub's names of tasks, by the tool that runs a task's models."""
GENERAL_SCORES = "general_"
"""The beginning of the names of scores on the text that an adapted model should not forget."""


def check_license(license: str | None) -> None:
    """Raises InputError for a licence that is not an identifier of the hub."""
    if license is not None and not IDENTIFIER.fullmatch(license):
        raise InputError(
            f"the licence is {license!r}; expected an identifier of the hub, such as apache-2.0, mit or other"
        )


def hub_card(bundle: ModelBundle, architecture: str, license: str | None) -> str:
    """Returns a README.md (huggingface.co/docs/hub/model-cards) with a model-index of the bundle's test scores.

    Args:
        bundle: the model to describe.
        architecture: the class of transformers that runs the model.
        license: the hub's identifier (default: none is stated).
    """
    name = "-".join(dict.fromkeys((bundle.config.source, bundle.config.target)))
    facts: dict[str, Any] = {
        "language": _languages(bundle.config),
        "license": license,
        "library_name": "transformers",
        "pipeline_tag": _pipeline(bundle.config),
        "tags": ["transduce"],
    }
    if scores := _metrics(bundle.history.get("test")):
        facts["metrics"] = [score["type"] for score in scores]
        facts["model-index"] = [{"name": name, "results": [_result(bundle, scores)]}]
    stated = {key: value for key, value in facts.items() if value not in (None, [])}
    use = f"""    from transformers import AutoTokenizer, {architecture}

    model = {architecture}.from_pretrained("FOLDER")
    tokenizer = AutoTokenizer.from_pretrained("FOLDER")"""
    front = "\n".join(_yaml(stated))
    return f"---\n{front}\n---\n\n{card_of(bundle, use)}"


def _pipeline(config: BundleConfig) -> str:
    """Returns the hub's name of the task; an encoder without a head for masked words only extracts features."""
    is_headless = config.task == "encoder" and config.head is None
    return "feature-extraction" if is_headless else PIPELINES[TASKS[config.task].tool]


def _languages(config: BundleConfig) -> list[str]:
    """Returns language codes in the hub's form, without regions and scripts."""
    known = (config.source, config.target) if config.languages is None else config.languages.tokens
    return list(dict.fromkeys(code.partition("_")[0] for code in known if is_language(code)))


def _result(bundle: ModelBundle, metrics: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the scores on a test set, with its name and identifier, which the hub requires."""
    data = str(bundle.history.get("data", "unknown"))
    return {
        "task": {"type": _pipeline(bundle.config)},
        "dataset": {"name": data, "type": re.sub(r"[^a-z0-9._-]+", "-", data.lower()).strip("-."), "split": "test"},
        "metrics": metrics,
    }


def _metrics(test: object) -> list[dict[str, Any]]:
    """Returns the scores of a bundle's test, without those on a general text; the signature and the interval are the
    arguments of the first score."""
    if not isinstance(test, Mapping):
        return []
    how = {key: test[key] for key in ("signature", "interval") if key in test}
    scores = {
        key: value for key, value in test.items() if isinstance(value, float) and not key.startswith(GENERAL_SCORES)
    }
    return [
        {"type": key, "value": value, "name": TITLES.get(key, key.replace("_", " "))}
        | ({"args": how} if how and index == 0 else {})
        for index, (key, value) in enumerate(scores.items())
    ]


def _yaml(value: Any) -> Iterator[str]:
    """Yields lines of YAML; text is quoted as in JSON, which YAML has too."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, Mapping | list):
                yield f"{key}:"
                yield from (f"  {line}" for line in _yaml(item))
            else:
                yield f"{key}: {_scalar(item)}"
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, Mapping):
                first, *others = _yaml(item)
                yield f"- {first}"
                yield from (f"  {line}" for line in others)
            else:
                yield f"- {_scalar(item)}"


def _scalar(value: Any) -> str:
    """Writes plain words unquoted, other values as in JSON."""
    is_word = isinstance(value, str) and re.fullmatch(r"[A-Za-z][A-Za-z-]+[.\d]*", value)
    plain = is_word and value.lower() not in ("no", "yes", "on", "off", "true", "false", "null")
    return str(value) if plain else json.dumps(value, ensure_ascii=False)
