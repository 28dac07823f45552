"""Checks of clones, files and the package index that a run is given."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from datasmith.errors import ConfigError
from datasmith.github.forges import Sources
from datasmith.preflight import inputs
from datasmith.preflight.base import Answer, Facts
from datasmith.resolution import index
from datasmith.settings import Settings
from tests.clones import Clone
from tests.unit.preflight.loopback import serving

PAGE = {
    "meta": {"api-version": "1.1"},
    "name": "pip",
    "files": [
        {
            "filename": "pip-1.0-py3-none-any.whl",
            "url": "https://example.org/pip-1.0-py3-none-any.whl",
            "hashes": {"sha256": "0" * 64},
            "upload-time": "2020-01-01T00:00:00Z",
        }
    ],
}


def facts(sources: Sources | None = None, **settings: object) -> Facts:
    return Facts(Settings.model_construct(**settings), {}, sources=sources)  # type: ignore[arg-type]


def test_clones_are_opened(tmp_path: Path) -> None:
    """By name where they can be used; one that is shallow, or no clone, is told as the run would tell it."""
    clone = Clone(tmp_path / "calc")
    clone.merge(2, "Faster")
    found = inputs.sources(facts(Sources("git", (clone.path,))))
    assert (found.state, found.detail) == ("OK", "acme/calc")
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{clone.path}", tmp_path / "shallow"], check=True)
    for place, says in (("shallow", "shallow clone"), ("absent", "absent")):
        with pytest.raises(ConfigError, match=says):
            inputs.sources(facts(Sources("git", (tmp_path / place,))))


def test_a_run_needs_sources_and_preflight_says_so(tmp_path: Path) -> None:
    """None is no failure, as they may be named later; GitHub's may stand in the file that discover writes."""
    assert inputs.sources(facts()) == Answer(
        "SKIP", "none named, and a run needs some", "name them as the run will get them (example: --repo ./packaging)"
    )
    asked = replace(facts(data_dir=tmp_path), forge="github")
    assert inputs.sources(asked).detail == f"none named, and a run needs some, or {tmp_path / 'repos_valid.csv'}"
    (tmp_path / "repos_valid.csv").write_text("repo_name\nacme/calc\n")
    assert inputs.sources(asked) == Answer("OK", f"those of {tmp_path / 'repos_valid.csv'}")


def test_a_file_of_pull_requests_must_be_there(tmp_path: Path) -> None:
    """Its name is in the message."""
    with pytest.raises(ConfigError, match=r"--offline-source .*gone\.parquet"):
        inputs.sources(facts(Sources("offline", files=(tmp_path / "gone.parquet",))))


def test_the_index_is_asked_as_the_resolver_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lists a project; an empty page, and one that nobody answers, are no index. No password is shown.

    Where none is set, PyPI is asked: builds need it, and a run without it ends as an outage.
    """
    with serving(lambda path, _token: (200, PAGE if path == "/simple/pip/" else {})) as server:
        with_password = server.url.replace("http://", "http://someone:planted-word@")
        found = inputs.package_index(facts(index_url=f"{with_password}/simple", ca_bundle=None))
        assert (found.state, "planted-word" in found.detail) == ("OK", False)
        empty = inputs.package_index(facts(index_url=f"{server.url}/other", ca_bundle=None))
        assert empty.state == "FAIL" and "FC_INDEX_URL=https://" in empty.todo
        monkeypatch.setattr(index, "PYPI", f"{server.url}/simple")
        assert inputs.package_index(facts(index_url="")) == Answer("OK", f"{server.url}/simple")
    assert inputs.package_index(facts(index_url="")).state == "FAIL"
    gone = inputs.package_index(facts(index_url=f"{with_password}/simple", ca_bundle=None))
    assert gone.state == "FAIL" and "/simple: package index unavailable" in gone.detail
    assert "planted-word" not in gone.detail
