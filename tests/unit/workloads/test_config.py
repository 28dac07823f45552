"""asv.conf.json, as projects write it and as nobody should."""

import json
import time

import pytest
from packaging.requirements import Requirement

from datasmith.errors import ConfigError
from datasmith.workloads.config import AsvConfig, find_config

WRITTEN = """{
    // the usual comments
    "version": 1,
    "project": "toolz", /* and the unusual ones */
    "repo": "..",  // "not a string"
    "branches": ["main"],
    "pythons": ["3.10", "3.11",],
    "install_command": ["python -mpip install {wheel_file}"],
    "build_command": "python -m build // not a comment",
    "default_benchmark_timeout": 180,
    "matrix": {
        "req": {"numpy": ["1.26", "2.0"], "cython": [], "six": [""], "pip+attrs": ["<24"], "six==1": ["1"]},
        "env": {"OMP": ["4", "8"], "EMPTY": [null]},
        "env_nobuild": {"PYTHONHASHSEED": ["0"]},
    },
}"""


def test_a_configuration_is_read_with_its_comments_and_trailing_commas() -> None:
    """Commands are recorded, requirements are flattened to one version each, variables to their first value."""
    found = AsvConfig.parse(WRITTEN, path="asv_bench/asv.conf.json")
    assert (found.project, found.repo, found.branches) == ("toolz", "..", ("main",))
    assert found.pythons == ("3.10", "3.11")
    assert found.requirements == ("numpy==2.0.*", "cython", "six", "attrs<24")
    assert found.environment == {"OMP": "4", "PYTHONHASHSEED": "0"}
    assert found.build_command == ("python -m build // not a comment",)
    assert found.default_benchmark_timeout_s == 180.0
    assert found.benchmark_dir == "asv_bench/benchmarks"


def test_an_old_matrix_is_a_list_of_requirements() -> None:
    """Before asv 0.5 the matrix had no `req`; two versions stand for the newest."""
    found = AsvConfig.parse('{"matrix": {"numpy": ["1.8", "1.10.4"], "python": ["3"]}}')
    assert found.requirements == ("numpy==1.10.4",)
    assert found.environment == {}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("=1.21", "==1.21.*"),
        ("1.20=py*", "==1.20.*"),
        ("1.20.1=py38_0", "==1.20.1"),
        ("1.20*", "==1.20.*"),
        ("1.20.1.*", "==1.20.1.*"),
        ("1.0rc1", "==1.0rc1"),
        ("==1.21", "==1.21"),
        ("<2,>=1.16", "<2,>=1.16"),
        *(
            (text, "")
            for text in ("main", "latest", "\u0661.\u0662", "~1.20", ">=1.20|<2", "1.17-1", "@ https://host/x", "*")
        ),
    ],
)
def test_a_version_is_read_as_conda_and_pip_read_it(written: str, read: str) -> None:
    """What is no version for the one and none for the other, as a branch or an alternative, asks for any."""
    found = AsvConfig.parse(json.dumps({"matrix": {"numpy": [written]}}))
    assert found.requirements == (f"numpy{read}",)
    assert [Requirement(text).name for text in found.requirements] == ["numpy"]


def test_the_newest_is_found_among_builds_and_branches() -> None:
    """A name that no requirement can have is left out."""
    matrix = {"numpy": ["1.9", "main", "1.20=py*", "<3"], "six-": ["1"], "pip+x[a,]": [], "y": ["dev", ""]}
    assert AsvConfig.parse(json.dumps({"matrix": matrix})).requirements == ("numpy==1.20.*", "y")


def test_nothing_said_is_nothing_known() -> None:
    """The defaults are asv's."""
    found = AsvConfig.parse("{}")
    assert (found.pythons, found.requirements, found.benchmark_dir) == ((), (), "benchmarks")
    assert found.default_benchmark_timeout_s == 60.0


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("asv.conf.json", True),
        (".asv-x.json", True),
        ("asv_bench/asv.conf.jsonc", True),
        ("xasv.conf.json", False),
        ("asv.json5", False),
        ("asv/conf.json", False),
    ],
)
def test_the_names_of_configurations(path: str, is_one: bool) -> None:
    """`[.]asv*.json[c]`, nothing else."""
    assert find_config(["README.md", path]) == (path if is_one else None)


def test_the_shallowest_configuration_is_the_project_s() -> None:
    """A configuration among test data does not win over the project's own."""
    assert find_config(["a/b/asv.conf.json", "tests/asv.json", "bench/asv.conf.json"]) == "bench/asv.conf.json"


@pytest.mark.parametrize("directory", ["../outside", "/etc", "a/../..", "."])
def test_a_suite_outside_the_tree_is_refused(directory: str) -> None:
    """benchmark_dir is mined text and becomes a path."""
    with pytest.raises(ConfigError, match="benchmark_dir"):
        AsvConfig.parse(json.dumps({"benchmark_dir": directory}))


@pytest.mark.parametrize(
    ("written", "found"),
    [("python/", "python"), ("./a/../b", "b"), (".", ""), ("../x", ""), ("/etc", ""), ("a/../..", "")],
)
def test_the_project_s_directory_is_one_of_the_tree(written: str, found: str) -> None:
    """repo_subdir is mined text, too; asv runs its commands there, so that they do not say where the project is."""
    config = AsvConfig.parse(json.dumps({"repo_subdir": written, "install_command": "pip install {wheel_file}"}))
    assert config.repo_subdir == found
    assert config.install_paths == ((f"./{found}",) if found else ("pip install {wheel_file}",))


def bomb() -> str:
    """A small matrix that expands to more than 200,000 environments."""
    axes = {f"p{number}": [str(value) for value in range(8)] for number in range(6)}
    return json.dumps({"matrix": {"req": axes}}, separators=(",", ":"))


@pytest.mark.figure("hostile asv configurations")
@pytest.mark.parametrize(
    "text",
    [
        bomb(),
        "[" * 20_000,
        '{"matrix":' * 20_000 + "1" + "}" * 20_000,
        '{"project": "' + "x" * 1_000_001 + '"}',
        "{" + "/*" * 100_000,
        '{"pythons": ' + "," * 500_000 + "}",
        "not json",
        "[]",
        "",
        '{"matrix": 3}',
        '{"matrix": {"req": {"numpy": [["1"]]}}}',
        '{"pythons": {"a": 1}}',
        '{"pythons": [' + '"3",' * 5000 + "]}",
    ],
    ids=lambda text: text[:12],
)
def test_a_hostile_configuration_is_refused_at_once(text: str) -> None:
    """Too large, too deep, too many environments, or no configuration at all: one error, in less than a second."""
    started = time.process_time()
    with pytest.raises(ConfigError, match=r"asv\.conf\.json"):
        AsvConfig.parse(text)
    assert time.process_time() - started < 1.0


def test_the_bomb_is_small() -> None:
    """What is refused is the expansion, not the size: the text has fewer than 472 bytes."""
    assert len(bomb()) < 472
