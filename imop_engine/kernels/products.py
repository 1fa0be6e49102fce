"""Sums of products, in an order that the processor can work on side by side."""

from imop_engine.compiling import inlined

LONG = 32  # entries from which four sums are faster than one


@inlined
def dot(a, b, count):
    """Sum of a[i] b[i] over the first `count` entries.

    One sum has to wait for each addition to end; four do not. Which sum an entry belongs to is
    written here and not left to the compiler, so that every machine finds the same digits. Short
    ones are summed in order.

    Args:
        a: numbers.
        b: as many.
        count: how many of them.
    """
    total = 0.0
    first = 0
    if count >= LONG:
        one = 0.0
        two = 0.0
        three = 0.0
        four = 0.0
        first = count - count % 4
        for i in range(0, first, 4):
            one += a[i] * b[i]
            two += a[i + 1] * b[i + 1]
            three += a[i + 2] * b[i + 2]
            four += a[i + 3] * b[i + 3]
        total = (one + two) + (three + four)
    for i in range(first, count):
        total += a[i] * b[i]
    return total
