"""Several attempts at a task: the chance that one of k succeeds."""

import math

from datasmith.errors import ConfigError


def pass_at_k(n: int, c: int, k: int) -> float:
    """1 - C(n - c, k) / C(n, k): the chance that k of n attempts, c of which succeeded, hold a success.

    Raises:
        ConfigError: not 0 <= c <= n or not 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ConfigError(f"pass@k: n={n}, c={c}, k={k}: needs 0 <= c <= n and 1 <= k <= n (example: n=4, c=1, k=2)")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def reported_ks(least_attempts: int) -> tuple[int, ...]:
    """The k that are reported where every task has at least so many attempts: powers of two and multiples of five."""
    powers = {2**exponent for exponent in range(1, least_attempts.bit_length())}
    return tuple(sorted(k for k in powers | set(range(5, least_attempts + 1, 5)) if k <= least_attempts))
