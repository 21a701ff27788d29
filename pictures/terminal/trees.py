"""The parts of a model, each under what it belongs to."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from veriformer.pictures.marks import STATUS_SYMBOLS
from veriformer.pictures.model import Node, Tree
from veriformer.pictures.terminal.texts import STATUS_STYLES, folded, printable

_DEEPEST = 8


def tree(tree: Tree, width: int) -> list[Text]:
    """Return a line for each part, or several where its text needs them."""
    parts = [line for node in tree.nodes for line in _node(node, 0, width)]
    return [*folded(tree.title, width, "bold"), *parts]


def _node(node: Node, depth: int, width: int) -> list[Text]:
    margin = "  " * min(depth, _DEEPEST)
    mark = Text.assemble(margin, (f"{STATUS_SYMBOLS[node.status]} ", STATUS_STYLES[node.status]))
    place = f"  {node.place}" if node.place else ""
    words = f"{printable(node.label)}  {printable(node.text)}{printable(place)}".rstrip()
    room = max(width - len(margin) - 2, 4)
    texts = folded(words, room) if cell_len(words) > room else [Text(words)]
    own = [(mark if not number else Text(f"{margin}  ")) + text for number, text in enumerate(texts)]
    return [*own, *(line for child in node.children for line in _node(child, depth + 1, width))]
