"""What an advantage costs: per dollar, and the configurations that no other one beats on both."""

import math
from collections.abc import Mapping


def cost_weighted(advantage: float | None, mean_cost_usd: float | None) -> float | None:
    """Mean advantage / mean US dollars per task; None where either is unknown or the cost is not above 0.

    Never without the Pareto flag: dividing a negative score by the cost rewards spending.
    """
    if advantage is None or mean_cost_usd is None or not mean_cost_usd > 0.0 or not math.isfinite(mean_cost_usd):
        return None
    return advantage / mean_cost_usd


def pareto(points: Mapping[str, tuple[float | None, float | None]]) -> dict[str, bool | None]:
    """Whether no other configuration is at least as cheap and as good, and better in one of the two.

    `points` are (mean cost, advantage); None for a configuration that lacks either: it is not compared.
    """
    known = {name: (cost, gain) for name, (cost, gain) in points.items() if cost is not None and gain is not None}
    return {name: None if name not in known else not _beaten(known[name], known) for name in points}


def _beaten(point: tuple[float, float], known: Mapping[str, tuple[float, float]]) -> bool:
    return any(other != point and other[0] <= point[0] and other[1] >= point[1] for other in known.values())
