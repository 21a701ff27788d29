"""Kills its process."""

import os
import signal


def softmax(x):
    os.kill(os.getpid(), signal.SIGKILL)
