"""Time one resolution of a scientific project as of 2024-03-01, cold and warm, beside a bare `uv pip compile`.

Run: `python benchmarks/resolution.py [--rounds 5]`. Target: at most 2 s warm. Needs the package index.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from datasmith.process import clean_environment, find_uv, run
from datasmith.resolution.base import AsvHints, SourceTree
from datasmith.resolution.resolver import Resolver
from datasmith.settings import load_settings

DAY = datetime(2024, 3, 1, tzinfo=UTC)
STACK = ("numpy", "pandas", "scipy", "matplotlib", "scikit-learn")
DOCS = ("sphinx", "numpydoc", "pydata-sphinx-theme", "nbsphinx")
TARGET_S = 2.0


def tree(dependencies: tuple[str, ...]) -> SourceTree:
    """A pure project with these run-time dependencies and a docs extra."""
    listed = ", ".join(f'"{name}"' for name in dependencies)
    extra = ", ".join(f'"{name}"' for name in DOCS)
    text = (
        '[build-system]\nrequires = ["setuptools>=61"]\nbuild-backend = "setuptools.build_meta"\n'
        f'[project]\nname = "science"\nversion = "1"\nrequires-python = ">=3.9"\ndependencies = [{listed}]\n'
        f"[project.optional-dependencies]\ndocs = [{extra}]\n"
    )
    return SourceTree({"pyproject.toml": text}, ("pyproject.toml", "science/__init__.py"))


def timed(action: Callable[[], object], rounds: int) -> list[float]:
    """Wall seconds of each round."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return seconds


def main() -> None:
    """Print one line per way of asking; the ratio is to the bare uv call on the same requirements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    settings = load_settings()
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name) / "cache"
        resolver = Resolver(
            ["3.9", "3.10", "3.11", "3.12"],
            index_url=settings.index_url,
            ca_bundle=settings.ca_bundle,
            cache_dir=cache,
        )
        plain = [str(find_uv()), "pip", "compile", "-", "--exclude-newer", f"{DAY:%Y-%m-%dT%H:%M:%SZ}"]
        plain += [
            "--only-binary",
            ":all:",
            "--python-version",
            "3.12",
            "--cache-dir",
            str(cache),
            "--python",
            sys.executable,
        ]
        packages = "\n".join(STACK + DOCS).encode()

        def bare() -> None:
            done = run(plain, stdin=packages, cwd=Path(name), env=clean_environment())
            assert done.ok, done.error_text

        def ours(dependencies: tuple[str, ...]) -> Callable[[], object]:
            return lambda: resolver.resolve(
                tree(dependencies), repository="x/science", commit_date=DAY, asv=AsvHints(("3.12",), ("numpy",))
            )

        (cold,) = timed(ours(STACK + DOCS), 1)
        uv = statistics.median(timed(bare, rounds))
        warm = statistics.median(timed(ours(STACK + DOCS), rounds))
        chosen = statistics.median(timed(ours(STACK), rounds))
    print(f"five packages and the docs extra, empty cache   {cold:6.2f} s")
    print(f"the same, warm (median of {rounds})                   {warm:6.2f} s   target {TARGET_S:.1f} s")
    print(f"bare uv pip compile, warm                       {uv:6.2f} s   ratio {warm / uv:.2f}")
    print(f"as the resolver chooses (docs left out), warm   {chosen:6.2f} s")


if __name__ == "__main__":
    main()
