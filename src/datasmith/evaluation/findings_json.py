"""Findings, comparisons and published figures as JSON: numbers as they are, null where there is none."""

from collections.abc import Iterable

from pydantic import JsonValue

from datasmith.evaluation.compare import VERDICTS, Comparison
from datasmith.evaluation.findings import Findings, Slice, Worst
from datasmith.evaluation.published import Published
from datasmith.evaluation.summary import agent_as_json, ends_as_json, orders_as_json


def findings_as_json(found: Findings) -> dict[str, JsonValue]:
    """What `fc-eval findings --json` prints."""
    board, missing = found.board, found.missing
    return {
        "runs": list(found.gathered.names),
        "policy": found.gathered.policy,
        "n_tasks": found.gathered.n_tasks,
        "n_tried": len(board.tasks),
        "order": "ranked pairs",
        "global": [agent_as_json(agent) for agent in board.ranked],
        **orders_as_json(board),
        "levels": {agent.agent: agent_as_json(agent)["by_level"] for agent in board.ranked},
        "strategies": _slices(found.tags),
        "popularity": {
            "stars": {name: list(ends) for name, ends in found.stars.items()},
            "quintiles": _slices(found.quintiles),
        },
        "cost": {
            agent.agent: {
                "n": agent.cost.n,
                "mean_usd": agent.cost.mean_usd,
                "mean_usd_interval": ends_as_json(agent.cost.mean_interval),
                "n_scored": agent.n_scored,
                "advantage": agent.means.advantage.value,
                "advantage_interval": ends_as_json(agent.intervals.at("overall")),
                "cost_weighted": agent.cost.weighted,
                "cost_weighted_interval": ends_as_json(agent.cost.weighted_interval),
                "pareto": agent.cost.pareto,
            }
            for agent in board.ranked
        },
        "worst_workload": [_worst(row) for row in found.worst],
        "temporal": {
            "cutoffs": {name: date.date().isoformat() for name, date in found.cutoffs.items()},
            "bins": _slices(found.bins),
        },
        "missing": {
            "category": missing.category,
            "stars": missing.stars,
            "merged_at": missing.merged_at,
            "cutoffs": list(missing.cutoffs),
            "unmatched_cutoffs": list(missing.unmatched),
            "unmatched_stars": list(missing.unmatched_stars),
        },
        "one_machine": found.gathered.one_machine,
        "left_out": list(found.gathered.unlike),
        "differing": list(found.gathered.differing),
        "scopes": dict(found.gathered.scopes),
    }


def _slices(slices: Iterable[Slice]) -> list[JsonValue]:
    return [
        {
            "name": each.name,
            "agent": each.agent,
            "n": each.means.advantage.n,
            "advantage": each.means.advantage.value,
            "advantage_interval": ends_as_json(each.intervals.at("overall")),
            "speedup": each.means.speedup.value,
            "speedup_interval": ends_as_json(each.intervals.speedup),
            "expert_speedup": each.means.expert_speedup.value,
            "expert_speedup_interval": ends_as_json(each.intervals.expert_speedup),
        }
        for each in slices
    ]


def _worst(row: Worst) -> JsonValue:
    return {
        "agent": row.agent,
        "n": row.worst.n,
        "speedup": row.speedup.value,
        "speedup_interval": ends_as_json(row.speedup_interval),
        "worst_speedup": row.worst.value,
        "worst_interval": ends_as_json(row.worst_interval),
        "expert_speedup": row.expert.value,
        "expert_speedup_interval": ends_as_json(row.expert_interval),
        "expert_worst": row.expert_worst.value,
        "expert_worst_interval": ends_as_json(row.expert_worst_interval),
    }


def comparison_as_json(found: Comparison) -> dict[str, JsonValue]:
    """What `fc-eval compare --json` prints."""
    duplicate = found.duplicate
    return {
        "first": found.first,
        "second": found.second,
        "policy": found.policy,
        "n_shared": found.advantage.n,
        "advantage": found.advantage.value,
        "advantage_interval": ends_as_json(found.interval),
        "log_advantage": found.log_advantage.value,
        "log_advantage_interval": ends_as_json(found.log_interval),
        **{verdict: found.count(verdict) for verdict in VERDICTS},
        "only_first": found.only_first,
        "only_second": found.only_second,
        "said": found.said,
        "one_machine": found.one_machine,
        "uneven": list(found.uneven),
        "left_out": list(found.unlike),
        "differing": list(found.differing),
        "scopes": dict(found.scopes),
        "duplicate": {"equal": duplicate.equal, "shared": duplicate.shared} if duplicate else None,
        "tasks": [
            {
                "task_id": task.task_id,
                "first": task.first,
                "second": task.second,
                "difference": task.value,
                "interval": ends_as_json(task.interval),
                "verdict": task.verdict,
            }
            for task in found.tasks
        ],
    }


def published_as_json(found: Published) -> dict[str, JsonValue]:
    """What `fc-eval findings --published DIR --json` prints."""
    ranks: dict[str, JsonValue] = {
        code: {"ours": ours, "published": published} for code, (ours, published) in found.ranks.items()
    }
    return {
        "figures": [
            {
                "name": figure.name,
                "ours": figure.ours,
                "published": figure.published,
                "difference": figure.difference,
                "agrees": figure.agrees,
                "note": figure.note,
            }
            for figure in found.figures
        ],
        "ranks_not_compared": ranks,
        "undecided": [{"name": name, "why": why} for name, why in found.undecided],
    }
