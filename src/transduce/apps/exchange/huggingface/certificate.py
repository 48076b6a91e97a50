"""Checks that a model computes the same here and in Hugging Face transformers, if that is installed."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from transduce.apps.exchange.huggingface.family import Family
from transduce.apps.exchange.huggingface.folder import is_pickled
from transduce.base.config import Settings
from transduce.base.errors import CheckpointError
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle

LIBRARY = "transformers"
TOLERANCE = 1e-3  # of logits; rounding in float32 stays far below in all but the deepest models
MOST_TOKENS = 256  # of a row that is compared
SAMPLES = (
    "To be, or not to be, that is the question:",
    "  Spaces before,\tand a line's end\n\n  and more\r\n",
    "Der Äquator, 北京, здравствуйте, 12,345.67 and 🙂👍🏽",
    "def same(ours, theirs):\n    return abs(ours - theirs) < 1e-3",
)
"""Texts with different beginnings and ends, in several scripts."""


class Certificate(Settings, frozen=True):
    """A record of the comparison made when a model was imported or exported."""

    compared_with: str | None
    """The library and its version; None if it is not installed."""
    rows: int
    """The number of rows that both models read: texts, and one of random tokens."""
    tokens: int
    """The number of tokens in all rows."""
    largest_difference: float
    """The largest difference between the two models' logits."""
    missing: str | None = None
    """The package that is not installed, if nothing was compared."""

    def describe(self) -> str:
        """Returns one line for people."""
        if self.missing not in (None, LIBRARY):
            return f"not compared with {LIBRARY}, which needs {self.missing} to read such a model"
        if self.compared_with is None:
            return f"not compared with {LIBRARY}, which is not installed"
        return (
            f"compared with {self.compared_with}: the same token ids, and logits at most {self.largest_difference:.2g} "
            f"apart, on {self.rows} rows of {self.tokens:,} tokens"
        )


def certify(folder: Path, family: Family, bundle: ModelBundle) -> Certificate:
    """Compares a bundle with a folder's model in transformers.

    Raises CheckpointError if token ids differ, or logits by more than rounding.
    """
    missing = next((name for name in (LIBRARY, *family.needs) if find_spec(name) is None), None)
    if missing is not None:
        return Certificate(compared_with=None, rows=0, tokens=0, largest_difference=0.0, missing=missing)
    with _quiet(), torch.inference_mode():
        return _compare(folder, family, bundle)


def _compare(folder: Path, family: Family, bundle: ModelBundle) -> Certificate:
    library, theirs, their_tokenizer = _load(folder, family, bundle.config)
    tokenizer = bundle.tokenizers.target
    texts = [(text, tokenizer.encode(text)) for text in SAMPLES]
    compared = [("text", text, ids) for text, ids in texts]
    if (source := bundle.tokenizers.source) is not tokenizer:
        compared = [("text_target", text, ids) for text, ids in texts]
        compared += [("text", text, source.encode(text)) for text in SAMPLES]
    for side, text, ids in compared:
        their_ids = their_tokenizer(**{side: text}, add_special_tokens=False)["input_ids"]
        if their_ids != ids:
            raise CheckpointError(
                f"{folder}: {library} makes other tokens of {text!r} than its files say: {_first(their_ids, ids)}"
            )
    most = min(family.longest(bundle), MOST_TOKENS)
    random = torch.randint(len(tokenizer), (most,), generator=torch.Generator().manual_seed(1)).tolist()
    random = [token for token in random if token != tokenizer.pad]  # which some models would take for padding
    rows = [ids[:most] for _, ids in texts] + [random]
    ours = [family.outputs(bundle, ids) for ids in rows]
    if not all(logits.isfinite().all() for logits in ours):
        raise CheckpointError(f"{folder}: the scores that its model gives texts are not finite")
    their_logits = [family.their_outputs(theirs(**family.their_inputs(torch.tensor([ids]))))[0] for ids in rows]
    difference = max(float((logits - their).abs().max()) for logits, their in zip(ours, their_logits, strict=True))
    if not difference <= TOLERANCE:
        raise CheckpointError(
            f"{folder}: the logits of {library} are up to {difference:.2g} apart from those of the same weights here; "
            f"expected at most {TOLERANCE}"
        )
    return Certificate(compared_with=library, rows=len(rows), tokens=sum(map(len, rows)), largest_difference=difference)


def _load(folder: Path, family: Family, config: BundleConfig) -> tuple[str, Any, Any]:
    """Loads the model and the tokenizer with transformers, and returns them with the library's name and version."""
    import transformers

    try:
        model = getattr(transformers, family.architecture(config)).from_pretrained(
            folder, use_safetensors=not is_pickled(folder), local_files_only=True
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # of any kind: the library cannot read this folder
        line = " ".join(str(error).split())[:200]
        raise CheckpointError(f"{folder}: {LIBRARY} {transformers.__version__} cannot read it ({line})") from None
    return f"{LIBRARY} {transformers.__version__}", model.float().eval(), tokenizer


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences the library, whose important messages are raised as errors."""
    import transformers

    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity(logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers.logging.set_verbosity(before)
        transformers.logging.enable_progress_bar()


def _first(theirs: Sequence[int], ours: Sequence[int]) -> str:
    """Describes the first position where the token ids differ."""
    index = next((i for i, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a != b), min(len(theirs), len(ours)))
    return f"{list(theirs[index : index + 3])} and {list(ours[index : index + 3])} from token {index + 1} on"
