"""The command line. Importing it, and asking for help, loads neither NumPy nor SymPy nor any framework."""

from __future__ import annotations

from veriformer.cli.application import main

__all__ = ["main"]
