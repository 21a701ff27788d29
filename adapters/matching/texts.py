"""What the text of a function or class says: its documentation, and its source."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from veriformer.adapters.matching.names import words_of

_OUTER = frozenset("b batch batchsize bs n t time l len length seq seqlen sequence s tokens positions".split())  # noqa: SIM905
_LAST = frozenset("c d e channels channel features feature dim dmodel hidden hiddensize embed embeddim width".split())  # noqa: SIM905
_FEWEST = 3
# What is said of the one value ends where the other is spoken of: "1 for tokens and 0 for padding".
_AFTER_TRUE = re.compile(r"\b(?:True|1(?:\.0)?)\b(?!\s*/)((?:(?!\b(?:False|0)\b)[^;,.()])*)")
_AFTER_FALSE = re.compile(r"\b(?:False|0(?:\.0)?)\b(?!\s*/)((?:(?!\b(?:True|1)\b)[^;,.()])*)")
_HIDES = re.compile(
    r"\b(hid(e|es|den)|mask(s|ed)|ignored?|pad(s|ded|ding)?|block(s|ed)?|excluded?|drop(s|ped)?|le(ft|aves?) out"
    r"|skip(s|ped)?|disallow(s|ed)?|forbid(s|den)?|prohibited|invisible|invalid|suppressed)\b",
    re.I,
)
_SHOWS = re.compile(
    r"\b(keeps?|kept|attend(s|ed)?|visible|valid|real|allow(s|ed)?|sees?|seen|looks?|takes? part|participates?)\b", re.I
)
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_DENIED = re.compile(r"\b(?:not|non|never|cannot|must not)\b[\s-]*(?:(?:to|be|been|a|an)\s+)*(?=\w)", re.I)
_NOT = re.compile(r"\b(not|no|non|never|un|cannot|else|otherwise|or)\b|n't", re.I)
_OF_KEY_HEADS = re.compile(
    r"\b(n_rep|num_rep|(n|num)_(kv|key_value)_(heads|groups)|kv_heads|[hn]_?kv|[hn]_?k_?v_?heads|(repeat|expand)_kv)\b",
    re.I,
)
_OF_A_MODULE = re.compile(r"\.(n_rep|num_rep|num_key_value_groups|num_queries_per_kv|n_groups)\b")
_WINDOW = r"`{0,2}(window(_size|_left|_length)?|sliding_window(_size)?|w|win)`{0,2}"
_COUNTS_OWN = re.compile(
    r"itself and the [\w`]+ ?- ?1|\b[itq] ?- ?[\w`]+ ?\+ ?1\b"
    r"|includ\w* (itself|the (query|current|own))|itself (is )?(included|counted)"
    r"|the (query|current|own)( one| key| token| position)? (is )?included"
    r"|counts? (itself|the (query|own))|\b(own|itself) (one )?included"
    rf"|\bi ?- ?j ?< ?{_WINDOW}(?!\w)|\bi ?- ?{_WINDOW} ?< ?j\b|\bj ?> ?i ?- ?{_WINDOW}(?!\w| ?-)",
    re.I,
)
_BESIDE_OWN = re.compile(
    rf"\bi ?- ?j ?<= ?{_WINDOW}(?!\w)|\bi ?- ?{_WINDOW} ?<= ?j\b|\bj ?>= ?i ?- ?{_WINDOW}(?!\w| ?\+)"
    rf"|\b(itself|own (key|position|token)) and (the )?(previous|preceding|last|past|earlier) {_WINDOW} \w"
    rf"|\b(itself|own (key|position|token)) and (the )?{_WINDOW} (previous|preceding|earlier|keys|tokens|positions)",
    re.I,
)
_ENDS_AT_OWN = re.compile(r"\b([itq]) ?- ?[\w`]+ ?\+ ?1\W*(?:\.\.+|…|to|through|,|\W)\s*\1\b", re.I)
# Not behind the dots of "i - 3 ... i".
_ENDS = re.compile(r"(?<=[^.][.;])\s+")
_MORE_THAN_ROWS = re.compile(r"\bpos(ition(s|al)?)?\b|sqrt|√|\bscal(e|ed|es|ing)\b|\bnorm", re.I)
_ADDS_NUMBERS = re.compile(
    r"\b(float(ing)?(-point)?|additive|numeric)\b[^.]*\b(mask|bias)\b[^.]*\badd(s|ed|itive)?\b", re.I
)
_LEAVES_OWN = re.compile(r"\b(not|without|excluding|besides|plus|beside)\b", re.I)
_ATTENTION = re.compile(r"\battention\b|\battend(s|ed|ing)?\b", re.I)
# Said of weights: a dataclass may be frozen too.
_FROZEN = re.compile(
    r"\b(is|are|be|kept|stays?|remains?) frozen\b"
    r"|\bfrozen (base|pre-?trained|backbone|weights?|parameters?|layers?|matri|linear)"
    r"|\bfreez(e|es|ing) (the|its|all|every|base|pre-?trained|backbone|weights?|parameters?|layers?)\b",
    re.I,
)
_KEPT_FROM = re.compile(r"\bstop_gradient\b|\bdetach\(")
_SUMS, _MEANS = frozenset({"sum", "sums", "summed", "total"}), frozenset({"mean", "average", "averaged", "averages"})
_CAUSAL = frozenset({"causal", "autoregressive"})
_PERHAPS = frozenset("non not no if or unless optional optionally whether either when can may unlike".split())  # noqa: SIM905


def source_of(function: Callable[..., Any]) -> str | None:
    """Return the source of a function, of an object that of its call; None where it cannot be had."""
    plain = inspect.unwrap(function)
    if callable(plain) and not inspect.isroutine(plain) and not isinstance(plain, type):
        plain = inspect.unwrap(type(plain).__call__)
    try:
        return inspect.getsource(plain)
    except (OSError, TypeError):
        return None


def tree_of(function: Callable[..., Any]) -> ast.Module | None:
    """Return the syntax tree of a function's source; None where it cannot be had."""
    try:
        return ast.parse(textwrap.dedent(source_of(function) or ""))
    except (SyntaxError, ValueError):
        return None


