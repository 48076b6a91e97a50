"""Languages by the codes of DeepL's API, and the models that translate between them."""

from collections.abc import Iterable, Sequence
from typing import Any

from docsegments.language_codes import english_name, primary
from transduce.apps.projects.project import Project
from transduce.apps.serving.models import ServedModel
from transduce.apps.serving.refusals import RefusedError
from transduce.corpora.language_detector import canonical

VARIANTS = {
    "en": {"EN-GB": "English (British)", "EN-US": "English (American)"},
    "pt": {"PT-BR": "Portuguese (Brazilian)", "PT-PT": "Portuguese (European)"},
}
"""Target languages that clients choose in one of two forms; a model without a region is named by both."""
LONGEST = 20
"""The most characters of a code that an error shows."""


def source_languages(models: Iterable[ServedModel]) -> list[dict[str, Any]]:
    """Returns the languages that can be translated from, without regions."""
    codes = dict.fromkeys(base(model.source) for model in models)
    return [{"language": code, "name": english_name(code.lower())} for code in codes]


def target_languages(models: Iterable[ServedModel]) -> list[dict[str, Any]]:
    """Returns the languages that can be translated into; none has degrees of formality."""
    names: dict[str, str] = {}
    for model in models:
        code = model.target.replace("_", "-").upper()
        names |= VARIANTS.get(code.lower()) or {code: english_name(primary(code))}
    return [{"language": code, "name": name, "supports_formality": False} for code, name in names.items()]


def languages_for(models: Iterable[ServedModel], features: Sequence[str]) -> list[dict[str, Any]]:
    """Returns all languages as `/v3` lists them: each once, with what it can be used for."""
    models = list(models)
    sources = {entry["language"]: entry["name"] for entry in source_languages(models)}
    targets = {entry["language"]: entry["name"] for entry in target_languages(models)}
    return [
        {
            "lang": "-".join([code.partition("-")[0].lower(), *code.split("-")[1:]]),
            "name": name,
            "usable_as_source": code in sources,
            "usable_as_target": code in targets,
            "features": list(features),
        }
        for code, name in (sources | targets).items()
    ]


def base(code: str) -> str:
    """Returns the code of a language in capital letters, without a region."""
    return primary(code).upper()


def choose_models(
    models: Iterable[ServedModel], source: str | None, target: str, project: Project | None = None
) -> list[ServedModel]:
    """Returns the models for a direction, from any source if that is None, those of the same regions first; with a
    project, the one of its languages.

    Raises RefusedError (400) if there are none.
    """
    into = [model for model in models if canonical(model.target) == canonical(target)]
    if not into:
        raise _unsupported("target_lang", target)
    chosen = [model for model in into if source is None or canonical(model.source) == canonical(source)]
    if not chosen:
        raise _unsupported("source_lang", source or "")
    if project is not None:
        chosen = [model for model in chosen if (model.source, model.target) == (project.source, project.target)]
        if not chosen:
            raise RefusedError(400, f"The project is from {project.source} to {project.target}")
    return sorted(chosen, key=lambda model: (_differs(model.target, target), _differs(model.source, source or "")))


def _differs(code: str, wanted: str) -> bool:
    return code.replace("_", "-").casefold() != wanted.strip().replace("_", "-").casefold()


def _unsupported(name: str, value: str) -> RefusedError:
    return RefusedError(400, f"Value for '{name}' not supported: {value[:LONGEST]!r}; see GET /v2/languages")
