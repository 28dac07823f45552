"""Which wheels can be installed in the sandboxes."""

import platform

import pytest

from datasmith.resolution.platforms import installs_on

HERE = platform.machine()


@pytest.mark.parametrize(
    ("wheel", "fits"),
    [
        ("x-1.0-py3-none-any.whl", True),
        ("x-1.0-py2.py3-none-any.whl", True),
        ("x-1.0-py2-none-any.whl", False),
        (f"x-1.0-cp311-cp311-manylinux2014_{HERE}.whl", True),
        (f"x-1.0-cp310-cp310-manylinux_2_17_{HERE}.manylinux2014_{HERE}.whl", False),
        (f"x-1.0-cp38-abi3-manylinux_2_28_{HERE}.whl", True),
        (f"x-1.0-cp311-cp311-manylinux_2_39_{HERE}.whl", False),
        (f"x-1.0-cp311-cp311-musllinux_1_2_{HERE}.whl", False),
        ("x-1.0-cp311-cp311-win_amd64.whl", False),
        ("x-1.0.tar.gz", False),
        ("nonsense.whl", False),
    ],
)
def test_a_wheels_name_says_where_it_can_be_installed(wheel: str, fits: bool) -> None:
    """Python, ABI, platform and C library are looked at together."""
    assert installs_on(wheel, ["3.11"]) is fits


def test_any_of_several_pythons_will_do() -> None:
    """A wheel for an older Python is a reason to take that Python."""
    wheel = f"x-1.0-cp39-cp39-manylinux1_{HERE}.whl"
    assert not installs_on(wheel, ["3.11", "3.12"])
    assert installs_on(wheel, ["3.11", "3.9"])
    assert not installs_on(wheel, [])
