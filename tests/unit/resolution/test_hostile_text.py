"""Files of a repository that are written to break their readers: what they say is lost, and nothing else."""

import pytest

from datasmith.resolution.base import AsvHints, Dropped, SourceTree
from datasmith.resolution.conda import read_environment
from datasmith.resolution.metadata import pretend_version, read_metadata
from datasmith.resolution.needs import collect, for_the_hook
from datasmith.resolution.requirements import asks_for_releases, read_lines
from datasmith.resolution.sources import _wheelless
from datasmith.resolution.versions import choose, unread_clauses
from tests.unit.resolution.test_versions import TODAY

MANY_DIGITS = "9" * 5000
DEEP = "a; " + "(" * 900 + "os_name == 'x'" + ")" * 900
PROJECT = '[project]\nname = "p"\nversion = "1"\n'


@pytest.mark.parametrize(
    "texts",
    [
        {"pyproject.toml": f'{PROJECT}dependencies = ["{DEEP}"]\n'},
        {"pyproject.toml": f'{PROJECT}requires-python = ">={MANY_DIGITS}"\n'},
        {"pyproject.toml": f'[project]\nname = "p"\nversion = "{MANY_DIGITS}"\n'},
        {"pyproject.toml": '[tool.poetry]\nname = "p"\n[tool.poetry.dependencies]\npython = "===foo"\n'},
        {"pyproject.toml": f'[tool.poetry.dependencies]\nsix = "^{MANY_DIGITS}"\n'},
        {"pyproject.toml": '[tool.poetry.dependencies]\nsix = {version = "1", python = "===foo"}\n'},
        {"setup.cfg": f"[metadata]\nname = p\n[options]\ninstall_requires = a; {DEEP}\n"},
        {"setup.py": "setup(name='\\ud800', install_requires=['six; os_name == \"\\udc80\"'])\n"},
        {"setup.py": f"import _speedups, naïve, m{MANY_DIGITS}\nsetup(name='p', use_scm_version=True)\n"},
        {"setup.py": "setup(use_scm_version=True)\n", "CHANGELOG.md": "\n١.٢\n"},
        {"setup.py": "setup()\n", "tests/test_a.py": f"import _speedups, naïve, m{MANY_DIGITS}\n"},
        {"setup.py": "setup()\n", "environment.yml": "dependencies: [\"six; os_name == '\\ud800'\"]\n"},
        {"setup.py": "setup()\n", "environment.yml": "dependencies:\n - !!bool six\n"},
        {"setup.py": "setup()\n", "requirements-test.txt": "a::b::" * 300 + f"\n{DEEP}\nsix; os_name == 'a\0b'\n"},
    ],
)
def test_no_text_raises(texts: dict[str, str]) -> None:
    """What is asked for in the end is releases, and all that is told can be written down."""
    tree = SourceTree(texts, tuple(texts))
    metadata = read_metadata(tree, "o/p")
    wanted = collect(tree, metadata, AsvHints(("3.11",), (DEEP, "\ud800", MANY_DIGITS)))
    assert all(asks_for_releases(need.requirement) for need in (*wanted.needs, *for_the_hook(tree, metadata)))
    assert all(Dropped.model_validate_json(item.model_dump_json()) for item in wanted.dropped)
    assert pretend_version(tree, "o/p") != ""
    unread_clauses(metadata.requires_python)
    choose(("3.11",), requires_python=metadata.requires_python, asv_pythons=(), commit_date=TODAY)
    f"{metadata.name}{metadata.version}".encode()


@pytest.mark.parametrize("line", [DEEP, "six; os_name == 'a\0b'", "a" * 2001, "six @ some where"])
def test_a_line_costs_no_other(line: str) -> None:
    """It is told."""
    reading = read_lines([line, "numpy"])
    assert reading.requirements == ("numpy",) and len(reading.dropped) == 1


@pytest.mark.parametrize(
    "value", ["!!bool foo", "!!timestamp foo", "!!int ''", "!!float ''", "!!timestamp 2001-01-01T00:00:00+99:99", "\0"]
)
def test_a_value_that_is_not_what_its_tag_says_is_no_yaml(value: str) -> None:
    """Wherever in an environment file it stands."""
    with pytest.raises(ValueError, match="it is no YAML"):
        read_environment(f"dependencies:\n - six\nother: {value}\n")


@pytest.mark.timeout(20)
def test_a_long_word_in_a_refusal_is_read_in_no_time() -> None:
    """Of a name without an end: it is looked at once, not from each of its letters on."""
    assert _wheelless("Because " + "x1" * 20_000 + " and six==1 has no usable wheels").keys() == {"six"}
