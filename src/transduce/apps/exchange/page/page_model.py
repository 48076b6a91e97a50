"""Reads a model in Firefox's form for a page: its files, languages and card."""

from dataclasses import dataclass
from pathlib import Path

from transduce.apps.exchange.firefox.arithmetic import open_student
from transduce.apps.exchange.firefox.import_firefox import FirefoxFiles
from transduce.base.verification import CARD
from transduce.bundle.model_bundle import EXPORT
from transduce.inference.engines.exported import ExportedModel


@dataclass(frozen=True)
class PageModel:
    """A model in Firefox's form that a page can hold."""

    source: str
    """Code of the language it translates from."""
    target: str
    """Code of the language it translates to."""
    files: dict[str, bytes]
    """Contents of the model's files: model, source (the vocabulary), target if it has its own, and shortlist if any."""
    card: str
    """The model's description, in Markdown; may be empty."""


def read_page_model(folder: Path) -> PageModel:
    """Reads and verifies a folder that `transduce export --to firefox` wrote, or the uncompressed files of a model that
    was released for Firefox.

    Raises:
        CheckpointError: if a file is missing, damaged or changed, or does not fit the others.
        InputError: if it is a model of another kind.
    """
    if (folder / EXPORT).exists():
        ExportedModel.load(folder)  # an error for a file that has changed
    files = FirefoxFiles.open(folder)
    open_student(files.paths, files.config, files.tokenizers)
    paths = files.paths
    contents = {"model": paths.model, "source": paths.source_vocabulary}
    if not paths.is_shared:
        contents["target"] = paths.target_vocabulary
    if paths.shortlist.exists():
        contents["shortlist"] = paths.shortlist
    card = folder / CARD
    return PageModel(
        files.config.source,
        files.config.target,
        {name: path.read_bytes() for name, path in contents.items()},
        card.read_text(encoding="utf-8", errors="replace") if card.is_file() else "",
    )
