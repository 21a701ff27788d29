"""`python -m veriformer.cli`."""

from __future__ import annotations

from veriformer.cli import main

if __name__ == "__main__":
    main()
