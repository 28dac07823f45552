"""The report as JSON: flat names, numbers as they are, null where there is none."""

from pathlib import Path

from pydantic import JsonValue

from datasmith.evaluation.board import AgentReport, Board
from datasmith.evaluation.report import Report
from datasmith.evaluation.rows import TrialRow
from datasmith.metrics.levels import LEVELS
from datasmith.metrics.score import Interval


def as_json(report: Report, page: Path | None) -> dict[str, JsonValue]:
    """What `--json` prints; the page's place is part of it, where it could be written."""
    return {
        "run_id": report.run.run_id,
        "policy": report.policy,
        "scope": report.scope,
        "n_expected": report.n_expected,
        "n_complete": report.n_complete,
        "agents": [agent_as_json(agent) for agent in report.agents],
        "order": "ranked pairs",
        **orders_as_json(report.board),
        "trials": [_trial(row) for row in report.trials],
        "left_out": list(report.strays),
        "control": {
            "workloads": report.control.workloads,
            "untested": report.control.untested,
            "false_positives": report.control.false_positives,
            "rate": report.control.rate,
            "median_half_width": report.control.half_width,
        },
        "cost": {
            "launches": report.cost.launches,
            "wall_s": report.cost.wall_s,
            "cpu_s": report.cost.cpu_s,
            "overhead_share": report.cost.overhead_share,
        },
        "page": str(page) if page else None,
    }


def agent_as_json(agent: AgentReport) -> dict[str, JsonValue]:
    """One configuration with all its figures."""
    means = agent.means
    outcomes: dict[str, JsonValue] = dict(sorted(agent.outcomes.items()))
    return {
        "agent": agent.agent,
        "n_trials": agent.n_trials,
        "n_tasks": agent.n_tasks,
        "n_scored": agent.n_scored,
        "outcomes": outcomes,
        "advantage": means.advantage.value,
        "advantage_interval": ends_as_json(agent.intervals.at("overall")),
        "by_level": {
            level: {
                "advantage": means.by_level[level].value,
                "interval": ends_as_json(agent.intervals.at(level)),
                "n": means.by_level[level].n,
            }
            for level in LEVELS
        },
        "speedup": means.speedup.value,
        "speedup_interval": ends_as_json(agent.intervals.speedup),
        "expert_speedup": means.expert_speedup.value,
        "expert_speedup_interval": ends_as_json(agent.intervals.expert_speedup),
        "worst_speedup": means.worst_speedup.value,
        "log_advantage": means.log_advantage.value,
        "normalised_advantage": means.normalised_advantage.value,
        "normalised_advantage_n": means.normalised_advantage.n,
        "worst_speedup_interval": ends_as_json(agent.intervals.worst_speedup),
        "log_advantage_interval": ends_as_json(agent.intervals.log_advantage),
        "cost_usd": agent.cost_usd,
        "rank": agent.rank,
        "rank_span": list(agent.span) if agent.span else None,
        "tie_group": agent.tie_group,
        "heaviest_share": agent.heaviest,
        "mean_cost_usd": agent.cost.mean_usd,
        "mean_cost_usd_interval": ends_as_json(agent.cost.mean_interval),
        "mean_cost_usd_n": agent.cost.n,
        "cost_weighted": agent.cost.weighted,
        "cost_weighted_interval": ends_as_json(agent.cost.weighted_interval),
        "pareto": agent.cost.pareto,
        "pass_at": {
            str(k): {"value": found.value, "n": found.n, "interval": ends_as_json(agent.pass_intervals[k])}
            for k, found in agent.pass_at.items()
        },
    }


def orders_as_json(board: Board) -> dict[str, JsonValue]:
    """The ranks under each rule, how far they agree, the pairs that look like copies, and `Board.uneven`."""
    return {
        "ranks": {rule: dict(ranks) for rule, ranks in board.stability.ranks.items()},
        "agreement": board.stability.agreement,
        "duplicates": [
            {"first": each.first, "second": each.second, "equal": each.equal, "shared": each.shared}
            for each in board.duplicates
        ],
        "uneven": list(board.uneven()),
    }


def _trial(row: TrialRow) -> JsonValue:
    record, score = row.record, row.score
    return {
        "task_id": record.task_id,
        "agent": record.agent,
        "attempt": record.attempt,
        "outcome": record.outcome,
        "reason": record.reason,
        "speedup": score.speedup if score else None,
        "speedup_interval": ends_as_json(row.speedup_interval),
        "expert_speedup": score.expert_speedup if score else None,
        "worst_speedup": score.worst_speedup if score else None,
        "advantage": score.advantage if score else None,
        "n_valid": score.n_valid if score else None,
        "n_workloads": score.n_workloads if score else None,
        "cost_usd": record.cost_usd,
    }


def ends_as_json(interval: Interval | None) -> JsonValue:
    """[low, high], or null."""
    return [interval.low, interval.high] if interval else None
