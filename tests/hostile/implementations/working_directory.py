"""Goes to another folder."""

import os

from plain import right


def softmax(x):
    os.chdir("/")
    return right(x)
