"""Messages of protocol buffers (protobuf.dev/programming-guides/encoding), of which SentencePiece's files are made."""

import struct
from collections.abc import Mapping
from typing import TypeVar

Fields = dict[int, list[int | bytes]]
"""The values of each field of a message by its number, in their order."""
T = TypeVar("T", int, bytes)


def read_fields(content: bytes) -> Fields:
    """Returns the fields of a message; ValueError, IndexError or KeyError for bytes that are none."""
    fields: Fields = {}
    offset = 0
    while offset < len(content):
        key, offset = _read_varint(content, offset)
        wire = key & 7
        if wire == 0:
            value, offset = _read_varint(content, offset)
            fields.setdefault(key >> 3, []).append(value)
            continue
        length, offset = _read_varint(content, offset) if wire == 2 else ({1: 8, 5: 4}[wire], offset)
        if offset + length > len(content):
            raise ValueError("it ends within a field")
        fields.setdefault(key >> 3, []).append(content[offset : offset + length])
        offset += length
    return fields


def last(fields: Mapping[int, list[int | bytes]], number: int, default: T) -> T:
    """Returns the last value of a field, or the default without one; ValueError for a value of another type."""
    value = fields[number][-1] if number in fields else default
    if not isinstance(value, type(default)):
        raise ValueError(f"field {number} is of another type")
    return value


def message(*fields: tuple[int, int | float | bytes]) -> bytes:
    """Returns a message with these fields: numbers and values, of which floats have 32 bits."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts += [_varint(number << 3), _varint(value)]
        elif isinstance(value, float):
            parts += [_varint(number << 3 | 5), struct.pack("<f", value)]
        else:
            parts += [_varint(number << 3 | 2), _varint(len(value)), value]
    return b"".join(parts)


def _read_varint(content: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[offset]
        value |= (byte & 127) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 128:
            return value, offset
        if shift > 63:
            raise ValueError("a number of over ten bytes")


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
