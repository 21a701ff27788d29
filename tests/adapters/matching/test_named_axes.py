"""A softmax or a norm along axis 0: wrong for rows, right for one vector or for columns where the text says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
SOFTMAX = {
    "numpy": "import numpy as np\n{}def softmax(x):{}\n    e = np.exp(x - x.max(0))\n    return e / e.sum(0)\n",
    "torch": "import torch\n{}def softmax(x):{}\n    e = torch.exp(x - x.max(0).values)\n    return e / e.sum(dim=0)\n",
    "jax": "import jax.numpy as np\n{}def softmax(x):{}\n    e = np.exp(x - np.max(x, 0))\n    return e / e.sum(0)\n",
}


def softmax(framework: str, documentation: str = "", comment: str = "") -> str:
    """Return the text of a softmax along axis 0."""
    said = f'\n    """{documentation}"""' if documentation else ""
    return SOFTMAX[framework].format(f"# {comment}\n" if comment else "", said)


@pytest.mark.parametrize("framework", SOFTMAX)
@pytest.mark.parametrize("documentation", ("", "Softmax of vectors along the last axis.", "Softmax of each row."))
def test_a_softmax_along_axis_0_is_judged_along_the_last_one(
    loaded: Loaded, framework: str, documentation: str
) -> None:
    found = loaded(softmax(framework, documentation))
    assert any("say so in its documentation" in one for one in found.notices)
    report = check(found, laws="softmax.value", tier="quick")
    assert report.counts["failed"] == 1


def test_the_mistake_of_axis_0_has_its_name(loaded: Loaded) -> None:
    report = check(loaded(softmax("torch")), laws="softmax.*", tier="quick")
    assert "softmax_wrong_axis" in str(report)


@pytest.mark.parametrize("framework", SOFTMAX)
@pytest.mark.parametrize(
    ("documentation", "words"),
    (
        ("Softmax of a vector.", "one vector"),
        ("Softmax of x, shape (n,).", "one vector"),
        ("Softmax of each column.", "each column a vector"),
        ("Scores (keys, queries); softmax over axis 0.", "each column a vector"),
    ),
)
def test_a_softmax_along_axis_0_that_says_why_is_right(
    loaded: Loaded, framework: str, documentation: str, words: str
) -> None:
    found = loaded(softmax(framework, documentation))
    (notice,) = found.notices
    assert words in notice
    assert check(found, laws="softmax.value", tier="quick").counts["failed"] == 0


@pytest.mark.parametrize(
    "text",
    (
        "def softmax(v):\n    e = np.exp(v - v.max(0))\n    return e / e.sum(0)\n",
        "def softmax(x):\n    # each column is a sample\n    e = np.exp(x - x.max(0))\n    return e / e.sum(0)\n",
        "def softmax(x):\n    e = np.exp(x - x.max())\n    return e / e.sum()\n",
        "def softmax(x):\n    e = np.exp(x - x.max(-1, keepdims=True))\n    return e / e.sum(-1, keepdims=True)\n",
    ),
)
def test_parameters_and_comments_speak_of_vectors_and_columns_too(loaded: Loaded, text: str) -> None:
    found = loaded("import torch\nimport numpy as np\n" + text)
    assert not any("say so in its documentation" in one for one in found.notices)


NORM = """
import torch


def layer_norm(x, gamma, beta, eps=1e-5):{}
    centred = x - x.mean(0)
    return centred / torch.sqrt((centred**2).mean(0) + eps) * gamma + beta
"""


def test_a_norm_along_axis_0_is_no_norm_of_rows(loaded: Loaded) -> None:
    laws = "layer_norm.value"
    assert check(loaded(NORM.format("")), laws=laws, tier="quick").counts["failed"] == 1
    of_one = NORM.format('\n    """Normalise a vector."""')
    assert check(loaded(of_one), laws=laws, tier="quick").counts["failed"] == 0
