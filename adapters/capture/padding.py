"""Which token a model says is padding: in its configuration, as a constant of its file, or in its table of tokens."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from types import ModuleType

from veriformer.adapters.capture.configuration import Plain, parts_of

_NAME = re.compile(r"(^|_)pad(ding)?_?(tok(en)?_?)?(id|idx|index)$", re.IGNORECASE)
_CONSTANT = re.compile(r"^PAD(_TOKEN)?$")


def stated_padding(found: object, configuration: Mapping[str, Plain], home: object = None) -> int | None:
    """Return the token that a model states to be padding; None where it states none, or several.

    `configuration` is what the model says of itself, by where it stands, and `home` the module that it was found in.
    """
    constants = vars(home) if isinstance(home, ModuleType) else {}
    named = [*((name.rpartition(".")[2], value) for name, value in configuration.items()), *constants.items()]
    stated = [value for name, value in named if _NAME.search(name) or _CONSTANT.match(name)]
    known = {one for one in (*stated, *_of_tables(found)) if isinstance(one, int) and not isinstance(one, bool)}
    return known.pop() if len(known) == 1 and min(known) >= 0 else None


def _of_tables(found: object) -> Iterator[object]:
    """Yield the tokens that the tables of a torch module take for padding."""
    return (inspect.getattr_static(part, "padding_idx", None) for part in parts_of(found))
