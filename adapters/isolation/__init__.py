"""An implementation in a process of its own, where it cannot harm the suite.

A worker loads the implementation and makes the calls; the laws, the reference and what is expected stay with the suite.
A worker that hangs or dies is replaced. Whatever a worker sends is checked before it is used.
"""
