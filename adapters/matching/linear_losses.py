"""Losses of hidden states and the matrix of the last layer, which make the logits themselves (`linear_cross_entropy`).

The hidden states are the logits with their classes in another order, and the matrix puts them back: no product of such
a matrix rounds, and one that is transposed gives other logits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching import chunks
from veriformer.adapters.matching.forms import Form, Source
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.namespaces import chosen, rolled, shape_of, transposed, zeros_like
from veriformer.adapters.matching.sources import Taken

_HIDDEN = frozenset(
    """
    hidden hiddens hiddenstates hiddenstate lasthiddenstate lasthiddenstates h e x input inputs embeddings embedding
    features feats activations states finalhidden
    """.split()  # noqa: SIM905
)
_MATRICES = frozenset(
    """
    weight w c head lmhead lmheadweight lmheadw headweight headw linweight linearweight outputweight outweight
    vocabweight vocabmatrix unembed unembedding unembedweight wunembed wu wvocab wout whead wlm classifier
    classifierweight kernel proj projweight outputembedding outputembeddings outemb wte
    """.split()  # noqa: SIM905
)
_BIASES = ("bias", "b", "linbias", "headbias", "lmheadbias", "outputbias")
# The matrix has as many rows as columns.
_MOST_CLASSES = 1 << 10
_KINDS = (("a row for each class", False), ("a column for each class", True))


def hidden_states_in(found: Taken) -> str | None:
    """Return the parameter that is hidden states, where a loss makes the logits of them and a matrix; else None."""
    names = _hidden_and_matrix(found)
    return None if names is None else names[0]


def forms(form: Form, found: Taken, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the forms of a loss of hidden states: the matrix has a row, or a column, for each class."""
    names = _hidden_and_matrix(found)
    if names is None:
        return
    hidden, matrix = names
    biases = {name: _no_bias for name in found.needed if folded(name) in _BIASES}
    for words, turned in _KINDS:
        given = {hidden: _in_another_order, matrix: _back_in_order(framework, turned=turned), **biases}
        said = f"logits are `{hidden}` times `{matrix}`, {words}"
        whole = replace(form, sources={**form.sources, **given}, words=(*form.words, said))
        yield from chunks.forms_of_losses(whole, found)


def are_hidden_and_matrix(first: str, second: str) -> bool:
    """Return whether two parameters are called as hidden states and the matrix of the last layer are."""
    return folded(first) in _HIDDEN and folded(second) in _MATRICES


def _hidden_and_matrix(found: Taken) -> tuple[str, str] | None:
    of_role = {role: name for name, role in found.roles.items()}
    free = [name for name in found.needed if name not in found.roles or found.roles[name] == "logits"]
    hidden = next((name for name in free if folded(name) in _HIDDEN), None)
    matrix = next((name for name in free if folded(name) in _MATRICES and name != hidden), None)
    if hidden is None or matrix is None or of_role.get("logits", hidden) not in (hidden, matrix):
        return None
    return hidden, matrix


def _in_another_order(arguments: Arguments) -> Any:
    return rolled(arguments["logits"], -1)


def _back_in_order(framework: ArrayFramework, *, turned: bool) -> Source:
    def of(arguments: Arguments) -> Any:
        logits = arguments["logits"]
        classes = shape_of(logits)[-1]
        if classes > _MOST_CLASSES:
            raise ValueError(f"logits of {classes:,} classes are the product of a matrix that is too large to try")
        same = framework.from_numpy(np.eye(classes, dtype=np.bool_))
        matrix = rolled(chosen(same, 1.0, 0.0, logits), -1)
        return transposed(matrix, (1, 0)) if turned else matrix

    return of


def _no_bias(arguments: Arguments) -> Any:
    """Return a bias that adds nothing."""
    logits = arguments["logits"]
    return zeros_like(logits, shape_of(logits)[-1:])
