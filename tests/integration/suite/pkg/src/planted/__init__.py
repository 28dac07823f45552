"""A package whose speed is known: `work` adds up numbers, and takes as long as it is told."""

FACTOR = 100


def work(size: int) -> int:
    """The sum of the first size * FACTOR / 100 numbers, one by one."""
    total = 0
    for value in range(size * FACTOR // 100):
        total += value
    return total
