"""Shortlists: the target tokens that a translation may use, given the tokens of its source; and their file."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Bool, Int
from safetensors import SafetensorError, safe_open
from torch import Tensor

from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import new_file
from transduce.base.shapes import Mask, Tokens
from transduce.base.tensor_files import save_tensors
from transduce.bundle.model_bundle import find_bundle
from transduce.text.tokenizer import Tokenizers

FILE = "shortlist.safetensors"
FORMAT = "1"


@dataclass(frozen=True)
class Shortlist:
    """Target tokens that each source token is likely to be translated to, and those that any sentence may hold."""

    lists: Int[Tensor, "source_vocabulary most"]
    """The list of each source token; short ones are filled up with tokens of `always`."""
    always: Int[Tensor, " tokens"]
    """The most frequent tokens and the special ones, which any sentence may hold."""
    target_vocabulary: int
    multiple: int = 1
    """The lists of a sentence's tokens are filled up by the first other tokens to a multiple of this."""

    def allowed(self, source: Tokens, is_real: Mask) -> Bool[Tensor, "rows target_vocabulary"]:
        """Returns a mask of the target tokens in each sentence's list; padding adds none."""
        allowed = torch.zeros(len(source), self.target_vocabulary, dtype=torch.bool, device=source.device)
        listed = self.lists[source]  # [rows, time, most]
        listed = torch.where(is_real[..., None], listed, listed[:, :1, :1])
        allowed.scatter_(1, listed.flatten(1), True)
        if self.multiple > 1:
            missing = -allowed.sum(1, keepdim=True) % self.multiple  # [rows, 1]
            allowed |= ~allowed & ((~allowed).cumsum(1) <= missing)
        allowed[:, self.always] = True
        return allowed

    def to(self, device: torch.device) -> "Shortlist":
        """Returns the same shortlist on a device."""
        return replace(self, lists=self.lists.to(device), always=self.always.to(device))

    def save(self, path: Path, tokenizers: Tokenizers) -> None:
        """Writes the shortlist to a file, bound to the tokenizers whose tokens these are."""
        tensors = {"lists": self.lists.int(), "always": self.always.int()}
        facts = {"format": FORMAT, "tokenizers": _fingerprint(tokenizers), "sha256": _checksum(tensors)}
        with new_file(path) as new:
            save_tensors(tensors, new, facts)

    @staticmethod
    def load(path: Path, tokenizers: Tokenizers) -> "Shortlist":
        """Reads a shortlist from a file.

        Raises InputError for a missing file or one learned for other tokenizers, CheckpointError for a damaged one.
        """
        if not path.is_file():
            raise InputError(f"{path}: no such shortlist; learn one with: transduce shortlist MODEL")
        try:
            with safe_open(path, framework="pt") as file:
                facts = file.metadata() or {}
                if facts.get("format", FORMAT) != FORMAT:
                    raise CheckpointError(
                        f"{path} has format {facts['format']}, but this Transduce reads {FORMAT}; learn it anew"
                    )
                if facts["tokenizers"] != _fingerprint(tokenizers):
                    raise InputError(
                        f"{path} was learned for other tokenizers than the model's; learn one with: transduce "
                        "shortlist MODEL"
                    )
                tensors = {name: file.get_tensor(name) for name in ("lists", "always")}
                if facts["sha256"] != _checksum(tensors):
                    raise CheckpointError(f"{path} has changed since it was saved (SHA-256 differs); learn it anew")
        except (SafetensorError, KeyError) as error:
            raise CheckpointError(f"{path} is damaged, or no shortlist ({error}); learn it anew") from None
        return Shortlist(tensors["lists"].long(), tensors["always"].long(), len(tokenizers.target))


def _checksum(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {list(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _fingerprint(tokenizers: Tokenizers) -> str:
    return hashlib.sha256(f"{tokenizers.source.content} {tokenizers.target.content}".encode()).hexdigest()


def find_shortlist(model: str | Path, tokenizers: Tokenizers, asked: bool | str | Path) -> Shortlist | None:
    """Returns the shortlist asked for, if any: a file, or (True) the one in a model's folder."""
    if asked is False:
        return None
    file = find_bundle(Path(model)) / FILE if asked is True else Path(asked)
    return Shortlist.load(file, tokenizers)
