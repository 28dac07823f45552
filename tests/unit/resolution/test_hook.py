"""Metadata as builds write it."""

import pytest

from datasmith.resolution.base import SourceTree
from datasmith.resolution.hook import Told, read_told
from datasmith.resolution.metadata import read_metadata

METADATA = """Metadata-Version: 2.1
Name: p
Version: 1.0
Requires-Python: >=3.9
Provides-Extra: test
Provides-Extra: all
Requires-Dist: numpy>=1.2
Requires-Dist: tomli; python_version < "3.11"
Requires-Dist: pytest; extra == "test"
Requires-Dist: mock; (python_version < "3.7") and extra == 'test'
Requires-Dist: hypothesis[numpy]>6; extra == "all" and os_name == "posix"

Description, in which Requires-Dist: nothing
"""


def test_requirements_are_sorted_by_extra() -> None:
    """The marker for an extra goes; what else it says of Pythons stays, and of this system holds."""
    assert read_told(METADATA) == Told(
        ("numpy>=1.2", 'tomli; python_version < "3.11"'),
        {"test": ("pytest", 'mock; python_version == "3.6"'), "all": ("hypothesis[numpy]>6",)},
        ">=3.9",
    )


@pytest.mark.parametrize(
    ("marker", "plain", "extras"),
    [
        ("extra == 'a' or extra == 'b'", False, "ab"),
        ("os_name == 'posix' and (extra == 'a' or extra == 'b')", False, "ab"),
        ("(extra == 'a') and python_version > '3'", False, "a"),
        ("extra == 'a' and (os_name == 'posix' or os_name == 'nt')", False, "a"),
        ("'a' == extra", False, "a"),
        ("extra == 'A' or python_version > '3'", True, ""),
        ("extra != 'a'", True, ""),
        ("extra == 'a' and os_name == 'nt'", False, ""),
        ("os_name ~= 'x' and extra == 'a'", True, ""),
        ("'x' < '3' and extra == 'a'", True, ""),
    ],
)
def test_an_extra_is_found_however_it_is_asked_for(marker: str, plain: bool, extras: str) -> None:
    """By what the marker says where the extra is asked for and where it is not, not by how it is written."""
    head = "Metadata-Version: 2.1\nName: p\nProvides-Extra: a\nProvides-Extra: b\n"
    told = read_told(f"{head}Requires-Dist: six @ https://h/six.whl ; {marker}\n")
    assert bool(told.dependencies) is plain
    assert told.extras == dict.fromkeys(extras, ("six @ https://h/six.whl",))


def test_what_the_files_say_stays() -> None:
    """Of Python and of extras that they list; dependencies are those that were told."""
    text = '[project]\nname = "p"\nrequires-python = ">=3.8"\ndynamic = ["dependencies"]\n'
    text += '[project.optional-dependencies]\ntest = ["nose"]\nempty = []\n'
    metadata = read_metadata(SourceTree({"pyproject.toml": text}, ("pyproject.toml",)), "o/p")
    assert not metadata.dependencies_known
    told = Told(("six",), {"test": ("pytest",), "empty": ("mock",)}, ">=3.9").added_to(metadata)
    assert (told.dependencies, told.dependencies_known, told.requires_python) == (("six",), True, ">=3.8")
    assert told.extras == {"test": ("nose",), "empty": ("mock",)}


def test_what_files_say_of_computed_extras_is_added() -> None:
    """`tests_require` stands in no metadata; known dependencies stay as they are written."""
    text = "setup(name='p', install_requires=['six>1'], extras_require=read(), tests_require=['mock', 'pytest'])"
    metadata = read_metadata(SourceTree({"setup.py": text}, ("setup.py",)), "o/p")
    told = Told(("six",), {"test": ("pytest", "nose"), "io": ("h5py",)}).added_to(metadata)
    assert (told.dependencies, told.unknown) == (("six>1",), ())
    assert told.extras == {"test": ("pytest", "nose", "mock"), "io": ("h5py",)}


def test_garbage_says_nothing() -> None:
    """A build is free to write what it likes."""
    assert read_told("\0\xff no metadata") == Told()


@pytest.mark.timeout(20)
def test_metadata_that_would_take_minutes_is_not_looked_at() -> None:
    """Each extra that a marker names is asked for on each Python."""
    extras = " or ".join(f"extra == 'e{number}'" for number in range(20))
    text = "".join(f"Requires-Dist: x{line} ; {extras}\n" for line in range(1900))
    assert read_told(text).problem == "its requirements name extras 38000 times (at most 5000 times are looked at)"
