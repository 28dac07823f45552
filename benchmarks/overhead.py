"""Share of a measurement's wall time that is not inside a timed call (target: at most 50 %; asv: about 80 %)."""

from benchmarks.launches import runs

from datasmith.workloads.audit import timed_seconds


def main() -> None:
    """Print the share over all launches, and where the rest went."""
    every = [launch for run in runs(__doc__ or "") for launch in run]
    wall_s = sum(launch.wall_s for launch in every)
    used = [launch for launch in every if launch.round >= 0 and not launch.noisy]
    timed_s = sum(timed_seconds(launch) for launch in used)
    setting_up_s = sum(launch.wall_s - timed_seconds(launch) for launch in used)
    thrown_away_s = wall_s - sum(launch.wall_s for launch in used)
    print(f"{len(every)} launches, {wall_s:.0f} s; overhead {1 - timed_s / wall_s:.1%} (target 50 %)")
    print(f"of it: start and set-up {setting_up_s / wall_s:.1%}, warm-up and disturbed {thrown_away_s / wall_s:.1%}")


if __name__ == "__main__":
    main()
