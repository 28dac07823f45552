"""Names of images, and the way from a directory to a sealed image."""

import re
import tarfile
from pathlib import Path
from typing import cast

import pytest

from datasmith.docker import ImageManager, SmokeVerifier, seal
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.context import DockerContext
from datasmith.docker.debian import package_names
from datasmith.docker.engine import ContainerEngine, ImageRef, Limits, Tier
from datasmith.docker.images import (
    BUILD_ARGS,
    ImagePlan,
    archive_tag,
    build_args_text,
    read_build_args,
    repository_name,
)
from datasmith.docker.layers import tier_key
from datasmith.errors import BuildFailed, ConfigError
from datasmith.settings import Settings
from tests.sandboxes import committed, embedded_engine

REGISTRY_NAME = re.compile(r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*")
BACKEND = b'''"""A build backend of the tree's own, so that a build needs nothing from elsewhere."""

import os
import zipfile

FILES = {
    "thing.pth": os.path.dirname(os.path.abspath(__file__)) + "/src\\n",
    "thing-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: thing\\nVersion: 1.0\\n",
    "thing-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with open("src/thing/built.txt", "w") as file:
        file.write(os.environ.get("THING_VERSION", ""))
    with open("src/thing/version.py", "a") as file:
        file.write("# built\\n")
    with zipfile.ZipFile(wheel_directory + "/thing-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
        wheel.writestr("thing-1.0.dist-info/RECORD", "".join(name + ",,\\n" for name in [*FILES, "RECORD"]))
    return "thing-1.0-py3-none-any.whl"


build_wheel = build_editable
'''
TREE = {
    "pyproject.toml": b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    b'[project]\nname = "thing"\nversion = "1.0"\n',
    "backend.py": BACKEND,
    "src/thing/__init__.py": b"",
    "src/thing/version.py": b"version = 1\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> BubblewrapEngine:
    return embedded_engine(tmp_path_factory.mktemp("engine"))


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A directory as a task's environment/, for a package that brings its own build backend."""
    tree = committed(tmp_path / "tree", TREE)
    place = DockerContext.default(lock="").to_directory(tmp_path / "environment")
    with tarfile.open(place / "repo.tar.gz", "w:gz") as archive:
        archive.add(tree, arcname=".")
    args = {"FC_INSTALL_DIR": ".", "FC_IMPORT_NAMES": "thing", "THING_VERSION": "it's 1 $HOME"}
    (place / BUILD_ARGS).write_text(build_args_text(args))
    return place


def test_a_directory_becomes_a_sealed_image(engine: BubblewrapEngine, environment: Path, tmp_path: Path) -> None:
    """The package is installed from its tree, what its build wrote is in no diff, and the image is sealed."""
    settings = Settings(data_dir=tmp_path / "data")
    image = ImageManager(engine, settings=settings).build_pr_image("Own", "Thing", 7, context=environment)
    with engine.start(image) as container:
        assert SmokeVerifier("thing.version").verify(container).ok
        assert container.read_file("/workspace/repo/src/thing/built.txt") == b"it's 1 $HOME"
        assert container.read_file("/workspace/repo/src/thing/version.py") == TREE["src/thing/version.py"]
        report = seal.check(container, import_names=["thing"])
        assert report.ok, report.problems
    assert (tmp_path / "data" / "logs" / "Own-Thing-7.build.log").exists()


def test_a_package_can_be_built_again(engine: BubblewrapEngine, environment: Path, tmp_path: Path) -> None:
    """The script that installed the package installs it again, unchanged, in a container of the finished image."""
    image = ImageManager(engine).build_pr_image("own", "thing", 9, context=environment, log=tmp_path / "log")
    script = DockerContext.default(lock="").texts["docker_build_pkg.sh"]
    arguments = {"FC_WORKDIR": "/workspace/repo", "FC_ENV": "/opt/env", "FC_INSTALL_DIR": ".", "THING_VERSION": "2"}
    with engine.start(image, writable_env=True) as container:
        for _ in range(2):
            done = container.exec(["bash", "-c", script], timeout=60, env=arguments)
            assert done.ok, done.error_text
        assert container.read_file("/workspace/repo/src/thing/built.txt") == b"2"
        assert SmokeVerifier("thing.version").verify(container).ok


def test_a_build_that_fails_names_its_script(engine: BubblewrapEngine, environment: Path, tmp_path: Path) -> None:
    """A package that cannot be imported after its build is a failed build of the script that tried."""
    (environment / BUILD_ARGS).write_text("FC_IMPORT_NAMES=no_such_module\n")
    with pytest.raises(BuildFailed, match="no_such_module") as caught:
        ImageManager(engine).build_pr_image("own", "thing", 8, context=environment, log=tmp_path / "log")
    assert caught.value.stage == "docker_build_run.sh"


def test_nothing_is_built_from_nothing(engine: BubblewrapEngine, environment: Path, tmp_path: Path) -> None:
    """Without a directory, a lock or a source the user reads what is missing; no image is made."""
    images = ImageManager(engine)
    with pytest.raises(ConfigError, match="give context="):
        images.build_pr_image("own", "thing", 7, log=tmp_path / "log")
    (environment / "repo.tar.gz").unlink()
    with pytest.raises(ConfigError, match=r"repo\.tar\.gz is not there"):
        images.build_pr_image("own", "thing", 7, context=environment, log=tmp_path / "log")
    (environment / "lock.txt").unlink()
    with pytest.raises(ConfigError, match=r"holds no lock\.txt"):
        images.build_repo_image("own", "thing", context=environment, log=tmp_path / "log")


def test_base_and_repo_images_have_names_that_tell_their_content(
    engine: BubblewrapEngine, environment: Path, tmp_path: Path
) -> None:
    """The tiers below are shared: the same inputs are the same image, others are another one."""
    images = ImageManager(engine)
    log = tmp_path / "log"
    base = images.build_base_image(log=log)
    assert base == images.build_base_image(context=environment, log=log)
    repo = images.build_repo_image("own", "thing", context=environment, log=log)
    assert repo == images.build_repo_image("own", "thing", context=environment, log=log)
    assert repo.digest != base.digest


def test_nothing_is_read_before_the_first_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """ImageManager() does not look at the environment; a wrong variable is only met when something is built."""
    monkeypatch.setenv("FC_ENGINE", "no-such-engine")
    images = ImageManager()
    with pytest.raises(ConfigError, match="FC_ENGINE"):
        images.build_base_image()


def test_the_plan_of_a_directory(environment: Path) -> None:
    """Interpreter and packages come from the arguments where they are named there, and are no arguments then."""
    args = environment / BUILD_ARGS
    args.write_text(args.read_text() + "FC_PYTHON=3.9\nFC_APT_PACKAGES='libgeos-dev cmake'\n")
    plan = ImagePlan.from_directory(environment, owner="o", repo="r", tag="1", python_version="3.11")
    assert (plan.python_version, plan.apt_packages) == ("3.9", ("libgeos-dev", "cmake"))
    assert plan.build_args == {"FC_INSTALL_DIR": ".", "FC_IMPORT_NAMES": "thing", "THING_VERSION": "it's 1 $HOME"}
    assert plan.source.name == "repo.tar.gz"


@pytest.mark.parametrize(
    "word", ["-oDPkg::Pre-Invoke::=touch", "--no-such", "git-", "a/b", "./x.deb", "x=1", "A", "a,b"]
)
def test_what_is_no_package_is_refused(tmp_path: Path, environment: Path, word: str) -> None:
    """An option, a file or a wish to remove a package comes neither into a plan nor past an engine's door."""
    (environment / BUILD_ARGS).write_text(build_args_text({"FC_APT_PACKAGES": f"cmake {word}"}))
    with pytest.raises(ConfigError, match=r"environment: FC_APT_PACKAGES: .* no name of a Debian package"):
        ImagePlan.from_directory(environment, owner="o", repo="r", tag="1", python_version="3.11")
    images, log = ImageManager(cast("ContainerEngine", Namer())), tmp_path / "log"
    with pytest.raises(ConfigError, match="FC_APT_PACKAGES"):
        images.build_base_image(context=environment, log=log)
    with pytest.raises(ConfigError, match="FC_APT_PACKAGES"):
        images.build_base((word,), DockerContext.default(lock=""), log=log)
    tier = Tier("base", "b", (), {}, {"FC_APT_PACKAGES": f"cmake {word}"})
    for engine in (BubblewrapEngine(tmp_path / "cache"), CliEngine("no-such-program", base_image="x")):
        with pytest.raises(ConfigError, match="FC_APT_PACKAGES"):
            engine.build(None, tier, log=log)


def test_packages_are_called_as_debian_calls_them() -> None:
    """Letters in lower case, digits, plus, dots and hyphens between."""
    names = ("g++", "libstdc++6", "libxslt1-dev", "python3.11-dev", "m4", "7zip")
    assert package_names(" ".join(names)) == names


@pytest.mark.parametrize("value", ["", "plain", "a b", "it's", '$(touch x)"`', "line\nbreak", "-x", "ä#b"])
def test_arguments_survive_their_file(value: str) -> None:
    """Whatever a value holds, it is read as it was given, and nothing of it is run."""
    args = {"A": value, "B": "2"}
    assert read_build_args(build_args_text(args)) == args


@pytest.mark.parametrize("text", ["touch x\n", "A='open\n", "1A=2\n", "A=1; B=2\n"])
def test_what_assigns_nothing_is_refused(text: str) -> None:
    """A file of arguments is assignments and nothing else."""
    with pytest.raises(ConfigError, match=r"build_args\.sh"):
        read_build_args(text)


class Namer:
    """An engine that only remembers what it was asked to build."""

    name = "namer"
    runs_dockerfiles = True

    def __init__(self) -> None:
        self.tiers: list[Tier] = []

    def pythons(self) -> tuple[str, ...]:
        return ("3.10", "3.11")

    def build(self, parent: ImageRef | None, tier: Tier, *, log: Path, limits: Limits | None = None) -> ImageRef:
        self.tiers.append(tier)
        return ImageRef(self.name, tier.name, tier_key(tier, parent.digest if parent else "", {}))


def test_a_repository_has_one_image_for_each_interpreter_and_root(tmp_path: Path) -> None:
    """Names of env tiers tell interpreter and root apart with one lock; "./python" and "python" are one root."""
    namer = Namer()
    images = ImageManager(cast("ContainerEngine", namer), namespace="n")
    context = DockerContext.default(lock="")
    (tmp_path / "repo.tar").write_bytes(b"")
    wanted = [
        ("3.10", "."),
        ("3.11", "."),
        ("3.11", ""),
        ("3.11", "python"),
        ("3.11", "./python/"),
        ("3.11", "py/thon"),
    ]
    for version, root in wanted:
        args = {"FC_INSTALL_DIR": root}
        images.build(ImagePlan("o", "r", "7", version, (), context, tmp_path / "repo.tar", args), log=tmp_path / "log")
    env = [tier.name for tier in namer.tiers if tier.kind == "env"]
    assert env[1] == env[2] and env[3] == env[4] and len(set(env)) == 4
    assert env[0].startswith("n/o-r:py3.10-") and env[1].startswith("n/o-r:py3.11-")
    pr = [(tier.name, *tier.aliases) for tier in namer.tiers if tier.kind == "pr"]
    assert pr[:2] == [("n/o-r:7", "n/o-r:7-py3.10"), ("n/o-r:7", "n/o-r:7-py3.11")]
    assert re.fullmatch(r"n/o-r:7-python-[0-9a-f]{6}", pr[3][0]) and len({names[-1] for names in pr}) == 4


def test_what_was_asked_for_by_itself_is_the_latest(tmp_path: Path) -> None:
    """build_base_image and build_repo_image give the names of the project page; building a pull request does not."""
    namer = Namer()
    images = ImageManager(cast("ContainerEngine", namer), namespace="formulacode")
    place = DockerContext.default(lock="").to_directory(tmp_path / "place")
    images.build_base_image(log=tmp_path / "log")
    images.build_repo_image("pandas-dev", "pandas", context=place, log=tmp_path / "log")
    aliases = [tier.aliases for tier in namer.tiers]
    assert aliases == [("formulacode/base:latest",), (), ("formulacode/pandas-dev-pandas:latest",)]
    (place / "repo.tar.gz").write_bytes(b"")
    images.build_pr_image("pandas-dev", "pandas", 16222, context=place, log=tmp_path / "log")
    assert namer.tiers[-1].name == "formulacode/pandas-dev-pandas:16222"
    assert [tier.aliases for tier in namer.tiers[3:5]] == [(), ()]


def test_only_what_a_dockerfile_of_its_own_stands_on_is_built(tmp_path: Path) -> None:
    """One that declares PARENT gets the tier below and no network; one that does not is alone and may download."""
    namer = Namer()
    images = ImageManager(cast("ContainerEngine", namer), namespace="n")
    place = tmp_path / "place"
    place.mkdir()
    (place / "Dockerfile").write_text("FROM scratch\nCOPY more.txt /\n")
    (place / "more.txt").write_text("x")
    images.build_pr_image("o", "r", 1, context=place, log=tmp_path / "log")
    (alone,) = namer.tiers
    assert (alone.kind, alone.network, alone.scripts) == ("pr", "build", ())
    assert set(alone.files) == {"more.txt", BUILD_ARGS}
    (place / "Dockerfile").write_text("ARG PARENT\nFROM ${PARENT}\n")
    (place / "lock.txt").write_text("")
    images.build_pr_image("o", "r", 1, context=place, log=tmp_path / "log")
    assert [(tier.kind, tier.network) for tier in namer.tiers[1:]] == [
        ("base", "build"), ("env", "build"), ("pr", "none"),
    ]  # fmt: skip
    assert [bool(tier.dockerfile) for tier in namer.tiers[1:]] == [False, False, True]


def test_a_task_folders_own_dockerfile_changes_nothing(tmp_path: Path) -> None:
    """The files that we put into every task folder are ours: with and without them the tiers are the same."""
    keys: list[list[tuple[str, str]]] = []
    for files in (DockerContext.default(lock="x").texts, {"lock.txt": "x"}):
        namer = Namer()
        place = DockerContext(files).to_directory(tmp_path / str(len(keys)))
        (place / "repo.tar").write_bytes(b"")
        images = ImageManager(cast("ContainerEngine", namer), namespace="n")
        images.build_pr_image("o", "r", 1, context=place, log=tmp_path / "log")
        keys.append([(tier_key(tier, "", {}), tier.dockerfile) for tier in namer.tiers])
    assert keys[0] == keys[1]


def test_names_of_repositories() -> None:
    """Names are those of the format, in lower case, with the owner's own hyphens."""
    assert repository_name("formulacode", "pandas-dev", "pandas") == "formulacode/pandas-dev-pandas"
    assert repository_name("formulacode", "Textualize", "rich") == "formulacode/textualize-rich"
    assert repository_name("formulacode", "a", "b_c.d") == "formulacode/a-b_c.d"


@pytest.mark.parametrize("repo", [".github", "a..b", "x___y", "-dash-", "ünï", "a._b", "_"])
def test_names_that_no_registry_takes_are_replaced(repo: str) -> None:
    """Any name of a repository becomes one that a registry accepts, and two of them never the same one."""
    name = repository_name("formulacode", "own", repo)
    assert REGISTRY_NAME.fullmatch(name.partition("/")[2]), name
    assert name != repository_name("formulacode", "own", f"{repo}x")


def test_archive_tags_fit_a_registry() -> None:
    """One tag for each commit of a repository, at most 128 characters, told apart where they are cut."""
    sha = "0123456789abcdef" * 2 + "01234567"
    assert archive_tag("pandas-dev", "pandas", sha) == f"pandas-dev-pandas-{sha}--final"
    long = [archive_tag("o" * 39, "r" * 100, sha), archive_tag("o" * 39, "r" * 99 + "s", sha)]
    assert all(len(tag) == 128 for tag in long) and long[0] != long[1]
    assert archive_tag("o" * 39, "r" * 100, sha) != archive_tag("o" * 39, "r" * 100, sha[::-1])
