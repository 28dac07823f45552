"""The ways to verify, each opened when the first folder of its kind comes up."""

import threading

from datasmith.docker.engines import limits_of, open_engine
from datasmith.docker.foreign import ForeignImages
from datasmith.errors import EngineUnavailable
from datasmith.runners.verification.base import Generation, Times
from datasmith.runners.verification.legacy import LegacyFolders
from datasmith.runners.verification.run import Kind
from datasmith.runners.verification.sealed import SealedFolders
from datasmith.settings import Settings


class Generations:
    """Opens an engine at most once for each kind; several threads may ask."""

    def __init__(self, settings: Settings, times: Times) -> None:
        self._settings = settings
        self._times = times
        self._lock = threading.Lock()
        self._open: dict[Kind, Generation] = {}

    def __call__(self, kind: Kind) -> Generation:
        """The way to verify folders of this kind.

        Raises:
            EngineUnavailable: there is no engine for it.
        """
        with self._lock:
            if kind not in self._open:
                self._open[kind] = self._sealed() if kind == "task" else self._legacy()
            return self._open[kind]

    def _sealed(self) -> Generation:
        return SealedFolders(open_engine(self._settings), self._settings, self._times)

    def _legacy(self) -> Generation:
        return LegacyFolders(open_foreign(self._settings), self._settings.clones_from, self._times)


def open_foreign(settings: Settings) -> ForeignImages:
    """What builds Dockerfiles that are not ours; "auto" takes docker before podman.

    Raises:
        EngineUnavailable: neither can be used, or the settings name an engine that builds no Dockerfiles.
    """
    if settings.engine == "bubblewrap":
        raise EngineUnavailable("bubblewrap builds no Dockerfiles, which is what older folders hold (--engine docker)")
    reached = {"DOCKER_HOST": settings.docker_host, "XDG_RUNTIME_DIR": settings.xdg_runtime_dir}
    environment = {name: value for name, value in reached.items() if value}
    reasons = []
    for program in ("docker", "podman") if settings.engine == "auto" else (settings.engine,):
        found = ForeignImages(
            program, network=settings.build_network, limits=limits_of(settings), environment=environment
        )
        try:
            found.check()
        except EngineUnavailable as error:
            reasons.append(str(error))
        else:
            return found
    raise EngineUnavailable("; ".join(reasons))
