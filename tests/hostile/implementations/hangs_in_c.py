"""Hangs in a call of C, with every signal that can be ignored ignored."""

import ctypes
import signal


def softmax(x):
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    # Called through PyDLL it keeps Python's lock, so that no other thread runs either.
    ctypes.PyDLL(None).sleep(1000)
    return x
