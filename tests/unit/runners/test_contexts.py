"""Images by name alone: what the stages left in the store is found and built."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.docker import ImageManager
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.context import DockerContext
from datasmith.docker.images import BUILD_ARGS, build_args_text, read_build_args
from datasmith.errors import ConfigError
from datasmith.github.models import PR
from datasmith.resolution.base import Resolution
from datasmith.runners.contexts import StoredContexts
from datasmith.runners.rows import pull_request_row, resolution_row
from datasmith.settings import Settings
from datasmith.storage.base import Row
from datasmith.storage.sql import SqlStore
from tests.clones import Clone
from tests.sandboxes import embedded_engine

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TREE = {
    "pyproject.toml": '[project]\nname = "calc"\ndynamic = ["version"]\n[build-system]\nrequires = ["setuptools-scm"]\n'
    'build-backend = "x"\n[tool.setuptools_scm]\n',
    "CHANGES.md": "# 2.5.0\n",
    "calc.py": "x = 1\n",
    "asv.conf.json": '{"version": 1, "repo": ".", "benchmark_dir": "benchmarks"}',
}
RESOLUTION = Resolution(
    python_version="3.11",
    pins=(),
    lock="# no package\n",
    cutoff=NOW,
    strategy="newest-python",
    dropped=(),
    project_root=".",
    project_name="calc",
    import_names=(),
    build_requires=(),
    compiled=False,
    apt_packages=(),
    log="",
)
ENV_SCRIPT = 'mkdir -p "$FC_ENV/bin"\nln -s "$UV_PYTHON" "$FC_ENV/bin/python"\necho {said} >"$FC_ENV/said.txt"\n'


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", clones_dir=tmp_path / "clones")


@pytest.fixture
def store(settings: Settings) -> Iterator[SqlStore]:
    settings.data_dir.mkdir()
    with SqlStore.at(settings.data_dir / "fc.sqlite") as opened:
        opened.migrate()
        yield opened


@pytest.fixture
def clone(settings: Settings) -> Clone:
    """A clone where the pipeline keeps them."""
    assert settings.clones_dir
    return Clone(settings.clones_dir / "acme" / "calc", TREE)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> BubblewrapEngine:
    return embedded_engine(tmp_path_factory.mktemp("engine"))


def texts(said: str) -> dict[str, str]:
    """A context whose environment holds a word; nothing is installed in it."""
    own = dict(DockerContext.default(lock="").texts)
    own["docker_build_env.sh"] = ENV_SCRIPT.format(said=said)
    own["docker_build_pkg.sh"] = 'cat "$FC_ENV/said.txt" >"$FC_WORKDIR/built.txt"\n'
    return own | {BUILD_ARGS: build_args_text({"FC_PYTHON": "3.11", "FC_IMPORT_NAMES": ""})}


def remember(store: SqlStore, number: int, sha: str, said: str, day: int) -> None:
    """A container that stage 5 made."""
    row: Row = {"owner": "acme", "repo": "calc", "sha": sha, "issue_number": number, "context": dict(texts(said))}
    store.upsert("candidate_containers", [{**row, "created_at": datetime(2026, 2, day, tzinfo=UTC)}])


@pytest.mark.engine
def test_a_stored_context_is_found_and_built(
    engine: BubblewrapEngine, store: SqlStore, settings: Settings, clone: Clone
) -> None:
    """The container of the pull request, not that of another one, is built on the tree of its base commit."""
    first = clone.git("rev-parse", "HEAD")
    second = clone.commit("more", {"calc.py": "x = 2\n"}, "2026-02-01T00:00:00+0000")
    remember(store, 1, first, "one", 1)
    remember(store, 2, second, "two", 2)
    images = ImageManager(engine, settings=settings)
    with engine.start(images.build_pr_image("acme", "calc", 1)) as container:
        assert container.read_file("/workspace/repo/built.txt") == b"one\n"
        assert container.read_file("/workspace/repo/calc.py") == b"x = 1\n"
    with engine.start(images.build_repo_image("acme", "calc")) as container:
        assert container.read_file("/opt/env/said.txt") == b"two\n"
    assert "the stored container of acme/calc" in (settings.data_dir / "logs/acme-calc-1.build.log").read_text()


def test_the_task_folders_tree_goes_before_a_clones(store: SqlStore, settings: Settings) -> None:
    """A tree that stage 5 has kept needs no clone; without both the user reads how to get one."""
    remember(store, 1, "a" * 40, "one", 1)
    lookup = StoredContexts(settings)
    with pytest.raises(ConfigError, match=r"neither a task folder of it nor a clone .*git clone --mirror"):
        lookup.of_pull_request("acme", "calc", 1)
    kept = settings.data_dir / "made/acme_calc_1/environment/repo.tar.gz"
    kept.parent.mkdir(parents=True)
    kept.touch()
    found = lookup.of_pull_request("acme", "calc", 1)
    assert found and found.source == kept and "at " + "a" * 40 in found.origin


def test_a_resolved_environment_gets_our_own_dockerfiles(store: SqlStore, settings: Settings, clone: Clone) -> None:
    """Where stage 4 has decided and stage 5 has not, the default context is built around its lock."""
    sha = clone.git("rev-parse", "HEAD")
    pr = PR(repository="acme/calc", issue_number=3, base_sha=sha, merge_commit_sha="b" * 40)
    for table, row in (pull_request_row(pr, NOW), resolution_row(pr, RESOLUTION, NOW)):
        store.upsert(table, [row])
    lookup = StoredContexts(settings)
    found = lookup.of_pull_request("acme", "calc", 3)
    assert found and found.source and found.source.is_file()
    own = DockerContext.default(lock="# no package\n").texts
    assert {name: text for name, text in found.context.texts.items() if name != BUILD_ARGS} == own
    args = read_build_args(found.context.texts[BUILD_ARGS])
    assert (args["FC_PYTHON"], args["SETUPTOOLS_SCM_PRETEND_VERSION"]) == ("3.11", "2.5.0")
    repository = lookup.of_repository("acme", "calc")
    assert repository and repository.context.texts["lock.txt"] == "# no package\n" and repository.source is None


def test_of_what_nothing_is_known_nothing_is_built(
    engine: BubblewrapEngine, store: SqlStore, settings: Settings
) -> None:
    """An unknown repository or pull request, and a store that is not there yet, are one clear error."""
    remember(store, 1, "a" * 40, "one", 1)
    message = r"nothing says how .*fc-data --stage 4.*context="
    for asked in (settings, Settings(data_dir=settings.data_dir / "new", cache_dir=settings.cache_dir)):
        images = ImageManager(engine, settings=asked)
        with pytest.raises(ConfigError, match=message):
            images.build_pr_image("acme", "calc", 99)
        with pytest.raises(ConfigError, match=message):
            images.build_repo_image("acme", "other")
