"""A/A false positives: the same code called changed (target: at most 1 %), beside the rate of sequential asv."""

from benchmarks.launches import Run, runs
from scipy.stats import kstest, mannwhitneyu  # type: ignore[import-untyped]

from datasmith.workloads.base import BASE, CONTROL
from datasmith.workloads.summary import aa_false_positives, by_workload, summarise

ASV_LEVEL = 0.002
"""The level of asv's own Mann-Whitney test."""


def sequential(run: Run) -> tuple[int, int]:
    """(called different, workloads) by asv's test on the samples of base's first two rounds against base2's last two.

    asv runs one commit after the other, two processes each, and tests their samples: the time between lets drift in.
    """
    different = tested = 0
    for launches in by_workload(run).values():
        base, other = launches.usable(BASE), launches.usable(CONTROL)
        first = [sample for at in sorted(base)[:2] for sample in base[at].samples]
        last = [sample for at in sorted(other)[-2:] for sample in other[at].samples]
        if first and last:
            tested += 1
            different += mannwhitneyu(first, last).pvalue < ASV_LEVEL
    return different, tested


def main() -> None:
    """Print both rates, and how far the p-values are from uniform."""
    made = runs(__doc__ or "")
    wrong = total = asv_wrong = asv_total = held = 0
    p_values: list[float] = []
    for number, run in enumerate(made):
        control = summarise(run, seed=number)[CONTROL]
        changed, valid = aa_false_positives(control)
        wrong, total = wrong + changed, total + valid
        p_values += [row.p for row in control.valid if row.p is not None]
        held += control.low is not None and control.high is not None and control.low <= 1.0 <= control.high
        different, tested = sequential(run)
        asv_wrong, asv_total = asv_wrong + different, asv_total + tested
    if not total or not asv_total:
        raise SystemExit("no workload has enough undisturbed rounds: is the machine busy? (try --cpu -1)")
    print(f"A/A, paired and interleaved: {wrong} of {total} workloads called changed ({wrong / total:.1%}, target 1 %)")
    print(f"A/A, one arm after the other by asv's test: {asv_wrong} of {asv_total} ({asv_wrong / asv_total:.1%})")
    print(f"base2's speedup interval holds 1 in {held} of {len(made)} runs")
    print(f"p below 0.05: {sum(p < 0.05 for p in p_values) / total:.1%}; uniform: {kstest(p_values, 'uniform')}")


if __name__ == "__main__":
    main()
