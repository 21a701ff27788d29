"""One forward pass of a model, recorded: every array, the operation that made it, and the line of code behind it."""
