"""Raises and prints what would take over a terminal."""


def softmax(x):
    print("\x1b[2J\x1b]0;taken over\x07")
    raise ValueError("\x1b[31m\x1b[2Jnothing \x9b1m went wrong")
