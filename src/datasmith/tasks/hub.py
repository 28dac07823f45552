"""Releases on the Hugging Face Hub: files of a dataset repository at one revision, kept for when it is away."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from datasmith.errors import ConfigError, TaskError
from datasmith.tasks.release import INDEX, ReleaseIndex, read_index

HEAD = "main"
SCHEME = "hf://datasets/"
_ADDRESS = re.compile(
    r"hf://datasets/(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[A-Za-z0-9][\w.-]*))?", re.ASCII
)
EXAMPLE = f"{SCHEME}formulacode/formulacode-all@2026-03"


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A dataset repository; `revision` is a tag, a branch or a commit, empty for the newest state."""

    repo: str
    revision: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `hf://datasets/owner/name[@revision]`.

        Raises:
            ConfigError: it is not of this form.
        """
        found = _ADDRESS.fullmatch(text)
        if not found:
            raise ConfigError(f"{text!r} is no address of a dataset on the Hub (example: {EXAMPLE})")
        return cls(found["repo"], found["revision"] or "")

    def at(self, revision: str) -> "HubAddress":
        """The same repository at another revision."""
        return replace(self, revision=revision)

    def __str__(self) -> str:
        return f"{SCHEME}{self.repo}@{self.revision}" if self.revision else f"{SCHEME}{self.repo}"


@dataclass(frozen=True, slots=True)
class Hub:
    """How the Hub is reached: its address, where files are kept, and who knows the token for private datasets."""

    endpoint: str
    cache: Path
    token: Callable[[], str] = str

    def fetch(self, address: HubAddress, name: str) -> Path:
        """One file of a repository; where the Hub cannot be reached, as it was when it was last fetched.

        Raises:
            ConfigError: the repository, the revision or the file does not exist, or the token may not read it.
            TaskError: the Hub cannot be reached, and the file was never fetched.
        """
        from huggingface_hub import errors, hf_hub_download  # slow to import
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()  # beside ours
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # what fails in the end is an error of ours
        asked = f"{name} of {address} at {self.endpoint}"
        try:
            return Path(
                hf_hub_download(
                    address.repo,
                    name,
                    repo_type="dataset",
                    revision=address.revision or HEAD,
                    endpoint=self.endpoint,
                    cache_dir=self.cache,
                    token=self.token() or False,
                )
            )
        except errors.GatedRepoError as error:
            raise ConfigError(f"--dataset: {asked}: access must be asked for (example: HF_TOKEN=hf_...)") from error
        except errors.RevisionNotFoundError as error:
            raise ConfigError(f"--dataset: {asked}: no such release (example: {EXAMPLE})") from error
        except errors.LocalEntryNotFoundError as error:
            raise TaskError(
                f"{asked}: the Hub cannot be reached, and it was not fetched before "
                "(a directory of tasks needs no network: --dataset work/dataset/tasks)"
            ) from error
        except errors.RepositoryNotFoundError as error:
            raise ConfigError(
                f"--dataset: {asked}: no such dataset, or a private one (example: HF_TOKEN=hf_...)"
            ) from error
        except errors.EntryNotFoundError as error:
            raise ConfigError(f"--dataset: {asked}: no such file: that dataset holds no task folders") from error
        except OSError as error:  # HTTP errors of the library are such, too
            raise TaskError(f"{asked}: {error}") from error

    def index(self, address: HubAddress) -> tuple[ReleaseIndex, str]:
        """The release at an address, and the commit that it is.

        Raises:
            ConfigError, TaskError: see `fetch`.
        """
        path = self.fetch(address, INDEX)
        return read_index(path), _commit(path)


def _commit(path: Path) -> str:
    """The library keeps files below snapshots/<commit>/."""
    parts = path.parts
    return parts[parts.index("snapshots") + 1]


@dataclass(frozen=True, slots=True)
class HubRelease:
    """The files of one repository at one commit; a FileSource."""

    hub: Hub
    address: HubAddress

    def fetch(self, name: str) -> Path:
        """See FileSource."""
        return self.hub.fetch(self.address, name)
