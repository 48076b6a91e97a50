"""Finds models on the Hugging Face hub by name, and downloads what an import needs of them into the hub's own cache."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from docsegments.extras import require
from transduce.apps.exchange.huggingface.folder import (
    CONFIG,
    GENERATION,
    INDEX,
    PICKLED,
    PICKLED_INDEX,
    SLOW_TOKENIZER,
    SPECIAL_TOKENS,
    TOKENIZER,
    TOKENIZER_CONFIG,
    VOCABULARY,
    WEIGHTS,
    read_fields,
    read_index,
)
from transduce.apps.exchange.huggingface.huggingface_families import family_of_folder
from transduce.apps.exchange.huggingface.pushing import is_repository_name
from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import sha256

DESCRIPTIONS = (
    CONFIG,
    GENERATION,
    TOKENIZER,
    TOKENIZER_CONFIG,
    SPECIAL_TOKENS,
    *SLOW_TOKENIZER,
    VOCABULARY,
    "source.spm",
    "target.spm",
    "sentencepiece.bpe.model",
)
"""The files that say what a model is, as far as it has them."""
MEGABYTE = 2**20
Result = TypeVar("Result")


@dataclass(frozen=True)
class HubModel:
    """A model on the hub, in one revision."""

    name: str
    revision: str
    """The hash of its commit."""
    licence: str
    sizes: dict[str, int]
    """The bytes of each of its files; 0 if unknown."""
    sha256: dict[str, str]
    """The SHA-256 of its large files."""

    @property
    def needed(self) -> list[str]:
        """The files that are downloaded, but for the parts of weights that an index names."""
        weights = next((name for name in (WEIGHTS, INDEX, PICKLED, PICKLED_INDEX) if name in self.sizes), None)
        if weights is None:
            raise InputError(f"{self.name} has no weights on the hub; expected {WEIGHTS} or {PICKLED}")
        return [*(name for name in DESCRIPTIONS if name in self.sizes), weights]

    def describe(self, files: list[str]) -> str:
        """Returns one line for people."""
        size = sum(self.sizes.get(name, 0) for name in files) / MEGABYTE
        return f"{self.name} at {self.revision[:12]}: licence {self.licence}, {len(files)} files, {size:,.1f} MB"


def is_on_hub(path: str | Path) -> bool:
    """Returns True for a name OWNER/NAME that is not a path here."""
    return is_repository_name(str(path)) and not os.path.lexists(path)


def fetch_model(
    name: str, revision: str | None = None, tell: Callable[[str], None] = lambda line: None
) -> tuple[Path, dict[str, Any]]:
    """Returns a folder with a model of the hub, and where it comes from; files that the cache has are not downloaded.

    What a model is, its licence and its size are reported before its weights are downloaded. An interrupted download is
    continued, and large files are compared with the checksums of the hub. The environment variables HF_ENDPOINT,
    HF_HOME, HF_TOKEN and HF_HUB_OFFLINE are those of huggingface_hub; offline, the cache must have the model.

    Args:
        name: OWNER/NAME.
        revision: a branch, a tag or a commit (default: the main branch as it is now).
        tell: receives lines for people.

    Raises InputError if huggingface_hub is not installed, the hub has no such model, does not give it, or cannot be
    reached, or if the model is of no supported family; CheckpointError for a download that is not what the hub has.
    """
    library = require("huggingface_hub", "hub")
    if sys.stderr is None or not sys.stderr.isatty():
        import_module("huggingface_hub.utils").disable_progress_bars()
    if is_offline():
        known = {"repo_id": name, "revision": revision, "local_files_only": True}
        folder = Path(_ask(name, revision, lambda: library.snapshot_download(**known)))
        tell(f"{name} at {folder.name[:12]}, from the cache: HF_HUB_OFFLINE is set, so that its licence is not known")
        return folder, {"hub": name, "revision": folder.name}
    model = find_model(name, revision)
    needed = model.needed
    folder = _download(model, CONFIG, revision or "main").parent  # so that the cache knows it by this revision, too
    if folder.name != model.revision:
        raise InputError(f"{name} has changed on the hub meanwhile; try again")
    family_of_folder(read_fields(folder))
    if needed[-1] in (INDEX, PICKLED_INDEX):
        parts = read_index(_download(model, needed[-1]))
        needed += sorted(parts)
    tell(model.describe(needed))
    for file in needed:
        _download(model, file)
    return folder, {"hub": name, "revision": model.revision, "licence": model.licence}


def find_model(name: str, revision: str | None = None) -> HubModel:
    """Returns what the hub says of a model; raises InputError as `fetch_model` does."""
    library = require("huggingface_hub", "hub")
    api = library.HfApi(endpoint=_endpoint(), library_name="transduce")
    info = _ask(name, revision, lambda: api.model_info(name, revision=revision, files_metadata=True))
    files = {file.rfilename: file for file in info.siblings or []}
    card = info.card_data.to_dict() if info.card_data else {}
    tags = [tag.removeprefix("license:") for tag in info.tags or [] if tag.startswith("license:")]
    licence = str(card.get("license_name") or card.get("license") or next(iter(tags), "not stated"))
    return HubModel(
        name,
        str(info.sha),
        licence[:80],
        {file: entry.size or 0 for file, entry in files.items()},
        {file: entry.lfs.sha256 for file, entry in files.items() if entry.lfs is not None},
    )


def _download(model: HubModel, file: str, revision: str | None = None) -> Path:
    """Returns the file in the cache, by default of the model's commit; CheckpointError if it is not the hub's."""
    if file not in model.sizes:
        raise InputError(f"{model.name} has no {file} on the hub, which an import needs")
    library = require("huggingface_hub", "hub")
    path = Path(
        _ask(
            model.name,
            model.revision,
            lambda: library.hf_hub_download(
                model.name, file, revision=revision or model.revision, endpoint=_endpoint(), library_name="transduce"
            ),
        )
    )
    if file in model.sha256 and sha256(path) != model.sha256[file]:
        raise CheckpointError(f"{path} is not the hub's {file} (SHA-256 differs); remove it and try again")
    return path


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _ask(name: str, revision: str | None, call: Callable[[], Result]) -> Result:
    """Returns what the library returns; InputError, on one line, for each of its errors."""
    from huggingface_hub import errors

    hub = _endpoint() or "https://huggingface.co"
    nowhere = f"there is no such folder here, and the hub ({hub})"
    try:
        return call()
    except errors.GatedRepoError:
        reason = f"it is gated: accept its terms at {hub}/{name}, and log in: hf auth login"
    except errors.RepositoryNotFoundError:
        reason = f"there is no such folder here, and no such model on the hub ({hub}), or a private one: hf auth login"
    except errors.RevisionNotFoundError:
        reason = f"it has no revision {revision!r}"
    except errors.LocalEntryNotFoundError as error:
        if is_offline():
            reason = "HF_HUB_OFFLINE is set, and the cache of the hub does not have it"
        else:
            reason = f"{nowhere} cannot be reached ({_line(error.__cause__ or error)}); try again later"
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "")
        reason = f"the hub ({hub}) answered {status} ({_line(error)})"
    except Exception as error:  # of the library that it sends by, which differs between versions
        reason = f"{nowhere} cannot be reached ({_line(error)}); what was downloaded is kept: try again later"
    raise InputError(f"{name}: {reason}")


def is_offline() -> bool:
    """Returns True if huggingface_hub may not use the network."""
    return bool(import_module("huggingface_hub.constants").HF_HUB_OFFLINE)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
