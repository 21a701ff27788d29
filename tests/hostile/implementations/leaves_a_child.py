"""Leaves a child behind that holds every pipe open, and ends its process."""

import os
import time


def softmax(x):
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(3)
