"""Stops its process, which is neither dead nor alive."""

import os
import signal


def softmax(x):
    os.kill(os.getpid(), signal.SIGSTOP)
    return x