def called_name(called: ast.expr) -> str:
    """Return the last name of what a call in code calls; empty where it is no name."""
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def says_frozen(called: Any) -> bool:
    """Return whether the file of what is called says that weights are frozen, and keeps a gradient from something."""
    home = inspect.getmodule(called if inspect.isroutine(called) else type(called))
    try:
        text = "" if home is None else inspect.getsource(home)
    except (OSError, TypeError):
        return False
    return bool(_FROZEN.search(text) and _KEPT_FROM.search(text))


def says_causal(function: Callable[..., Any]) -> bool:
    """Return whether the documentation of a function says plainly that it is causal."""
    sentences = re.split(r"[.:;\n]", inspect.getdoc(function) or "")
    words = [set(words_of(one)) for one in sentences]
    return any(_CAUSAL & one and not _PERHAPS & one for one in words) and not any(
        _CAUSAL & one and _PERHAPS & one for one in words
    )


def says_attention(function: Callable[..., Any]) -> bool:
    """Return whether the documentation of a function speaks of attention."""
    return bool(_ATTENTION.search(inspect.getdoc(function) or ""))


def says_next_token(function: Callable[..., Any]) -> bool:
    """Return whether documentation says that a loss is one of next tokens, and not that these are shifted already."""
    text = inspect.getdoc(function) or ""
    return bool(re.search(r"\bnext[- ]token", text, re.I)) and not re.search(r"\b(already|pre-?)\W*shifted", text, re.I)


def says_sum(function: Callable[..., Any]) -> bool:
    """Return whether the name or the documentation of a function calls its result a sum, and not a mean as well."""
    said = {*words_of(getattr(function, "__name__", "")), *words_of(inspect.getdoc(function) or "")}
    return bool(said & _SUMS) and not said & _MEANS


def says_hidden(function: Callable[..., Any], parameter: str) -> bool | None:
    """Return whether documentation says that True, or 1, in a mask hides; None where it says nothing, or not plainly.

    It is what stands after True or 1 behind the parameter's name: "mask: True = hide", "pad: 1 for real tokens". Where
    that says nothing, it is the converse of what stands after False or 0. What the class of a method says counts where
    the method says nothing, and then what a function of the same file says that is handed the mask.
    """
    names = "|".join(re.escape(one) for one in _parameters(function))
    found = (_hidden_by(text, names, parameter) for text in _documented(function) if names)
    own = next((one for one in found if one is not None), None)
    return own if own is not None else _hidden_by_what_it_calls(function, parameter)


