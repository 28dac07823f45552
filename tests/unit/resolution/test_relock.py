"""Single pins of a lock changed by the real uv, on an index of ours."""

from datetime import UTC, datetime
from pathlib import Path

from datasmith.process import find_uv
from datasmith.resolution.relock import relock
from datasmith.resolution.uv import Compiled, UvCompiler
from tests.integration.loopback_index import Release, serving

RELEASES = [
    Release("setuptools", "80.0", "2025-01-01"),
    Release("setuptools", "80.5", "2026-06-01"),
    Release("setuptools", "82.0", "2025-02-01"),
    Release("calc", "1.0", "2025-01-01"),
    Release("calc", "2.0", "2026-01-01"),
    Release("needy", "1.0", "2025-01-01", requires=("setuptools>=81",)),
]
CUTOFF = datetime(2025, 6, 1, tzinfo=UTC)


def test_one_pin_changes_and_the_others_stay(tmp_path: Path) -> None:
    """Nothing newer than the cutoff comes in, hashes stay, and what is met already, or cannot be, changes nothing."""
    with serving(RELEASES) as index:
        uv = UvCompiler(find_uv(), index_url=index.url, cache_dir=tmp_path / "uv")
        first = uv.compile(["calc", "setuptools"], python_version="3.11", cutoff=CUTOFF)
        assert isinstance(first, Compiled) and first.pins == ("calc==1.0", "setuptools==82.0")
        asked = {"python_version": "3.11", "cutoff": CUTOFF}
        changed = relock(uv, first.lock, ["setuptools<81"], **asked)  # type: ignore[arg-type]
        assert changed and "setuptools==80.0" in changed and "calc==1.0" in changed and "--hash=sha256:" in changed
        assert relock(uv, changed, ["setuptools<81"], **asked) is None  # type: ignore[arg-type]
        needy = uv.compile(["needy"], python_version="3.11", cutoff=CUTOFF)
        assert isinstance(needy, Compiled) and relock(uv, needy.lock, ["setuptools<81"], **asked) is None  # type: ignore[arg-type]
