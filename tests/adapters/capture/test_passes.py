"""Functions of NumPy for both passes of a layer: the backward one is held to the derivative of the forward one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Report = Callable[..., Any]

ATTENTION = """
import numpy as np


def split(x, h):
    B, L, E = x.shape
    return x.reshape(B, L, h, E // h).swapaxes(1, 2)


def merge(x):
    B, h, L, D = x.shape
    return x.swapaxes(1, 2).reshape(B, L, h * D)


def mha_fwd(X, Wqkv, Wo, h):
    c = (X.shape[-1] // h) ** -0.5
    Q, K, V = (split(Z, h) for Z in np.split(X @ Wqkv, 3, axis=-1))
    S = np.where(np.tri(X.shape[1], dtype=bool), c * Q @ K.swapaxes(-1, -2), -np.inf)
    E = np.exp(S - S.max(-1, keepdims=True))
    P = E / E.sum(-1, keepdims=True)
    Z = merge(P @ V)
    return Z @ Wo, (X, Q, K, V, P, Z, c)


def mha_bwd(dY, saved, Wqkv, Wo):
    X, Q, K, V, P, Z, c = saved
    h, E = Q.shape[1], Wo.shape[0]
    dWo = Z.reshape(-1, E).T @ dY.reshape(-1, E)
    dO = split(dY @ Wo.T, h)
    dP = dO @ V.swapaxes(-1, -2)
    dS = P * (dP - (dP * P).sum(-1, keepdims=True))
    dQKV = np.concatenate([merge(c * dS @ K), merge(c * dS.swapaxes(-1, -2) @ Q), merge(P.swapaxes(-1, -2) @ dO)], -1)
    return dQKV @ Wqkv.T, X.reshape(-1, E).T @ dQKV.reshape(-1, 3 * E), dWo
"""
NETWORK = """
import numpy as np


def ffn_forward(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    a = np.maximum(h, 0)
    return a @ W2 + b2, (x, h, a)


def ffn_backward(dout, cache, W1, W2):
    x, h, a = cache
    dh = (dout @ W2.T) * (h > 0)
    grads = {"W1": np.einsum("ble,blf->ef", x, dh), "b1": dh.sum((0, 1)), "W2": np.einsum("blf,ble->fe", a, dout)}
    return dh @ W1.T, {**grads, "b2": dout.sum((0, 1))}
"""


def broken(found: Any) -> list[str]:
    return [one.law.id for one in found.results if one.status == "failed"]


@pytest.mark.parametrize(
    ("text", "name", "change"),
    [
        (ATTENTION, "mha_bwd", ("(dP * P).sum(-1", "(dP * P).sum(-2")),
        (ATTENTION, "mha_bwd", ("c * dS.swapaxes", "dS.swapaxes")),
        (NETWORK, "ffn_backward", ("(h > 0)", "(a >= 0)")),
        (NETWORK, "ffn_backward", ('"b1": dh.sum((0, 1))', '"b1": dh.mean((0, 1))')),
    ],
)
def test_a_backward_pass_is_held_to_its_forward_pass(
    report_of: Report, text: str, name: str, change: tuple[str, str]
) -> None:
    right = report_of(text, name)
    assert right.exit_status == 0
    assert any("gradients.value" in one.law.id and one.status == "passed" for one in right.results)
    assert broken(report_of(text, name, *change)) == ["model.gradients.value"]


def test_gradients_in_another_order_are_told_by_their_shapes(report_of: Report) -> None:
    old = "return dQKV @ Wqkv.T, X.reshape(-1, E).T @ dQKV.reshape(-1, 3 * E), dWo"
    new = "return dWo, dQKV @ Wqkv.T, X.reshape(-1, E).T @ dQKV.reshape(-1, 3 * E)"
    assert report_of(ATTENTION, "mha_bwd", old, new).exit_status == 0


def test_a_backward_pass_of_unknown_weights_is_no_model(report_of: Report) -> None:
    with pytest.raises(Exception, match="function with required parameters"):
        report_of(NETWORK.replace("W1", "strange"), "ffn_backward")