def _hidden_by_what_it_calls(function: Callable[..., Any], parameter: str) -> bool | None:
    """Return what the functions of the file say of a mask that is handed to them as it is; None where they differ."""
    home = getattr(inspect.unwrap(function), "__globals__", {})
    said: set[bool | None] = set()
    for called, argument in _handed_on(function, parameter):
        helper = home.get(called)
        if not inspect.isfunction(helper) or helper.__globals__ is not home:
            continue
        names = _parameters(helper)
        name = argument if isinstance(argument, str) else next(iter(names[argument:]), "")
        if name in names:
            documented = inspect.getdoc(helper) or ""
            by_name = _hidden_by(documented, "|".join(map(re.escape, names)), name)
            said.add(_hidden_in([documented]) if by_name is None else by_name)
    return said.pop() if len(said) == 1 else None


def _handed_on(function: Callable[..., Any], parameter: str) -> Iterator[tuple[str, int | str]]:
    """Yield the names of what code calls with a parameter as it is, and as which argument: its place, or its name."""
    for node in ast.walk(tree_of(function) or ast.Module([], [])):
        if isinstance(node, ast.Call):
            given: list[tuple[int | str, ast.expr]] = [*enumerate(node.args)]
            given += [(one.arg or "", one.value) for one in node.keywords]
            for argument, value in given:
                if isinstance(value, ast.Name) and value.id == parameter:
                    yield called_name(node.func), argument


def says_result_hides(function: Callable[..., Any]) -> bool | None:
    """Return whether documentation says that True, or 1, in a mask that is made hides; None where it does not say."""
    found = (_hidden_in([text]) for text in _documented(function))
    return next((one for one in found if one is not None), None)


def asks_for_booleans(function: Callable[..., Any], parameter: str) -> bool:
    """Return whether source asks if an array has truth values: "mask.dtype == torch.bool", or what is alike."""
    name = re.escape(parameter)
    asked = rf"\b{name}\.dtype\s*(==|!=|is|in)\s*\S*bool|\b{name}\.is_floating_point\(|issubdtype\(\s*{name}\.dtype"
    return bool(re.search(asked, source_of(function) or ""))


def says_numbers_added(function: Callable[..., Any], parameter: str) -> bool:
    """Return whether a mask may have numbers that are added to logits.

    Source asks whether it has truth values, or documentation says so: "a float mask is added".
    """
    if asks_for_booleans(function, parameter):
        return True
    return any(_ADDS_NUMBERS.search(sentence) for text in _documented(function) for sentence in _ENDS.split(text))


