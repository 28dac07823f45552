"""A/A false positives: the same code called changed (target: at most 1 %), beside the rate of sequential asv.

Run: `python -m benchmarks.aa_rate [PLACES ...]` pools launches of earlier measurements (files, run folders, data
directories; the arms base and base2), `... --certificates DIR` counts what certificates say, and without places it
measures here: the tests' suite, or with `--clone CLONE --repeats 60 --budget 5400 --out DIR` a repository's own.
"""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.launches import chosen_runs, options
from benchmarks.subjects import Run
from scipy.stats import beta, kstest, mannwhitneyu  # type: ignore[import-untyped]

from datasmith.tasks.certificate import ArmSummary, Certificate
from datasmith.workloads.base import BASE, CONTROL
from datasmith.workloads.summary import aa_false_positives, by_workload, summarise

ASV_LEVEL = 0.002
"""The level of asv's own Mann-Whitney test."""
TARGET = 0.01


def told(wrong: int, total: int) -> str:
    """A rate with its exact 95 % interval (Clopper and Pearson)."""
    low = float(beta.ppf(0.025, wrong, total - wrong + 1)) if wrong else 0.0
    high = float(beta.ppf(0.975, wrong + 1, total - wrong)) if wrong < total else 1.0
    return f"{wrong} of {total} = {wrong / total:.2%} [{low:.2%}, {high:.2%}]"


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


def controls(places: Iterable[Path]) -> list[ArmSummary]:
    """The A/A arms of the certificates below some places, each image once."""
    found: dict[str, Certificate] = {}
    for place in places:
        for path in sorted(place.rglob("certificate.json")):
            certificate = Certificate.model_validate_json(path.read_bytes())
            found[f"{certificate.image_digest} {certificate.issued_at}"] = certificate
    return [certificate.control for certificate in found.values()]


def show(called: list[ArmSummary], made: list[Run]) -> None:
    """Print the rates, and how far the p-values are from uniform."""
    counts = [aa_false_positives(control) for control in called]
    wrong, total = sum(changed for changed, _ in counts), sum(valid for _, valid in counts)
    if not total:
        raise SystemExit("no workload has enough undisturbed rounds: is the machine busy? (try --cpu -1)")
    print(f"A/A, paired and interleaved: {told(wrong, total)} of workloads called changed (target {TARGET:.0%})")
    compared = [sequential(run) for run in made]
    asv_wrong, asv_total = sum(changed for changed, _ in compared), sum(tested for _, tested in compared)
    if asv_total:
        print(f"A/A, one arm after the other by asv's test, same launches: {told(asv_wrong, asv_total)}")
    known = [(control.low, control.high) for control in called if control.low is not None and control.high is not None]
    print(f"base2's speedup interval holds 1 in {sum(low <= 1.0 <= high for low, high in known)} of {len(known)}")
    p_values = [row.p for control in called for row in control.valid if row.p is not None]
    below = sum(p < 0.05 for p in p_values) / len(p_values)
    print(f"p below 0.05: {below:.1%} of {len(p_values)}; uniform: p = {kstest(p_values, 'uniform').pvalue:.3f}")


def main() -> None:
    """Measure, or read what was measured, and print."""
    parser = options(__doc__ or "")
    parser.add_argument("--certificates", nargs="*", type=Path, default=[], help="directories of task folders")
    chosen = parser.parse_args()
    if chosen.certificates:
        show(controls(chosen.certificates), [])
        return
    made = chosen_runs(chosen)
    show([summarise(run, seed=number)[CONTROL] for number, run in enumerate(made)], made)


if __name__ == "__main__":
    main()
