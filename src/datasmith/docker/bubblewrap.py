"""Sandboxes without a daemon and without root: bubblewrap on layers that are directories."""

import functools
import logging
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from datasmith import process
from datasmith.docker.archive import unpack
from datasmith.docker.below import Hidden
from datasmith.docker.bubblewrap_command import Layout, Sandbox, bare
from datasmith.docker.bubblewrap_container import BubblewrapContainer
from datasmith.docker.bubblewrap_env import fill_env, made_by
from datasmith.docker.bubblewrap_files import emptied, pack
from datasmith.docker.bubblewrap_python import Interpreter, find_interpreters
from datasmith.docker.bubblewrap_root import Root, debian_root, host_identity, make_etc
from datasmith.docker.bubblewrap_scripts import run_scripts, write_files
from datasmith.docker.bubblewrap_slots import Slot, Slots
from datasmith.docker.cache_disk import see_that_it_can_be_written
from datasmith.docker.cgroups import Cgroups
from datasmith.docker.debian import package_names
from datasmith.docker.downloads import UV_CACHE, Downloads, downloads
from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container, ImageRef, LimitReport, Limits, Mount, Tier
from datasmith.docker.environment import TOOLS
from datasmith.docker.layers import Layer, LayerStore, Origin, digest_of, tier_key, what_is_left
from datasmith.docker.oci_trees import hidden_files
from datasmith.docker.origin import runs_only_ours
from datasmith.docker.seccomp import core_filter
from datasmith.docker.source_tar import REPO_TAR
from datasmith.errors import BuildFailed, ConfigError, ContainerError, EngineUnavailable, PublishError
from datasmith.settings import home

_log = logging.getLogger(__name__)
_HELP = (
    "bubblewrap cannot make user namespaces here ({said}); allow them as root with "
    "`sysctl -w kernel.unprivileged_userns_clone=1` (on Ubuntu also "
    "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; inside a container, start that one with "
    "`--security-opt seccomp=unconfined --cap-add SYS_ADMIN`), or use --engine docker"
)
_LEFT_ON_ROOT = "host"


