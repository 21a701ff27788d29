"""Frames: put together from pieces, and refused when they are none."""

from __future__ import annotations

import io
import json
import struct

import numpy as np
import pytest
from veriformer.adapters.isolation import frames
from veriformer.adapters.isolation.frames import Frame, FrameReader, MalformedFrame

FRAME = Frame({"results": [1, "two"]}, bytes(range(20)))


def _raw(header: bytes, payload: bytes = b"", *, magic: bytes = b"VERI", length: int | None = None) -> bytes:
    return struct.pack(">4sIQ", magic, len(header) if length is None else length, len(payload)) + header + payload


@pytest.mark.parametrize("size", (1, 3, 7, 1000))
def test_a_reply_arrives_whole_in_pieces_of_any_size(size: int) -> None:
    sent, reader = frames.reply(FRAME), FrameReader()
    received = [reader.feed(sent[start : start + size]) for start in range(0, len(sent), size)]
    assert received[-1] == FRAME
    assert not any(received[:-1])


def test_a_request_keeps_what_is_one_array() -> None:
    array = np.arange(6.0).reshape(2, 3)
    read = frames.read_request(io.BytesIO(frames.request({"x": array, "context": array})))
    assert read is not None
    assert read["x"] is read["context"]
    assert np.array_equal(read["x"], array)


def test_no_request_comes_from_a_closed_pipe() -> None:
    assert frames.read_request(io.BytesIO(b"")) is None


@pytest.mark.parametrize(
    "garbage",
    (
        b"garbage",
        b"V\x00",
        _raw(b"{}", magic=b"EVIL"),
        _raw(b"", length=frames.LONGEST_HEADER + 1),
        struct.pack(">4sIQ", b"VERI", 2, frames.LONGEST_PAYLOAD + 1),
        _raw(b"not json"),
        _raw(b"[1, 2]"),
        _raw(b"\xff\xfe"),
        _raw(b"[" * 100_000),
        _raw(b'{"number": ' + b"9" * 10_000 + b"}"),
        _raw(json.dumps({}).encode()) + b"and more",
    ),
)
def test_what_is_no_reply_is_refused(garbage: bytes) -> None:
    with pytest.raises(MalformedFrame):
        FrameReader().feed(garbage)


def test_a_reply_is_never_a_pickle() -> None:
    with pytest.raises(MalformedFrame):
        FrameReader().feed(frames.request({"results": []}))
