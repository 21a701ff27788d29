"""Attention that takes its keys, or its queries, in parts: the parts are few and equal, whatever the lengths are.

With the size that a function has by default, short sequences would be one part, and other lengths might be refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from veriformer.adapters.matching.forms import KEY_LENGTH, QUERY_LENGTH, Form, Source
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.sources import Taken
from veriformer.adapters.matching.texts import source_of

# Of the probe's keys and queries, so many make two parts.
_LARGEST = 4
_SEVERAL_PARTS = 3
_SIZES_OF_KEYS = (
    "chunk chunksize block blocksize kvchunk kvchunksize kchunk kchunksize kvblock kvblocksize blockk blockkv blockn "
    "kblock kblocksize bk bc tile tilesize blockcols keychunksize"
)
_SIZES_OF_QUERIES = "qchunk qchunksize qblock qblocksize blockq blockm bq br blockrows querychunksize"
SIZES = frozenset(f"{_SIZES_OF_KEYS} {_SIZES_OF_QUERIES} tokenchunk tokenchunksize rowchunk rowchunksize".split())
"""What the size of a part is called."""
TOKENS = 2
"""So many tokens make a part of a loss."""
_FEW_EQUAL = "so that there are few equal parts"
_ASKS_FOR_EQUAL = re.compile(
    r"divisible|\bdivides?\b|multiples? of|\bequal (parts|chunks|blocks)|(assert|if)\b[^\n]*%", re.I
)
_NEED_NOT = re.compile(r"\b(not|without|never)\b[^.\n]{0,30}\b(divisible|divides?|multiples?)\b", re.I)
_NUMBERS = "nsplits numsplits splits nchunks numchunks nblocks numblocks kvsplits numkvsplits"


def forms(form: Form, found: Taken) -> list[Form]:
    """Return the forms of an attention with the sizes of its parts, in the order in which they are tried.

    A size beyond `_LARGEST` is the function's own only where no other answers: short sequences are one part there, so
    that its results would tell nothing of how parts are put together.
    """
    named = {name: folded(name) for name in found.sources if name not in found.roles and folded(name) in _PARTS}
    if not named:
        return [form]
    defaults = [found.defaults.get(name) for name in named]
    of_number = bool(set(named.values()) & set(_NUMBERS.split()))
    # Two parts would not put together what was put together before.
    least = _SEVERAL_PARTS if of_number else 1
    is_small = all(isinstance(one, int) and least <= one <= _LARGEST for one in defaults)
    few = _with(form, {name: _PARTS[spelling] for name, spelling in named.items()}, _FEW_EQUAL)
    if is_small:
        # What answers with its own sizes, and wrongly, does not ask for lengths that they divide.
        return [form, replace(few, last_resort=True)]
    if of_number:
        several = {name: _SEVERAL if one in _NUMBERS.split() else _PARTS[one] for name, one in named.items()}
        # Lengths that the parts do not divide show keys that are dropped, unless the function refuses them.
        of_any_length = _with(form, several, "so that there are three parts at most")
        return [of_any_length, replace(few, last_resort=True), replace(form, last_resort=True)]
    fixed = [_fixed(form, _smaller(found, named))]
    return [*fixed, few, replace(form, last_resort=True)]


def excuses_other_lengths(form: Form, function: Callable[..., Any]) -> bool:
    """Return whether a form gives equal parts to a function whose source does not ask for lengths that they divide.

    One that answers with other parts, and wrongly, is wrong then.
    """
    source = source_of(function)
    if source is None or not any(one.endswith(_FEW_EQUAL) for one in form.words):
        return False
    return not _ASKS_FOR_EQUAL.search(_NEED_NOT.sub("", source))


def forms_of_losses(form: Form, found: Taken) -> list[Form]:
    """Return the forms of a loss whose tokens come in parts: of two tokens each, else of as many as by default."""
    names = [name for name in found.defaults if name not in found.roles and folded(name) in SIZES]
    if not names:
        return [form]
    return [_fixed(form, dict.fromkeys(names, TOKENS)), replace(form, last_resort=True)]


def _smaller(found: Taken, names: Iterable[str]) -> dict[str, int]:
    """Return sizes of parts, of which one is smaller than another where it is so by default: `_LARGEST`, or half of it.

    Parts of queries and keys that are equally large would not show which of them a limit is counted in.
    """
    largest = max((one for one in map(found.defaults.get, names) if isinstance(one, int)), default=0)
    sizes = {name: found.defaults.get(name) for name in names}
    return {
        name: _LARGEST // 2 if isinstance(size, int) and size < largest else _LARGEST for name, size in sizes.items()
    }


def _fixed(form: Form, sizes: Mapping[str, int]) -> Form:
    words = " and ".join(f"`{name}` is {size}" for name, size in sizes.items())
    sources = {name: _always(size) for name, size in sizes.items()}
    return replace(form, sources={**form.sources, **sources}, words=(*form.words, words))


def _always(size: int) -> Source:
    def source(_: Arguments) -> int:
        return size

    return source


def _with(form: Form, sources: Mapping[str, Source], words: str) -> Form:
    said = f"{' and '.join(f'`{name}`' for name in sources)} {words}"
    return replace(form, sources={**form.sources, **sources}, words=(*form.words, said))


def _number(length: int) -> int:
    """Return the smallest number of equal parts, more than one if that can be."""
    return next((one for one in range(2, length + 1) if length % one == 0), 1)


def _number_of_splits(length: int) -> int:
    """Return some number of equal parts: three or four of some keys each, else two of at least two, else one.

    What is rounded for each part is more with parts of one key, which no kernel has, than the laws allow of sums that
    are put together by their logarithms. Of two parts, nothing is made of what they were put together to.
    """
    several = (one for one in (4, 3) if length % one == 0 and length >= one * _LARGEST)
    return next(several, 2 if length % 2 == 0 and length > 2 else 1)


def _of(length: str, of: Callable[[int], int]) -> Source:
    def source(arguments: Arguments) -> int:
        return of(arguments[length])

    return source


def _size(length: int) -> int:
    return max(length // _number(length), 1)


_SEVERAL = _of(KEY_LENGTH, lambda length: max(1, min(_SEVERAL_PARTS, length // 2)))
_PARTS: Mapping[str, Source] = {
    **dict.fromkeys(_SIZES_OF_KEYS.split(), _of(KEY_LENGTH, _size)),
    **dict.fromkeys(_SIZES_OF_QUERIES.split(), _of(QUERY_LENGTH, _size)),
    **dict.fromkeys(_NUMBERS.split(), _of(KEY_LENGTH, _number_of_splits)),
}
