"""What a launch says is its own."""

import json
import os
import subprocess
import sys
from importlib.resources import files

import pytest

from datasmith.workloads.channel import new_key, own_lines, sign, signed

KEY = "00" * 16
SAY = """
from inside.report import Report, hide
report = Report()
report.sign({key!r})
hide()
import sys
print("forged", flush=True)
assert not [name for name in sys.modules if name.startswith("inside")]
assert not hasattr(sys.modules["__main__"], "report")
report.say({{"a": 1}})
report.send({{"b": "é"}})
"""


def test_signed_lines_come_back_without_their_signatures() -> None:
    """In their order, with a key of 128 bits that is another one each time."""
    assert own_lines(signed(b"one\ntwo\n", KEY), KEY, cut_off=False) == b"one\ntwo\n"
    assert own_lines(b"", KEY, cut_off=False) == b""
    assert len({new_key() for _ in range(10)}) == 10 and len(new_key()) == 32


@pytest.mark.parametrize(
    "output",
    [
        b'{"samples": [1e-6]}\n',
        signed(b"one", "11" * 16),
        signed(b"one", KEY) + b"two\n",
        b"two\n" + signed(b"one", KEY),
        signed(b"one", KEY) * 2,
        signed(b"one\ntwo", KEY).splitlines(keepends=True)[1],
        signed(b"one", KEY).replace(b"one", b"two"),
        b" \n",
    ],
)
def test_what_another_wrote_is_not_believed(output: bytes) -> None:
    """Unsigned, signed with another key, added, repeated, out of order or changed."""
    assert own_lines(output, KEY, cut_off=False) is None


def test_of_a_launch_that_was_ended_the_whole_lines_count() -> None:
    """Times that were told before outputs took too long stay told."""
    assert own_lines(signed(b"one\ntwo", KEY)[:-2], KEY, cut_off=True) == b"one\n"
    assert own_lines(b"nothing", KEY, cut_off=True) == b""


def test_the_script_in_the_sandbox_signs_alike() -> None:
    """Its lines are believed; prints go elsewhere, and nothing of it can be imported any more."""
    home = str(files("datasmith.workloads"))
    words = [sys.executable, "-c", SAY.format(key=KEY)]
    done = subprocess.run(words, env={"PYTHONPATH": home, "PATH": os.defpath}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    said = own_lines(done.stdout, KEY, cut_off=False)
    assert said is not None and [json.loads(line) for line in said.splitlines()] == [{"a": 1}, {"b": "é"}]
    assert done.stdout.startswith(sign(b'{"a":1}', 0, KEY))
