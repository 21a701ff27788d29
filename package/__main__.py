"""`python -m veriformer`: the command line."""

from veriformer.cli import main

main()
