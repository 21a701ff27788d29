"""The generated pages of the documentation, one module for each; `docs/build.py` writes them."""
