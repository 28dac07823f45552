"""What a launch finds out of outputs and other inputs, run by each interpreter of this machine."""

import json
import subprocess
from pathlib import Path

import pytest

from datasmith.docker.bubblewrap_python import find_interpreters
from datasmith.process import find_uv
from datasmith.workloads import inside

PYTHONS = {name: found.path for name, found in find_interpreters(find_uv(), Path.home()).items()}
SUITE = """
def double(x):
    return 2 * x


def time_doubles():
    total = double(1.5)
    total += double(40)
    return [total]
"""
PROGRAM = """
import json, sys
sys.path[:0] = sys.argv[1:]
import bench
from inside.capture import capture
from inside.clocked import time_clocked
from inside.fresh import time_fresh
from inside.pauses import Pauses
from inside.short import time_short


class Benchmark:
    _setups, _setup_cache, _current_params, number = [], None, (), 0

    def __init__(self):
        self.func = bench.time_doubles

    def _build_params(self):
        return ()

    def do_setup(self):
        return False

    def do_teardown(self):
        pass

    def set_cache(self, cache):
        pass


class TimerawBenchmark(Benchmark):
    def __init__(self):
        self.func = lambda: ("import json.decoder\\njson.dumps([1])", "x = 2")


left = capture(TimerawBenchmark(), 1)
assert "JSONDecoder" in json.dumps(left) and "'[1]'" in json.dumps(left), left
seen = capture(Benchmark(), 1)
looked, values = time_fresh(Benchmark(), 5, "everything", 2, pauses=Pauses())
short = time_short(Benchmark(), 5, "everything", 3)[0]
clocked = time_clocked(Benchmark(), 5, "everything", 4, ask=lambda: 9, mark=lambda: None)[0]
assert "it raises" not in json.dumps(values), values
print(json.dumps([seen, len(looked.calls), len(values), len(short.calls), len(clocked)]))
"""


@pytest.mark.parametrize("version", sorted(PYTHONS))
def test_a_launch_is_checked_by_whatever_interpreter_a_project_brings(version: str, tmp_path: Path) -> None:
    """Base that fails for a fault of ours is nothing to compare with, and then every claim stands."""
    (tmp_path / "bench.py").write_text(SUITE)
    home = Path(str(inside.__file__)).parent.parent
    words = [str(PYTHONS[version]), "-B", "-c", PROGRAM, str(home), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    seen, *numbers = json.loads(done.stdout)
    assert numbers == [2, 2 + 2, 3, 4]
    told = [["line 7", ["float", "3.0"]], ["line 8", ["int", "80"]]]
    assert seen["values"][:2] == told, seen
