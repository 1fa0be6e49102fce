"""Copies between arrays, as loops: an assignment to a slice would count references."""

from imop_engine.compiling import inlined


@inlined
def copy_into(target, source):
    """Write `source` over `target`, entry by entry."""
    for i in range(source.size):
        target[i] = source[i]
