"""Clones that the pipeline makes itself: bare, brought up to date once a run, and never anything of them is run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

import anyio
from anyio import to_thread

from datasmith.errors import ConfigError, ForgeUnavailable, NotFound
from datasmith.github.git import ENVIRONMENT, OPTIONS
from datasmith.github.models import Repository
from datasmith.process import Completed, clean_environment, run
from datasmith.tasks.drafts import alone, replacing

CLONE_TIMEOUT_S = 3600.0
URL = "https://github.com/{owner}/{repo}.git"
PROTOCOLS = ("https", "http", "ssh", "file")
_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
"""Branches and tags: pull requests that nobody merged are not asked for."""
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9._-]*")
_HEAD = re.compile(r"^ref: (refs/heads/[^\s~^:?*\[\\]+)\tHEAD$", re.MULTILINE)
_ABSENT = re.compile(r"not found|does not exist|could not read username|does not appear to be a git", re.IGNORECASE)


class CloneSource(Protocol):
    """Where a clone comes from when a stage needs one."""

    def at_hand(self, repository: Repository) -> Path | None:
        """The clone where there is one already; nobody is asked."""

    async def get(self, repository: Repository) -> Path:
        """A clone. Raises NotFound or ForgeUnavailable where there can be none."""


@dataclass(frozen=True, slots=True)
class GivenClones:
    """Clones that the user gave, by lower-case owner/repo; `others` where one was not given."""

    given: Mapping[str, Path]
    others: CloneSource

    def at_hand(self, repository: Repository) -> Path | None:
        """See CloneSource."""
        return self.given.get(repository.full_name.lower()) or self.others.at_hand(repository)

    async def get(self, repository: Repository) -> Path:
        """See CloneSource."""
        return self.given.get(repository.full_name.lower()) or await self.others.get(repository)


class CloneCache:
    """Clones by repository below one directory: <owner>/<repo>.git is made here, <owner>/<repo> may be the user's.

    Processes that share the directory wait for each other, repository by repository.
    """

    def __init__(
        self, directory: Path, *, url: str = URL, ca_bundle: Path | None = None, proxy: str = "", no_proxy: str = ""
    ) -> None:
        """Remember where; `url` holds {owner} and {repo}.

        Raises:
            ConfigError: `url` is no such template, or of a protocol that is not used.
        """
        if "{owner}" not in url or "{repo}" not in url:
            raise ConfigError(f"FC_CLONE_URL={without_password(url)} must hold {{owner}} and {{repo}} (example: {URL})")
        if _scheme(url) not in PROTOCOLS:
            raise ConfigError(
                f"FC_CLONE_URL={without_password(url)} must begin with one of"
                f" {', '.join(f'{name}://' for name in sorted(PROTOCOLS))} (example: {URL})"
            )
        self._directory = directory
        self._url = url
        self._options = [*OPTIONS, "-c", f"protocol.{_scheme(url)}.allow=always"]
        self._options += ["-c", f"http.sslCAInfo={ca_bundle}"] if ca_bundle else []
        self._proxy = {"https_proxy": proxy, "no_proxy": no_proxy} if proxy else {}
        self._fresh: set[str] = set()
        self._locks: dict[str, anyio.Lock] = {}

    def at_hand(self, repository: Repository) -> Path | None:
        """The clone of a repository where there is one already; nobody is asked."""
        own, given = self._places(repository)
        return next((place for place in (given, own) if place.is_dir()), None)

    async def get(self, repository: Repository) -> Path:
        """The clone of a repository: made where there is none, else brought up to date once.

        Raises:
            NotFound: the forge has no such repository, or does not show it.
            ForgeUnavailable: it could not be copied whole.
        """
        own, given = self._places(repository)
        if given.is_dir():
            return given
        key = repository.full_name.lower()
        async with self._locks.setdefault(key, anyio.Lock()):
            if key not in self._fresh:
                await to_thread.run_sync(self._bring, repository, own)
                self._fresh.add(key)
        return own

    def _places(self, repository: Repository) -> tuple[Path, Path]:
        """Where our own clone goes, and where the user may have put one."""
        for name in (repository.owner, repository.repo):
            if not _NAME.fullmatch(name) or name in {".", ".."}:
                raise NotFound(f"{repository.full_name!r} is not a name that a repository can have")
        folder = self._directory / repository.owner
        return folder / f"{repository.repo}.git", folder / repository.repo

    def _bring(self, repository: Repository, own: Path) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        own.parent.mkdir(exist_ok=True)
        url = self._url.format(owner=repository.owner, repo=repository.repo)
        with alone(own.with_name(f"{own.name}.lock")):
            if own.is_dir():
                self._update(url, own)
            else:
                self._make(url, own)

    def _make(self, url: str, own: Path) -> None:
        """Clone beside the place, then rename: what lies at the place is whole."""
        with replacing(own) as draft:
            self._git(url, "init", "-q", "--bare", "--template=", "--initial-branch=main", str(draft))
            self._git(url, f"--git-dir={draft}", "config", "remote.origin.url", without_password(url))
            self._update(url, draft)

    def _update(self, url: str, clone: Path) -> None:
        here = f"--git-dir={clone}"
        self._git(url, here, "fetch", "-q", "--prune", "--no-auto-gc", "--no-recurse-submodules", "--", url, *_REFS)
        head = _HEAD.search(self._git(url, here, "ls-remote", "--symref", "--", url, "HEAD").text)
        if head:
            self._git(url, here, "symbolic-ref", "HEAD", head[1])

    def _git(self, url: str, *words: str) -> Completed:
        env = clean_environment(ENVIRONMENT | {"GIT_ALLOW_PROTOCOL": _scheme(url)} | self._proxy)
        done = run(["git", *self._options, *words], cwd=self._directory, env=env, timeout=CLONE_TIMEOUT_S)
        if done.ok:
            return done
        shown, said = without_password(url), self._said(url, done.error_text)
        if done.timed_out:
            raise ForgeUnavailable(f"cloning {shown} did not end within {CLONE_TIMEOUT_S:.0f} s")
        if _ABSENT.search(done.error_text):
            raise NotFound(f"{shown} cannot be cloned: {said}")
        raise ForgeUnavailable(f"{shown} could not be cloned: {said}")

    def _said(self, url: str, errors: str) -> str:
        """The last line of git's complaint, without the passwords of URLs."""
        for secret in (url, *self._proxy.values()):
            errors = errors.replace(secret, without_password(secret)) if secret else errors
        return _last_line(errors)


def without_password(url: str) -> str:
    """The URL without user and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _scheme(url: str) -> str:
    return urlsplit(url).scheme


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or ["git failed"])[-1][:300]
