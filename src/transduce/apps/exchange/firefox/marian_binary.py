"""Marian's binary files of named tensors, as Firefox Translations has its models: written, and read with suspicion."""

import math
import struct
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transduce.base.errors import CheckpointError

VERSION = 1
FLOATS, BYTES, TEXT = 0x0404, 0x4101, 0x0101
"""The types of tensors: float32, a matrix of signed bytes with its multiplier, and text."""
TYPES = {FLOATS: "float32", BYTES: "8-bit", TEXT: "text"}
ALIGNMENT = 256
"""The data begin at a multiple of this, and matrices of bytes fill a multiple of it."""
HEADER = struct.Struct("<QQQQ")
"""Length of the name with its closing zero, type, number of dimensions, bytes of data."""
LARGEST = 127  # of a signed byte
LARGEST_SUM = 129
"""The largest sum of two neighbours' bytes whose products with inputs, at most 254, fit 16 bits."""


@dataclass(frozen=True)
class QuantizedMatrix:
    """A matrix in signed bytes; its weights are the values divided by the multiplier."""

    values: NDArray[np.int8]
    """[outputs, inputs]; of embeddings, [tokens, dim]."""
    multiplier: float

    def floats(self) -> NDArray[np.float32]:
        """Returns the weights, computed as engines compute them."""
        return self.values * (np.float32(1) / np.float32(self.multiplier))

    @staticmethod
    def of(weights: NDArray[np.float32]) -> "QuantizedMatrix":
        """Rounds weights to bytes, the largest one to 127, or less where the sums of engines would be cut off.

        Some engines add the products of two neighbouring weights in 16 bits, others exactly: browsers and x86
        processors without VNNI the former. With these bytes all of them give the same.
        """
        largest, of_pairs = (
            float(np.abs(weights).max(initial=0.0)),
            float(_sums_of_neighbours(weights).max(initial=0.0)),
        )
        if not largest:
            return QuantizedMatrix(np.zeros_like(weights, np.int8), 1.0)
        for bound in (LARGEST / largest, LARGEST_SUM / of_pairs, (LARGEST_SUM - 1) / of_pairs):
            multiplier = np.float32(bound)
            values = np.rint(weights * multiplier).clip(-LARGEST, LARGEST).astype(np.int8)
            if _sums_of_neighbours(values).max() <= LARGEST_SUM:  # always with the last bound, whatever is rounded up
                break
        return QuantizedMatrix(values, float(multiplier))


@dataclass(frozen=True)
class Item:
    """A named tensor of a file."""

    kind: int
    """FLOATS, BYTES or TEXT."""
    shape: tuple[int, ...]
    data: bytes

    @staticmethod
    def of_floats(values: NDArray[np.float32]) -> "Item":
        """Returns the item of a vector, which Marian has as a matrix of one row, or of a number."""
        return Item(FLOATS, (1, values.size), values.astype("<f4").tobytes())

    @staticmethod
    def of_matrix(matrix: QuantizedMatrix, is_embedding: bool = False) -> "Item":
        """Returns the item of a matrix: embeddings have the shape of their values, others [inputs, outputs]."""
        data = matrix.values.tobytes() + struct.pack("<f", matrix.multiplier)
        shape = matrix.values.shape if is_embedding else matrix.values.shape[::-1]
        return Item(BYTES, shape, data + bytes(-len(data) % ALIGNMENT))

    @staticmethod
    def of_text(text: str) -> "Item":
        """Returns the item of a text."""
        data = text.encode() + b"\0"
        return Item(TEXT, (len(data),), data)

    def floats(self) -> NDArray[np.float32]:
        """Returns the numbers of an item of FLOATS, in one axis."""
        return np.frombuffer(self.data, "<f4", math.prod(self.shape)).astype(np.float32)

    def matrix(self, is_embedding: bool = False) -> QuantizedMatrix:
        """Returns the matrix of an item of BYTES."""
        count = math.prod(self.shape)
        values = np.frombuffer(self.data, np.int8, count)
        shape = self.shape if is_embedding else self.shape[::-1]
        return QuantizedMatrix(values.reshape(shape), struct.unpack_from("<f", self.data, count)[0])

    def text(self) -> str:
        """Returns the text of an item of TEXT; UnicodeDecodeError if it is none."""
        return self.data.rstrip(b"\0").decode()


