"""Raises SystemExit."""

import sys


def softmax(x):
    sys.exit(0)
