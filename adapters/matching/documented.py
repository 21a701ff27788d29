"""Conventions that the documentation of a function states: they are what it is held to, and are not inferred."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import ATTENTION
from veriformer.adapters.matching.names import words_of
from veriformer.adapters.matching.texts import says_window_is_beside_own
from veriformer.adapters.matching.windows import OWN_KEY_COUNTED

# "The queries are taken to be the last L positions", and not "a query is limited to the last keys".
_LAST = re.compile(
    r"bottom[- ]?right|\bquer(y|ies)\s+(is|are|being|as|stands?|at)(\s+(taken|assumed|to|be|as|at|aligned|with|the))*"
    r"\s+\W?(last|latest|newest|most\s+recent|end\s+of)\b"
    r"|\b(aligned|aligns?|lined|lines?)\s+(up\s+)?((the|a)\s+(causal\s+)?mask\s+)?(up\s+)?(with|to|at)\s+the\s+(last|end)\b"
    r"|\b(the|those)\s+(\w+\s+)?(newest|latest|most\s+recent)\s+(tokens|positions|queries|rows)\b"
    r"|\b(cached|past|previous|earlier)\s+(tokens|keys|positions|entries)\s+(are\s+)?followed\s+by\b"
    r"|(<=?|\bat position) ?\w+ ?\+ ?\(? ?[a-zA-Z_]\w* ?- ?[a-zA-Z_]\w*",
    re.I,
)
_FIRST = re.compile(
    r"top[- ]?left|\baligned\s+(to|with|at)\s+the\s+(first|start|beginning)\b"
    # "Query i sees keys 0..i": "keys 0 to i + offset" says another thing.
    r"|\bkeys?\s+(j\s+in\s+)?\W?0\s*(\.\.+|…|,\s*\.\.\.\s*,|-|–|to|through)\s*i\b(?!\s*[+-])"
    r"|\b(both|quer(y|ies)\s+and\s+keys)\s+(sequences\s+)?(start|begin)\s+at\s+(position\s+)?0\b",
    re.I,
)
_ONE_MORE = re.compile(
    r"\(?\b1(\.0)? ?\+ ?`?(weight|gamma|scale|gain|g|w)\b|offset(s)? from (one|1)\b|(weight|gain|scale|gamma)s? - 1\b"
    r"|zero-? ?cent(er|re)d (weight|gamma|scale|gain)\b",
    re.I,
)
_BY_ERF = re.compile(r"\bexact\W+(\w+\W+)?gelu|\bgelu\W+\(?exact|\berf\b|\berror function|\bΦ\(|\bPhi\(", re.I)
_BY_TANH = re.compile(r"\btanh\b|\bapproximat(e|es|ed|ion)\b", re.I)
_CAUSAL = re.compile(r"causal|autoregressive", re.I)
_NO_KEY = (
    r"((fully|completely|entirely|wholly|all)[- ]*(masked|hidden|padded)(\s+out)?\s+(rows?|quer(y|ies))"
    r"|(rows?|quer(y|ies))\s+(without|with\s+no|that\s+(may\s+)?(see|attend\s+to)\s+no(thing)?)\b[^.;]{0,40}?"
    r"|(rows?|quer(y|ies))\s+(that|which)\s+(is|are)\s+(fully|completely|entirely|all)\s+(masked|hidden)(\s+out)?)"
)
_GIVES = r"\s+(gives?|gets?|returns?|yields?|outputs?|produces?|becomes?|is|are|stays?)(\s+(all|exact|set|to))*\s+"
# "Rows without any such entry give zeros", "zeros for fully masked rows".
_ZEROS = re.compile(rf"{_NO_KEY}{_GIVES}(zeros?|0)\b|\b(zeros?|0)\s+(for|in|where)\s+(the\s+)?{_NO_KEY}", re.I)


def conventions(functions: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    """Return the conventions that the documentation of operations states, each with its operation's name before it."""
    found = {}
    for operation, function in functions.items():
        documented = inspect.getdoc(getattr(function, "function", function)) or ""
        form = getattr(function, "form", None)
        if alignment := _causal_alignment(operation, form, documented):
            found[f"{operation}.causal_alignment"] = alignment
        if operation in ATTENTION and form is not None and _is_called_by_keys_beside_own(form, documented):
            found[f"{operation}.window_counting"] = "inclusive"
        masked = operation in (*ATTENTION, "attention_weights") and form is not None and "mask" in form.features
        if masked and _ZEROS.search(documented):
            found[f"{operation}.empty_row"] = "zeros"
        if operation == "rms_norm" and _ONE_MORE.search(documented):
            found[f"{operation}.rms_norm_gain"] = "one_plus_gamma"
        if operation == "gelu" and (stated := _gelu_form(function, documented)):
            found["gelu.gelu_form"] = stated
    return found


def _causal_alignment(operation: str, form: Form | None, documented: str) -> str:
    """Return which keys a causal flag shows where lengths differ; empty where documentation says neither, or both."""
    always = form is not None and form.fixed_values.get(f"{operation}.is_causal")
    is_causal = operation == "causal_mask" or (operation in ATTENTION and (always or _CAUSAL.search(documented)))
    last, first = bool(_LAST.search(documented)), bool(_FIRST.search(documented))
    if not is_causal or last == first:
        return ""
    return "bottom_right" if last else "top_left"


def _is_called_by_keys_beside_own(form: Form, documented: str) -> bool:
    """Return whether a window is, by its documentation, called with the number of keys beside the query's own.

    What counts the own key is called with one more.
    """
    counted = any(OWN_KEY_COUNTED in one for one in form.words)
    return "window" in form.features and (counted or says_window_is_beside_own(documented))


def _gelu_form(function: Callable[..., Any], documented: str) -> str:
    """Return the form of GELU that a name or documentation states; empty where it states none, or several."""
    words = words_of(str(getattr(getattr(function, "function", function), "__name__", "")))
    by_erf = bool(_BY_ERF.search(documented)) or not {"exact", "erf"}.isdisjoint(words)
    by_tanh = bool(_BY_TANH.search(documented)) or "tanh" in words
    if by_erf == by_tanh or "sigmoid" in documented.lower() or "quick" in words:
        return ""
    return "erf" if by_erf else "tanh"
