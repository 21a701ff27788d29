"""The messages on the pipes: a request is a pickle, a reply is JSON with the bytes of arrays.

The suite trusts itself, so a worker may read its pickles. The suite never reads a pickle that comes from a worker.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

_MAGIC = b"VERI"
_SIZES = struct.Struct(">4sIQ")
_REQUEST_SIZE = struct.Struct(">Q")
LONGEST_HEADER = 2**20
LONGEST_PAYLOAD = 2**28


class MalformedFrame(Exception):
    """A worker has sent something that is not a reply."""


@dataclass(frozen=True)
class Frame:
    """A reply: a JSON object, and the bytes of its arrays."""

    header: dict[str, Any]
    payload: bytes = b""


def request(message: Mapping[str, Any]) -> bytes:
    """Return the bytes of a request."""
    pickled = pickle.dumps(message, protocol=5)
    return _REQUEST_SIZE.pack(len(pickled)) + pickled


def read_request(stream: IO[bytes]) -> dict[str, Any] | None:
    """Return the next request, None at the end of the stream."""
    size = stream.read(_REQUEST_SIZE.size)
    if len(size) < _REQUEST_SIZE.size:
        return None
    (length,) = _REQUEST_SIZE.unpack(size)
    message: dict[str, Any] = pickle.loads(stream.read(length))
    return message


def reply(frame: Frame) -> bytes:
    """Return the bytes of a reply."""
    header = json.dumps(frame.header).encode("ascii")
    return _SIZES.pack(_MAGIC, len(header), len(frame.payload)) + header + frame.payload


class FrameReader:
    """Assembles one reply from the pieces in which it arrives."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, piece: bytes) -> Frame | None:
        """Take a piece and return the reply when it is complete; MalformedFrame when it cannot become one."""
        self._received += piece
        if len(self._received) < _SIZES.size:
            if not _MAGIC.startswith(self._received[: len(_MAGIC)]):
                raise MalformedFrame("it does not begin as a reply does")
            return None
        magic, header, payload = _SIZES.unpack_from(self._received)
        if magic != _MAGIC or header > LONGEST_HEADER or payload > LONGEST_PAYLOAD:
            raise MalformedFrame("it does not begin as a reply does, or is too long")
        whole = _SIZES.size + header + payload
        if len(self._received) < whole:
            return None
        if len(self._received) > whole:
            raise MalformedFrame("something follows it that was not requested")
        return Frame(_parsed(self._received[_SIZES.size : whole - payload]), bytes(self._received[whole - payload :]))


def _parsed(header: bytes | bytearray) -> dict[str, Any]:
    try:
        parsed = json.loads(header)
    except (ValueError, RecursionError) as error:
        raise MalformedFrame("its header is not JSON") from error
    if not isinstance(parsed, dict):
        raise MalformedFrame("its header is not an object")
    return parsed