def write_items(items: dict[str, Item], path: Path) -> None:
    """Writes a file of items by name."""
    named = [(name.encode() + b"\0", item) for name, item in items.items()]
    parts = [struct.pack("<QQ", VERSION, len(items))]
    parts += [HEADER.pack(len(name), item.kind, len(item.shape), len(item.data)) for name, item in named]
    parts += [name for name, _ in named]
    parts += [struct.pack(f"<{len(item.shape)}i", *item.shape) for _, item in named]
    gap = -(sum(map(len, parts)) + 8) % ALIGNMENT
    path.write_bytes(b"".join([*parts, struct.pack("<Q", gap), bytes(gap), *(item.data for _, item in named)]))


def read_items(path: Path) -> dict[str, Item]:
    """Reads the items of a file by name.

    Raises CheckpointError for a file that is missing or damaged, of another version, or with tensors of other types.
    """
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    try:
        return _parse(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, struct.error) as error:
        raise CheckpointError(f"{path} is no model of Firefox Translations, or a damaged one: {error}") from None


def _parse(content: bytes) -> dict[str, Item]:
    """Parses the bytes of a file; ValueError for what is wrong with them."""
    stream = BytesIO(content)
    (version,) = _numbers(stream, 1)
    if version != VERSION:
        raise ValueError(f"its version is {version}; expected {VERSION}")
    (count,) = _numbers(stream, 1)
    fields = _numbers(stream, 4 * count)
    headers = [fields[start : start + 4] for start in range(0, len(fields), 4)]
    names = [_take(stream, length).rstrip(b"\0").decode() for length, *_ in headers]
    shapes = [struct.unpack(f"<{axes}i", _take(stream, 4 * axes)) for _, _, axes, _ in headers]
    (gap,) = _numbers(stream, 1)
    _take(stream, gap)
    items: dict[str, Item] = {}
    for name, shape, (_, kind, _, length) in zip(names, shapes, headers, strict=True):
        if name in items:
            raise ValueError(f"it has {name} twice")
        items[name] = _checked(name, Item(kind, shape, _take(stream, length)))
    if rest := stream.read():
        raise ValueError(f"{len(rest):,} bytes follow its last tensor")
    return items


def _checked(name: str, item: Item) -> Item:
    """Returns an item; ValueError unless its data are as many as its shape says, and its numbers finite."""
    if item.kind not in TYPES:
        raise ValueError(f"{name} is of type {item.kind:#x}; expected one of {', '.join(TYPES.values())}")
    if any(size < 1 for size in item.shape):
        raise ValueError(f"{name} has the shape {list(item.shape)}")
    count = math.prod(item.shape)
    needed = {FLOATS: 4 * count, BYTES: count + 4, TEXT: count}[item.kind]
    if len(item.data) < needed:
        raise ValueError(f"{name} has {len(item.data):,} bytes; its shape {list(item.shape)} needs {needed:,}")
    if item.kind == FLOATS and not np.isfinite(item.floats()).all():
        raise ValueError(f"{name} holds numbers that are not finite")
    if item.kind == BYTES:
        (multiplier,) = struct.unpack_from("<f", item.data, count)
        if not 0 < multiplier < math.inf:
            raise ValueError(f"{name} has the multiplier {multiplier}; expected a positive number")
    if item.kind == TEXT:
        item.text()
    return item


def _take(stream: BytesIO, count: int) -> bytes:
    """Returns the next bytes of a file; ValueError if there are fewer."""
    start, end = stream.tell(), len(stream.getbuffer())
    if count > end - start:
        raise ValueError(f"it ends at byte {end:,}, within {count:,} bytes from {start:,} on")
    return stream.read(count)


def _numbers(stream: BytesIO, count: int) -> tuple[int, ...]:
    """Returns the next unsigned numbers of 64 bits."""
    return struct.unpack(f"<{count}Q", _take(stream, 8 * count))


def _sums_of_neighbours(matrix: NDArray[Any]) -> NDArray[Any]:
    """Returns the sums of weights 0 and 1, 2 and 3, and so on, of each output: that of the positive or of the negative
    ones, whichever is larger, without its sign; matrices are [outputs, inputs]."""
    even = np.pad(matrix.astype(np.float32), ((0, 0), (0, matrix.shape[1] % 2)))
    pairs = even.reshape(len(even), -1, 2)
    return np.maximum(pairs.clip(min=0).sum(-1), -pairs.clip(max=0).sum(-1))
