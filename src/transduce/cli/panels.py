"""The groups in which `--help` shows the options of verbs that have many."""

import copy
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
    "Documents": "format memory retranslate fill_only encoding log source_language target_language",
    "Output": "output resume json details explain quiet",
}


def in_panels(verb: Verb) -> Verb:
    """The verb, with its options grouped; options that it shares with other verbs stay as they are there."""
    panel_of = {name: panel for panel, names in PANELS.items() for name in names.split()}
    for name, annotation in verb.__annotations__.items():
        metadata = getattr(annotation, "__metadata__", ())
        if name in panel_of and metadata and isinstance(metadata[0], OptionInfo):
            option = copy.copy(metadata[0])
            option.rich_help_panel = panel_of[name]
            verb.__annotations__[name] = Annotated[get_args(annotation)[0], option]
    return verb
