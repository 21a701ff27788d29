"""Which part of the Transformer each piece of a recorded forward pass is, and where the pass departs from it."""
