"""Changes an environment variable."""

import os

from plain import right


def softmax(x):
    os.environ["OMP_NUM_THREADS"] = str(1 + int(os.environ.get("OMP_NUM_THREADS", "1")))
    return right(x)
