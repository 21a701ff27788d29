"""What must hold of a Transformer, and why: operations, conventions, laws, derivations, worked examples.

This room knows no implementation. It imports neither the reference nor the conformance tests nor any framework.
"""
