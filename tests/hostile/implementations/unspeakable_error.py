"""Raises an exception that cannot be told."""


class Unspeakable(Exception):
    def __str__(self):
        raise SystemExit(1)

    __repr__ = __str__


def softmax(x):
    raise Unspeakable
