"""How an implementation under test is found and called, one module per framework.

This room knows the names of operations and conventions, and no law, no tolerance and no reference (only the
built-in `numpy` implementation has the reference behind it). Frameworks are imported on demand.
"""
