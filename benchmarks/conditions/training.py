"""Conditions on what training is given: lists of gradients, steps, rates, moments, and the flags of dropout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from conditions.call import Array, Call, Condition

Holds = Callable[[Call], bool]


def _gradients(call: Call) -> list[Array]:
    return [np.asarray(one) for one in call.arguments["gradients"]]


def _norm(call: Call) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(sum(np.sum(np.square(one, dtype=np.float64)) for one in _gradients(call))))


def _of_gradients(test: Callable[[list[Array]], bool], call: Call) -> bool:
    return bool(test(_gradients(call)))


def _entries(gradients: list[Array]) -> int:
    return sum(one.size for one in gradients)


CLIPPING: Mapping[str, Holds] = {
    **{
        text: partial(_of_gradients, test)
        for text, test in {
            "one gradient": lambda g: len(g) == 1,
            "two gradients": lambda g: len(g) == 2,
            "more than 4 gradients": lambda g: len(g) > 4,
            "more than 16 gradients": lambda g: len(g) > 16,
            "an odd number of gradients": lambda g: len(g) % 2 == 1 < len(g),
            **{
                f"a gradient of rank {rank}": partial(lambda n, g: any(a.ndim == n for a in g), rank)
                for rank in range(1, 6)
            },
            "a gradient of one entry": lambda g: any(a.size == 1 for a in g),
            "one entry in all": lambda g: _entries(g) == 1,
            "more than 16 entries": lambda g: _entries(g) > 16,
            "more than 128 entries": lambda g: _entries(g) > 128,
            "more than 256 entries": lambda g: _entries(g) > 256,
            "gradients of one shape": lambda g: len(g) > 1 and len({a.shape for a in g}) == 1,
            "gradients of different ranks": lambda g: len({a.ndim for a in g}) > 1,
            "all zero": lambda g: not any(a.any() for a in g),
            "a gradient of zeros beside others": lambda g: any(a.any() for a in g) and not all(a.any() for a in g),
            "a zero entry": lambda g: any(np.any(a == 0) for a in g),
            "a −0.0": lambda g: any(np.any((a == 0) & np.signbit(a)) for a in g),
            "a subnormal": lambda g: any(np.any((a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny)) for a in g),
            "all negative": lambda g: all(np.all(a < 0) for a in g),
            "all positive": lambda g: all(np.all(a > 0) for a in g),
            "whole numbers only": lambda g: any(a.any() for a in g) and all(np.all(a == np.rint(a)) for a in g),
            "an entry above 88": lambda g: any(np.any(a > 88) for a in g),
            "an entry above 10,000": lambda g: any(np.any(a > 1e4) for a in g),
            "everywhere below 0.001": lambda g: any(a.any() for a in g) and all(np.all(np.abs(a) < 1e-3) for a in g),
            "largest gradient first": lambda g: len(g) > 1 and np.abs(g[0]).max() > max(np.abs(a).max() for a in g[1:]),
            "largest gradient last": lambda g: (
                len(g) > 1 and np.abs(g[-1]).max() > max(np.abs(a).max() for a in g[:-1])
            ),
            "two equal gradients": lambda g: len(g) > 1 and any(np.array_equal(a, b) for a, b in pairwise(g)),
            "not contiguous": lambda g: any(not a.flags.c_contiguous for a in g),
            "float64": lambda g: g[0].dtype == np.float64,
        }.items()
    },
    "a norm beyond the bound": lambda call: _norm(call) > call.arguments["max_norm"],
    "a norm within the bound": lambda call: 0.0 < _norm(call) <= call.arguments["max_norm"],
    "a norm just within the bound": lambda call: 0.9 < _norm(call) / call.arguments["max_norm"] <= 1.0,
    "a norm just beyond the bound": lambda call: 1.0 < _norm(call) / call.arguments["max_norm"] < 1.1,
    "a norm ten times the bound": lambda call: _norm(call) > 10.0 * call.arguments["max_norm"],
    "a norm a tenth of the bound": lambda call: 0.0 < _norm(call) < 0.1 * call.arguments["max_norm"],
    "a bound of 1": lambda call: call.arguments["max_norm"] == 1.0,
    "a bound above 1": lambda call: call.arguments["max_norm"] > 1.0,
    "a bound above 100": lambda call: call.arguments["max_norm"] > 100.0,
    "a bound below 0.1": lambda call: call.arguments["max_norm"] < 0.1,
    "a bound that is a whole number": lambda call: call.arguments["max_norm"] == int(call.arguments["max_norm"]),
}

_NUMBER: Mapping[str, Callable[[float], bool]] = {
    "== 0": lambda x: x == 0,
    "== 1": lambda x: x == 1,
    "== 2": lambda x: x == 2,
    "> 2": lambda x: x > 2,
    "> 10": lambda x: x > 10,
    "> 100": lambda x: x > 100,
    "> 1000": lambda x: x > 1000,
    "> 65,536": lambda x: x > 65536,
    "is odd and > 1": lambda x: x > 1 and x % 2 == 1,
    "== 0.1": lambda x: x == 0.1,
    "== 0.5": lambda x: x == 0.5,
    "== 0.9": lambda x: x == 0.9,
    "== 0.95": lambda x: x == 0.95,
    "== 0.99": lambda x: x == 0.99,
    "== 0.999": lambda x: x == 0.999,
    "> 0.5": lambda x: x > 0.5,
    "< 0.5": lambda x: 0 < x < 0.5,
    "> 1": lambda x: x > 1,
    "< 0.001": lambda x: 0 < x < 0.001,
    "< 1e-7": lambda x: 0 < x < 1e-7,
    "> 0.01": lambda x: x > 0.01,
}
_STEP = "== 1|== 2|> 2|> 10|> 100|> 1000|> 65,536|is odd and > 1"
_RATES = {"rate": "== 0.1|== 0.5|== 0.9|> 0.5|< 0.5", "seed": "== 0|== 1|> 100|> 65,536|is odd and > 1"}
NUMBERS_OF: Mapping[str, Mapping[str, str]] = {
    "adamw_step": {
        "step": _STEP,
        "learning_rate": "== 0.1|== 1|> 1|> 0.5|< 0.001",
        "beta1": "== 0|== 0.5|== 0.9|== 0.99|< 0.5|> 0.5",
        "beta2": "== 0|== 0.9|== 0.95|== 0.99|== 0.999|> 0.5",
        "eps": "> 0.01|< 0.001|< 1e-7|> 1|== 0.1",
        "weight_decay": "== 0|== 0.1|== 1|> 0.01|< 0.001|> 0.5",
    },
    "warmup_cosine_learning_rate": {
        "step": f"== 0|{_STEP}",
        "peak": "== 1|> 1|> 10|== 0.1|< 0.001|< 1e-7",
        "least": "== 0|== 0.1|== 1|> 1|< 0.001|> 0.01",
        "warmup_steps": "== 0|== 1|== 2|> 10|> 100|is odd and > 1",
        "total_steps": "== 1|== 2|> 10|> 100|> 1000|> 65,536|is odd and > 1",
    },
    "warmup_inverse_root_learning_rate": {
        "step": _STEP,
        "d_model": "== 1|== 2|> 10|> 100|> 1000|is odd and > 1",
        "warmup_steps": "== 1|== 2|> 10|> 100|> 1000|> 65,536|is odd and > 1",
    },
    "dropout": _RATES,
    "dropout_backward": _RATES,
}


def _number(name: str, test: Callable[[float], bool], call: Call) -> bool:
    return test(call.arguments[name])


def _is(name: str, value: Any, call: Call) -> bool:
    return call.arguments.get(name) is value


def _of_steps(test: Callable[[int, Mapping[str, Any]], bool], call: Call) -> bool:
    return test(call.arguments["step"], call.arguments)


_WARMUP: Mapping[str, Callable[[int, Mapping[str, Any]], bool]] = {
    "in the warm-up": lambda step, given: step < given["warmup_steps"],
    "the last step of the warm-up": lambda step, given: step == given["warmup_steps"] - 1,
    "the end of the warm-up": lambda step, given: step == given["warmup_steps"],
    "the step after the end of the warm-up": lambda step, given: step == given["warmup_steps"] + 1,
    "beyond the warm-up": lambda step, given: step > given["warmup_steps"],
}
_COSINE: Mapping[str, Callable[[int, Mapping[str, Any]], bool]] = {
    **_WARMUP,
    "the end of the schedule": lambda step, given: step == given["total_steps"],
    "the last step of the schedule": lambda step, given: step == given["total_steps"] - 1,
    "beyond the schedule": lambda step, given: step > given["total_steps"],
    "in the first half of the decay": lambda step, given: (
        0 < 2 * (step - given["warmup_steps"]) < given["total_steps"] - given["warmup_steps"]
    ),
    "in the second half of the decay": lambda step, given: (
        0 < given["total_steps"] - step < 0.5 * (given["total_steps"] - given["warmup_steps"])
    ),
    "a peak that is the least rate": lambda step, given: given["peak"] == given["least"],
    "no warm-up, at the first step": lambda step, given: given["warmup_steps"] == step == 0,
}


def _ignored(call: Call) -> Array:
    ignored = call.arguments.get("ignore_index")
    return np.asarray(call.arguments["tokens"]) == (-(10**9) if ignored is None else ignored)


# What is not given is given as True, which cannot be told from it.
_TRAINING: Mapping[str, Holds] = {
    "training True": partial(_is, "training", True),
    "training False": partial(_is, "training", False),
}
_NEXT: Mapping[str, Holds] = {
    "the first token ignored": lambda call: bool(np.any(_ignored(call)[:, 0])),
    "the last token ignored": lambda call: bool(np.any(_ignored(call)[:, -1])),
    "some tokens ignored": lambda call: bool(np.any(_ignored(call)[:, 1:])),
    "no token ignored though one may be": lambda call: (
        call.arguments.get("ignore_index") is not None and not np.any(_ignored(call))
    ),
    "one target in all": lambda call: bool(np.sum(~_ignored(call)[:, 1:]) == 1),
    "two tokens in a row": lambda call: call.sizes["L"] == 2,
}
OTHERS: Mapping[str, Mapping[str, Holds]] = {
    "clip_by_global_norm": CLIPPING,
    "warmup_cosine_learning_rate": {text: partial(_of_steps, test) for text, test in _COSINE.items()},
    "warmup_inverse_root_learning_rate": {text: partial(_of_steps, test) for text, test in _WARMUP.items()},
    "dropout": _TRAINING,
    "dropout_backward": _TRAINING,
    "next_token_loss": _NEXT,
    "next_token_loss_backward": _NEXT,
}


def conditions_of_training() -> Iterator[Condition]:
    """Return all conditions on lists of gradients, on steps and settings, and on flags."""
    for operation, numbers in NUMBERS_OF.items():
        for name, text in numbers.items():
            for word in text.split("|"):
                yield Condition(operation, "number", f"{name} {word}", partial(_number, name, _NUMBER[word]))
    for operation, others in OTHERS.items():
        yield from (Condition(operation, "training", *one) for one in others.items())
