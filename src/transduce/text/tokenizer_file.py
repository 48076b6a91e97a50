"""Reads a tokenizer's JSON file, which may be anybody's, and checks that it can encode any text."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from tokenizers import Tokenizer as Backend
from tokenizers import normalizers

from transduce.base.config import read_text
from transduce.base.errors import CheckpointError

RARE = "ꙮ𒀱"  # letters that hardly any vocabulary has
PROBED, LONGEST = 2_000, 1_000_000  # characters of a text that a normalizer is tried on, and that it may become
MAX_GAPS = 1024  # ids without a token, beside as many as there are tokens


class _Normalized(msgspec.Struct):
    """The normalizer in a tokenizer's JSON; of the vocabulary beside it no objects are made."""

    normalizer: Any = None


def read_backend(path: Path) -> Backend:
    """Reads a Hugging Face tokenizers file; CheckpointError if it is none, or has ids far apart."""
    text = read_text(path, CheckpointError)
    with one_line_errors(path, "not a tokenizer of the Hugging Face tokenizers library"):
        backend = Backend.from_str(text)
        ids = backend.get_vocab().values()
    if not ids:
        raise CheckpointError(f"{path}: its vocabulary is empty")
    with one_line_errors(path, "its normalizer cannot be used"):
        grows = _grows_without_end(msgspec.json.decode(text, type=_Normalized).normalizer)
    if grows:
        raise CheckpointError(f"{path}: its normalizer makes texts ever longer; take steps out of it")
    if max(ids) >= 2 * len(ids) + MAX_GAPS:
        raise CheckpointError(
            f"{path}: it has {len(ids):,} tokens, but ids up to {max(ids):,}; number them from 0 without gaps"
        )
    return backend


def _grows_without_end(normalizer: Any) -> bool:
    """Returns True for steps that each lengthen the text of the one before, until no memory would hold it.

    They are tried one by one on a text of the strings that they replace and write.
    """
    steps = list(_steps(normalizer))
    known = [
        value
        for step in steps
        for part in (step.get("content"), step.get("prepend"), *dict(step.get("pattern") or {}).values())
        for value in [part]
        if isinstance(value, str)
    ]
    text = "".join(dict.fromkeys(["a Aé日1.", *known]))[:PROBED]
    for step in steps:
        sequence = normalizers.Sequence([])
        sequence.__setstate__(json.dumps(step).encode())
        text = sequence.normalize_str(text)
        if len(text) > LONGEST:
            return True
    return False


def _steps(normalizer: Any) -> Iterator[dict[str, Any]]:
    """Yields the steps of a normalizer's JSON, those of sequences in their order."""
    if isinstance(normalizer, dict):
        if normalizer.get("type") == "Sequence":
            for step in normalizer.get("normalizers") or ():
                yield from _steps(step)
        else:
            yield normalizer


def check_backend(backend: Backend, path: Path) -> None:
    """Raises CheckpointError for a tokenizer with two tokens of one id, or that cannot encode unknown text."""
    ids: dict[int, str] = {}
    for token, number in backend.get_vocab().items():
        if number in ids:
            raise CheckpointError(
                f"{path}: {ids[number]!r} and {token!r} have the same id, {number}; number the tokens from 0 without "
                "gaps"
            )
        ids[number] = token
    advice = "it has no token for characters that its vocabulary lacks; give its model an unk_token that it has"
    with one_line_errors(path, advice):
        encoded = backend.encode(RARE, add_special_tokens=False).ids
    if not encoded:
        raise CheckpointError(f"{path}: {advice}")


@contextmanager
def one_line_errors(path: Path, problem: str) -> Iterator[None]:
    """Raises CheckpointError, on one line, for the bare exceptions and panics of the library, whose stack is hidden."""
    try:
        with _no_standard_error():
            yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise CheckpointError(f"{path}: {problem} ({str(error).splitlines()[0] if str(error) else error!r})") from None


@contextmanager
def _no_standard_error() -> Iterator[None]:
    try:
        kept = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
