"""Aborts its process."""

import os


def softmax(x):
    os.abort()
