"""The groups in which `--help` shows the options of verbs that have many."""

import copy
import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_args

from typer.models import OptionInfo

Verb = TypeVar("Verb", bound=Callable[..., Any])

PANELS = {
    "Search": (
        "beam_size length_penalty normalization coverage_penalty groups diversity n_best no_repeat_ngram "
        "repetition_penalty allow_unknown"
    ),
    "Sampling": "sample mbr temperature top_k top_p min_p seed",
    "Length": "max_ratio max_extra min_ratio max_tokens stop",
    "Constraints": "prefix prefix_file glossary",
    "Model and machine": "with_ engine device threads precision shortlist shortlist_file compile",
    "Languages": "to from_",
    "Documents": (
        "format memory retranslate fill_only encoding log source_language target_language source_column target_column"
    ),
    "Output": "output resume json details explain quiet",
}


def in_panels(verb: Verb) -> Verb:
    """Returns the verb, with its options grouped; options that it shares with other verbs stay as they are there."""
    signature = inspect.signature(verb)
    parameters = [_in_panel(parameter) for parameter in signature.parameters.values()]
    verb.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return verb


def _in_panel(parameter: inspect.Parameter) -> inspect.Parameter:
    option = next(iter(getattr(parameter.annotation, "__metadata__", ())), None)
    panel = next((panel for panel, names in PANELS.items() if parameter.name in names.split()), None)
    if panel is None or not isinstance(option, OptionInfo):
        return parameter
    option = copy.copy(option)
    option.rich_help_panel = panel
    return parameter.replace(annotation=Annotated[get_args(parameter.annotation)[0], option])
