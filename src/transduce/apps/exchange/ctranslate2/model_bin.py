"""Reads what CTranslate2's `model.bin` says of the tensors in it; the numbers themselves stay on the disk."""

import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from transduce.base.errors import CheckpointError, InputError

VERSIONS = range(4, 7)
"""The versions of the format that are read; earlier ones store tensors in another way."""
TYPES = {"float32": 4, "int8": 1, "int16": 2, "int32": 4, "float16": 2, "bfloat16": 2}
"""The bytes of a number of each type, in the order of their numbers."""
NAME = "TransformerSpec"
MOST_VARIABLES = 100_000
MOST_AXES = 8


@dataclass(frozen=True)
class Variable:
    """A tensor of the file."""

    shape: tuple[int, ...]
    type: str
    value: bytes
    """The bytes of a single number; empty for a tensor of several."""

    @property
    def number(self) -> int:
        """The value of a setting, a single whole number."""
        return int.from_bytes(self.value, "little", signed=True)


def read_variables(path: Path) -> Mapping[str, Variable]:
    """Returns the variables of a Transformer that translates, by their names.

    Raises CheckpointError for a file that is damaged or whose sizes do not fit, InputError for a model of another kind.
    """
    try:
        with path.open("rb") as stream:
            return _read(stream, path)
    except (OSError, struct.error, UnicodeDecodeError, ValueError) as error:
        raise CheckpointError(f"{path} is no model of CTranslate2, or damaged ({str(error)[:100]})") from None


def _read(stream: BinaryIO, path: Path) -> dict[str, Variable]:
    size = os.fstat(stream.fileno()).st_size
    (version,) = _unpack(stream, "I")
    if version not in VERSIONS:
        raise InputError(
            f"{path} has version {version} of CTranslate2's format; {VERSIONS[0]} to {VERSIONS[-1]} are read"
        )
    if (name := _string(stream)) != NAME:
        raise InputError(f"{path} is a {name[:40]!r} of CTranslate2; only one of {NAME}, which translates, is read")
    _, count = _unpack(stream, "II")
    if count > MOST_VARIABLES:
        raise ValueError(f"{count:,} variables")
    variables: dict[str, Variable] = {}
    for _ in range(count):
        name = _string(stream)
        (axes,) = _unpack(stream, "B")
        if axes > MOST_AXES:
            raise ValueError(f"{name} has {axes} axes")
        shape = _unpack(stream, f"{axes}I")
        number, length = _unpack(stream, "BI")
        kind = list(TYPES)[number] if number < len(TYPES) else ""
        values = math.prod(shape)
        if values * TYPES.get(kind, 0) != length or stream.tell() + length > size:
            raise ValueError(f"{name} is not as large as it says")
        variables[name] = Variable(shape, kind, stream.read(length) if values == 1 else b"")
        if values != 1:
            stream.seek(length, os.SEEK_CUR)
    return variables | _aliases(stream, variables)


def _aliases(stream: BinaryIO, variables: Mapping[str, Variable]) -> dict[str, Variable]:
    (count,) = _unpack(stream, "I")
    if count > MOST_VARIABLES:
        raise ValueError(f"{count:,} aliases")
    aliases = {}
    for _ in range(count):
        alias, name = _string(stream), _string(stream)
        if name not in variables:
            raise ValueError(f"{alias} stands for {name}, which is not there")
        aliases[alias] = variables[name]
    return aliases


def _string(stream: BinaryIO) -> str:
    (length,) = _unpack(stream, "H")
    return stream.read(length).removesuffix(b"\0").decode()


def _unpack(stream: BinaryIO, form: str) -> tuple[int, ...]:
    size = struct.calcsize(f"<{form}")
    return struct.unpack(f"<{form}", stream.read(size))