def _documented(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the documentation of a function, then that of the class whose method, or whose object, it is."""
    own = getattr(function, "__dict__", {}).get("__doc__")
    if inspect.isroutine(function) or own:
        # An object that stands for a function has its documentation.
        yield inspect.getdoc(getattr(function, "__wrapped__", function)) or ""
        if own:
            return
    owner = getattr(function, "__self__", None if inspect.isroutine(function) else function)
    if owner is not None and not inspect.ismodule(owner):
        kind = type(owner)
        for one in (*(getattr(kind, name, None) for name in ("forward", "__call__", "call")), kind):
            # Not that of a framework's own class, which speaks of another's parameters.
            yield (one.__doc__ or "") if one is not None else ""


def _hidden_by(documented: str, names: str, parameter: str) -> bool | None:
    parts = re.split(rf"(?:^|\b)({names})\b(?=\s*[:(]|\s+(?:is|are|likewise)\b)", documented)
    said = [text for name, text in zip(parts[1::2], parts[2::2], strict=True) if name == parameter]
    return _hidden_in(said)


def _hidden_in(said: Sequence[str]) -> bool | None:
    # Nothing is said by the 1 of a shape, (B, 1, L, S) or (batch, 1 or heads, length, length).
    said = [_IN_PARENTHESES.sub(_unless_a_shape, text) for text in said]
    of_true = {_hides(after) for text in said for after in _AFTER_TRUE.findall(text) if after.strip()}
    of_false = {_hides(after) for text in said for after in _AFTER_FALSE.findall(text) if after.strip()}
    found = of_true if of_true - {None} else {None if one is None else not one for one in of_false}
    return found.pop() if len(found) == 1 else None


def _unless_a_shape(found: re.Match[str]) -> str:
    text = found.group()
    return "" if "," in text and not (_HIDES.search(text) or _SHOWS.search(text)) else text


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _hides(words: str) -> bool | None:
    if denied := _DENIED.search(words):
        return _hides_by_denial(words[: denied.start()], words[denied.end() :])
    hides, shows = bool(_HIDES.search(words)), bool(_SHOWS.search(words))
    if hides == shows or _NOT.search(words):
        return None
    return hides


def _hides_by_denial(before: str, denied: str) -> bool | None:
    """Return that "not allowed" hides, and "not masked" shows; None where anything else is said of it."""
    first, _, rest = denied.partition(" ")
    if any(one.search(f"{before} {rest}") for one in (_HIDES, _SHOWS, _NOT)):
        return None
    return True if _SHOWS.match(first) else False if _HIDES.match(first) else None


def repeats_key_heads(function: Callable[..., Any]) -> bool:
    """Return whether a function divides numbers of heads by those of keys, as grouped attention does.

    A function that reads the quotient off a module may be handed a module that says 1.
    """
    source = source_of(function) or ""
    return bool(_OF_KEY_HEADS.search(source) and "//" in source and not _OF_A_MODULE.search(source))


def divides_by_length(function: Callable[..., Any]) -> bool:
    """Return whether code calls what divides a vector by its length, or by a small number where that is larger."""
    return bool(re.search(r"\b(l2_?)?normali[sz]e\(", source_of(function) or ""))


def says_window_counts_own(function: Callable[..., Any]) -> bool:
    """Return whether documentation says that a window counts the query's own key: "itself and the window - 1 before".

    What the functions say that it calls counts too.
    """
    return any(_COUNTS_OWN.search(one) and not _LEAVES_OWN.search(one) for one in _sentences_on_windows(function))


def says_window_is_beside_own(documented: str) -> bool:
    """Return whether documentation says that a window is of keys beside the query's own: "i - j <= window"."""
    return bool(_BESIDE_OWN.search(" ".join(documented.split())))


def _sentences_on_windows(function: Callable[..., Any]) -> list[str]:
    """Return what is said of windows where a function is documented, and where the functions are that it calls."""
    module = getattr(function, "__globals__", {})
    called = {one.id for one in ast.walk(tree_of(function) or ast.Module([], [])) if isinstance(one, ast.Name)}
    texts = [function, *(module[name] for name in sorted(called) if callable(module.get(name)))]
    documented = [inspect.getdoc(one) or "" for one in texts if getattr(one, "__module__", "") == function.__module__]
    sentences = (sentence for text in documented for sentence in _ENDS.split(" ".join(text.split())))
    return [sentence for sentence in sentences if "window" in sentence]


def says_window_ends_at_own(function: Callable[..., Any]) -> bool:
    """Return whether documentation says that a window ends at the query's own key: "tokens i - window + 1 ... i"."""
    return any(_ENDS_AT_OWN.search(one) for one in _sentences_on_windows(function))


_POWER_OF_TWO = re.compile(r"powers?[ -]of[ -](two|2)\b", re.IGNORECASE)
# What a documentation says before it: that it must be one.
_NEEDED = re.compile(r"\b(must|ha(s|ve) to|need(s)? to|should|only|assum\w+|requires?|expects?)\b[^.]*$", re.IGNORECASE)


def says_power_of_two(function: Callable[..., Any]) -> bool:
    """Return whether a function, its file, or a function that it calls is documented for a power of two of heads."""
    if any(map(_POWER_OF_TWO.search, (inspect.getdoc(function) or "", _doc_of_file(function)))):
        return True
    code, known = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    called = [known[name] for name in code.co_names if inspect.isfunction(known.get(name))] if code is not None else []
    documented = (" ".join((inspect.getdoc(one) or "").split()) for one in called)
    return any(_NEEDED.search(said[: found.start()]) for said in documented for found in _POWER_OF_TWO.finditer(said))


def _doc_of_file(function: Callable[..., Any]) -> str:
    return inspect.getdoc(sys.modules.get(getattr(function, "__module__", ""))) or ""


def says_more_than_a_lookup(function: Callable[..., Any]) -> bool:
    """Return whether documentation says that rows of a table are scaled, or that positions are added to them."""
    return bool(_MORE_THAN_ROWS.search(inspect.getdoc(function) or ""))


def shifts_by_one(function: Callable[..., Any]) -> bool:
    """Return whether source leaves out the last of some positions and the first of others: `[:, :-1]` and `[:, 1:]`."""
    parts = [one.slice for one in ast.walk(tree_of(function) or ast.Module([], [])) if isinstance(one, ast.Subscript)]
    slices = [each for part in parts for each in ast.walk(part) if isinstance(each, ast.Slice) and each.step is None]
    ends = {ast.unparse(one.upper) for one in slices if one.lower is None and one.upper is not None}
    starts = {ast.unparse(one.lower) for one in slices if one.upper is None and one.lower is not None}
    return "-1" in ends and "1" in starts


def keeps_axes(function: Callable[..., Any]) -> bool:
    """Return whether source keeps an axis that it sums over, as is of use for arrays of several axes alone."""
    return bool(re.search(r"keepdims?\s*=\s*True", source_of(function) or ""))


def names_an_axis(function: Callable[..., Any]) -> bool:
    """Return whether source says along which axis it sums, as is of use for arrays of several axes alone."""
    return bool(re.search(r"\b(axis|axes|dim)\s*=\s*[-(\d]", source_of(function) or ""))


def reads(function: Callable[..., Any], parameter: str) -> bool:
    """Return whether source reads a parameter anywhere; True where it cannot be had."""
    tree = tree_of(function)
    if tree is None or not tree.body:
        return True
    names = (one for one in ast.walk(tree) if isinstance(one, ast.Name))
    return any(one.id == parameter and isinstance(one.ctx, ast.Load) for one in names)


# Axes that are counted from the end: what is written so is meant for arrays with axes before them.
_FROM_END = re.compile(r"(transpose|swapaxes|permute|moveaxis)\([^()]*-[12]\s*,\s*-[12]|\.mT\b|[\"']\.\.\.")
_HEADS_OR_SAMPLES = re.compile(r"\b(heads?|batch(es)?|n_?heads?|num_heads)\b", re.I)


def is_of_more_than_matrices(function: Callable[..., Any]) -> bool:
    """Return whether source counts axes from the end, where its file speaks of heads or samples and it of no matrix."""
    source = source_of(function) or ""
    documented = inspect.getdoc(function) or ""
    of_matrices = re.search(r"[(\[]\s*\w+\s*,\s*\w+\s*[)\]]", documented)
    module = inspect.getmodule(function)
    try:
        whole = inspect.getsource(module) if module is not None else source
    except (OSError, TypeError):
        whole = source
    return bool(_FROM_END.search(source) and _HEADS_OR_SAMPLES.search(whole)) and not of_matrices


def says_four_axes(function: Callable[..., Any]) -> bool:
    """Return whether all arrays whose axes documentation lists have four: "q, k, v: (B, H, L, D)"."""
    documented = inspect.getdoc(getattr(function, "__wrapped__", function)) or ""
    listed = [re.split(r"\s*,\s*", inside.strip()) for inside in re.findall(r"[(\[]([^()\[\]]*)[)\]]", documented)]
    counts = {len(axes) for axes in listed if len(axes) >= _FEWEST and all(re.fullmatch(r"\w+", one) for one in axes)}
    return counts == {4}


def says_three_axes(function: Callable[..., Any]) -> bool:
    """Return whether documentation says that vectors come in samples and positions: "(batch, time, channels)"."""
    documented = inspect.getdoc(getattr(function, "__wrapped__", function)) or ""
    return any(_is_of_vectors(inside) for inside in re.findall(r"[(\[]([^()\[\]]*)[)\]]", documented))


def _is_of_vectors(inside: str) -> bool:
    names = [name.strip().replace("_", "").casefold() for name in inside.split(",")]
    return len(names) >= _FEWEST and names[-1] in _LAST and all(name in _OUTER for name in names[:-1])