class BubblewrapEngine:
    """ContainerEngine on bubblewrap; layers lie under `cache_dir/layers` and are shared between runs.

    The disk is not limited: a sandbox writes WORKDIR to a plain directory, which has no quota. Single files, /tmp and
    HOME are limited.
    """

    def __init__(
        self,
        cache_dir: Path,
        *,
        ca_bundle: Path | None = None,
        index_url: str = "",
        limits: Limits | None = None,
        uv: Path | None = None,
    ) -> None:
        self._cache = cache_dir.absolute()
        self._layers = LayerStore(self._cache / "layers")
        self._slots = Slots(self._cache / "containers")
        self._ca_bundle = ca_bundle
        self._index_url = index_url
        self._limits = limits or Limits()
        self._uv = uv

    @functools.cached_property
    def _cgroups(self) -> Cgroups:
        """What may be used of control groups; what killed processes left behind is deleted on the way."""
        found = Cgroups.probe()
        self._slots.sweep(found.remove)
        self._layers.sweep()
        return found

    @property
    def name(self) -> str:
        """The engine's name."""
        return "bubblewrap"

    @property
    def runs_dockerfiles(self) -> bool:
        """See ContainerEngine."""
        return False

    def check(self) -> None:
        """See ContainerEngine; one sandbox is started for it, and the cache has to be there."""
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise EngineUnavailable("bubblewrap is not installed (apt-get install bubblewrap, or use --engine docker)")
        tried = process.run([*bare(bwrap), "--proc", "/proc", "--dev", "/dev", "true"], timeout=20)
        if not tried.ok:
            raise EngineUnavailable(_HELP.format(said=tried.error_text.strip() or f"exit code {tried.rc}"))
        see_that_it_can_be_written(self._cache)

    def limits(self) -> LimitReport:
        """See ContainerEngine.

        Without control groups memory is None: RLIMIT_DATA is set then, but holds for single processes, and not for
        shared memory.
        """
        kept = self._cgroups.kept_by()
        return LimitReport(
            {
                "network": "network namespace",
                "root": "read-only binds",
                "user": "user namespace, uid 1000",
                "capabilities": "all dropped",
                "new_privileges": "no_new_privs",
                "disk": None,
                **kept,
                "pids": kept["pids"] or ("RLIMIT_NPROC" if self._process_limit else None),
                "cpus": kept["cpus"] or ("taskset and seccomp" if core_filter() else None),
                "cpu_counter": kept["cpu_counter"] or "rusage",
            }
        )

    @functools.cached_property
    def _process_limit(self) -> bool:
        """Whether RLIMIT_NPROC does it: the kernel does not hold root to it, in whichever namespace."""
        return "pids" not in self._cgroups.parents and "v2" not in self._cgroups.parents and os.geteuid() != 0

    def pythons(self) -> tuple[str, ...]:
        """See ContainerEngine."""
        return tuple(sorted(self._interpreters, key=lambda version: int(version.split(".")[1])))

    @functools.cached_property
    def _interpreters(self) -> Mapping[str, Interpreter]:
        return find_interpreters(self._uv_path, home())

    @functools.cached_property
    def _uv_path(self) -> Path:
        return (self._uv or process.find_uv()).resolve()

    def build(self, parent: ImageRef | None, tier: Tier, *, log: Path, limits: Limits | None = None) -> ImageRef:
        """See ContainerEngine; the scripts of a base tier are not run, this engine makes the system itself.

        Raises:
            ConfigError: the tier has a Dockerfile of its own, and no script.
        """
        if tier.dockerfile or (tier.kind == "base" and tier.scripts and not runs_only_ours(tier)):
            _say_what_runs(tier, log)
        below = self._layer(parent) if parent else None
        builder = {"base": self._build_base, "env": self._build_env, "pr": self._build_pr}[tier.kind]
        layer = builder(below, tier, log, limits or self._limits)
        self._layers.call(layer, (tier.name, *tier.aliases, layer.digest))
        return layer.called(tier.name)

    def _build_base(self, _parent: Layer | None, tier: Tier, log: Path, _limits: Limits) -> Layer:
        packages = package_names(tier.args.get("FC_APT_PACKAGES", ""))
        identity = host_identity(packages)
        salt = {"packages": " ".join(packages), **(identity or {})}

        def fill(draft: Path, _origins: dict[str, Origin]) -> Mapping[str, str]:
            if identity is None:
                debian_root(draft / "root", packages, log=log, timeout=tier.timeout_s)
            make_etc(draft / "etc", draft / "root" if identity is None else Path("/"))
            return {"root": "debian" if identity is None else _LEFT_ON_ROOT, **salt}

        trees = () if identity else ("root",)
        return self._layers.make(tier_key(tier, "", salt), tier, None, fill, trees)

    def _build_env(self, parent: Layer | None, tier: Tier, log: Path, limits: Limits) -> Layer:
        root = self._root(parent)
        python = self._interpreter(root, tier.args.get("FC_PYTHON", ""))
        args = {"UV_PYTHON": str(python), "UV_PYTHON_DOWNLOADS": "never"}
        facts = {"python": str(python), "made_by": made_by(tier, parent, python, self._uv_path)}

        def install(what: Tier, env: Path) -> None:
            self._run_scripts(what, Layout(root, {ENV_PREFIX: env}, python), args, log, limits)

        fill = functools.partial(fill_env, tier, install, self._layers, facts)
        key = tier_key(tier, digest_of(parent), {"python": str(python)})
        return self._layers.make(key, tier, parent, fill, ("env",))

    def _build_pr(self, parent: Layer | None, tier: Tier, log: Path, limits: Limits) -> Layer:
        def fill(draft: Path, origins: dict[str, Origin]) -> Mapping[str, str]:
            python = _python_of(parent)
            over = self._layers.overlay(parent, "env", draft, bare("bwrap"))
            origins |= self._lay_out(draft, parent, with_env=over is None)
            if REPO_TAR in tier.files:
                unpack(_archive(tier.files[REPO_TAR], draft / REPO_TAR), draft / "workspace/repo")
                (draft / REPO_TAR).unlink(missing_ok=True)
            writable = {ENV_PREFIX: draft / "env", "/workspace": draft / "workspace"}
            layout = Layout(self._root(parent), writable, python, overlay=over)
            self._run_scripts(tier, layout, {}, log, limits)
            with what_is_left(tier):
                origins |= {"env": Origin(over.settle(), None)} if over else {}
            return {"python": str(python)} if python else {}

        return self._layers.make(tier_key(tier, digest_of(parent), {}), tier, parent, fill, ("env", "workspace"))

    def _lay_out(self, target: Path, layer: Layer | None, *, with_env: bool) -> Mapping[str, Origin]:
        """Private copies of what a sandbox may write, and where they are from."""
        wanted = ("workspace", "env") if with_env else ("workspace",)
        copied = {name: self._layers.copy(layer, name, target / name) for name in wanted}
        if copied["workspace"] is None:
            (target / "workspace/repo").mkdir(parents=True)
            (target / "workspace/cache").mkdir()
        if with_env and copied["env"] is None:
            (target / "env").mkdir()
        return {name: origin for name, origin in copied.items() if origin}

    def _interpreter(self, root: Root, wanted: str) -> Path:
        own = root.top / f"usr/bin/python{wanted}"
        if root.top != Path("/") and own.exists():
            return Path("/usr/bin") / own.name
        found = self._interpreters.get(wanted)
        if found is None or (root.top != Path("/") and found.in_system):
            said = (
                f"Python {wanted or '(FC_PYTHON is not set)'} is not installed here"
                f" (found {', '.join(self.pythons()) or 'none'}; example: uv python install {wanted or '3.11'})"
            )
            raise BuildFailed("docker_build_env.sh", 127, said)
        return found.path

    def _root(self, layer: Layer | None) -> Root:
        """The root file system to show: that of the base layer below, else the host's own /usr."""
        if layer is None:
            raise ContainerError("this tier needs a parent (example: an image of the base tier)")
        base = self._layers.lowest(layer)
        top = base.path / "root" if base.facts["root"] == "debian" else Path("/")
        make_etc(base.path / "etc", top)
        return Root(top, base.path / "etc")

    def _run_scripts(self, tier: Tier, layout: Layout, args: Mapping[str, str], log: Path, limits: Limits) -> None:
        # Not the cache of the resolver, who reads on the host what lies there.
        shared = self._cache / "wheels"
        given = {**tier.args, "FC_WORKDIR": WORKDIR, "FC_ENV": ENV_PREFIX, **args}
        with (
            downloads(tier, shared=shared, index_url=self._index_url, ca_bundle=self._ca_bundle) as way,
            self._builder(tier, layout, limits, way) as container,
        ):
            run_scripts(container, tier, {**given, **way.environment}, way.before, log)

    def _builder(self, tier: Tier, layout: Layout, limits: Limits, way: Downloads) -> BubblewrapContainer:
        slot = self._slots.take()
        try:
            if tier.network == "build":
                own = slot.path / "uv"
                own.mkdir()
                layout = layout.also(UV_CACHE, way.cache or own)
            mounts = (Mount(write_files(tier, slot), "/build"), *self._tools(), *way.mounts)
            image = ImageRef(self.name, tier.name, "")
            return self._container(image, layout, limits, mounts, slot, network=way.network)
        except BaseException:
            slot.release()
            raise

    def _container(
        self,
        image: ImageRef,
        layout: Layout,
        limits: Limits,
        mounts: Sequence[Mount],
        slot: Slot,
        *,
        network: bool = False,
    ) -> BubblewrapContainer:
        groups = self._cgroups
        sandbox = Sandbox(
            layout,
            limits,
            tuple(mounts),
            network=network,
            ca_bundle=self._ca_bundle,
            process_limit=self._process_limit,
            data_limit=groups.kept_by()["memory"] is None,
        )
        return BubblewrapContainer(image, sandbox, groups, slot)

    def _tools(self) -> tuple[Mount, ...]:
        return (Mount(self._uv_path, f"{TOOLS}/uv"),)

    def start(
        self,
        image: ImageRef,
        *,
        limits: Limits | None = None,
        mounts: Sequence[Mount] = (),
        writable_env: bool = False,
        places: Sequence[str] = (),
    ) -> Container:
        """See ContainerEngine."""
        layer = self._layer(image)
        missing = [str(mount.source) for mount in mounts if not mount.source.exists()]
        if missing:
            raise ContainerError(f"cannot mount {', '.join(missing)}: not there")
        slot = self._slots.take()
        try:
            self._lay_out(slot.path, layer, with_env=writable_env)
            env = self._layers.tree(layer, "env")
            writable = {"/workspace": slot.path / "workspace", **emptied(slot.path / "places", places)}
            writable |= {ENV_PREFIX: slot.path / "env"} if writable_env else {}
            fixed = {ENV_PREFIX: env} if env and not writable_env else {}
            layout = Layout(self._root(layer), writable, _python_of(layer), fixed)
            return self._container(image, layout, limits or self._limits, (*mounts, *self._tools()), slot)
        except BaseException:
            slot.release()
            raise

    def _layer(self, image: ImageRef) -> Layer:
        found = self._layers.find(image.digest)
        if found is None:
            raise ContainerError(f"no layer {image.name} under {self._cache}")
        self._layers.note_use(found)
        return found

    def inspect(self, reference: str) -> ImageRef | None:
        """See ContainerEngine."""
        found = self._layers.find(reference)
        return found.called(reference) if found else None

    def base_of(self, image: ImageRef) -> str:
        """See ContainerEngine; the digest covers the versions of the host's packages where its /usr is shown."""
        base = self._layers.lowest(self._layer(image))
        return f"{base.facts.get('os', base.facts['root'])}@{base.digest}"

    def below(self, image: ImageRef) -> Iterator[Hidden]:
        """See ContainerEngine; what such an image says of itself, we write where it is given away."""
        return hidden_files(self._layers, self._layer(image))

    def export(self, image: ImageRef, path: str, target: Path) -> None:
        """See ContainerEngine."""
        layer = self._layer(image)
        asked = PurePosixPath(path)
        for prefix, name in (("/workspace", "workspace"), (ENV_PREFIX, "env")):
            tree = self._layers.tree(layer, name)
            if tree and asked.is_relative_to(prefix) and ".." not in asked.parts:
                source = tree / asked.relative_to(prefix)
                break
        else:
            raise ContainerError(f"{path} is not part of a layer (example: {WORKDIR})")
        pack(source, f"{path} of {image.name}", target)

    def push(self, image: ImageRef, reference: str) -> str:
        """See ContainerEngine."""
        raise PublishError(
            f"{image.name} as {reference}: this engine pushes nothing; `fc-data images push` sends a task's image"
        )


def _say_what_runs(tier: Tier, log: Path) -> None:
    """Nobody may think that a Dockerfile, or a script for the system that is not ours, was run here."""
    if not tier.scripts:
        raise ConfigError(
            f"bubblewrap runs no Dockerfile, and there is no script beside that of {tier.name}"
            " (example: --engine docker, or give docker_build_pkg.sh)"
        )
    made = "a system with FC_APT_PACKAGES" if tier.kind == "base" else ", ".join(tier.scripts)
    other = "Dockerfile" if tier.dockerfile else " ".join(tier.scripts)
    said = f"bubblewrap runs no {other}: {tier.name} is made by {made}, not by the {other} of its context"
    _log.warning(said)
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{said}\n")


def _python_of(layer: Layer | None) -> Path | None:
    return Path(layer.facts["python"]) if layer and "python" in layer.facts else None


def _archive(data: bytes | Path, spare: Path) -> Path:
    """The source archive as a file."""
    if isinstance(data, Path):
        return data
    spare.write_bytes(data)
    return spare
