"""An implementation in a process of its own: what it does to that process, it does not do to the suite.

A worker loads the implementation and makes the calls; the laws, the reference and what is expected stay with the suite.
A worker that hangs or dies is replaced. Nothing that a worker sends is believed before it has been checked.
"""
