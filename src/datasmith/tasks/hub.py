"""Datasets on the Hugging Face Hub: files of a repository at one revision, kept for when it is away."""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from datasmith.errors import ConfigError, TaskError
from datasmith.misfits import misfit
from datasmith.tasks.drafts import alone, replacing

HEAD = "main"
SCHEME = "hf://datasets/"
_ADDRESS = re.compile(
    r"hf://datasets/(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[A-Za-z0-9][\w.-]*))?", re.ASCII
)
EXAMPLE = f"{SCHEME}formulacode/formulacode-all@2026-03"
_LISTED_WITHIN_S = 60.0


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


def _inside(name: str) -> str:
    if name.startswith("/") or "\0" in name or any(part in {"", ".", ".."} for part in name.split("/")):
        raise ValueError(f"{name[:80]!r} cannot be a file's path in a dataset")
    return name


class HubListing(BaseModel):
    """What a repository holds at one commit: paths of files."""

    model_config = ConfigDict(frozen=True)

    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    files: tuple[Annotated[str, AfterValidator(_inside)], ...]


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
        from huggingface_hub import hf_hub_download  # slow to import
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()  # beside ours
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # what fails in the end is an error of ours
        with _told(f"{name} of {address} at {self.endpoint}"):
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

    def listing(self, address: HubAddress) -> HubListing:
        """The commit that an address means now, and its files; where the Hub cannot be reached, as it was last told.

        Raises:
            ConfigError, TaskError: see `fetch`.
        """
        revision = address.revision or HEAD
        try:
            found = self._listed(address.at(revision))
        except TaskError:
            kept = self._kept(address, revision)
            if not kept.is_file():
                raise
            return HubListing.model_validate_json(kept.read_bytes())
        for name in {revision, found.commit}:
            with alone(self._kept(address, ".lock")), replacing(self._kept(address, name)) as draft:
                draft.write_text(found.model_dump_json(), encoding="utf-8")
        return found

    def _listed(self, address: HubAddress) -> HubListing:
        from huggingface_hub import HfApi  # slow to import

        asked = f"{address} at {self.endpoint}"
        with _told(asked):
            info = HfApi(self.endpoint, token=self.token() or False).dataset_info(
                address.repo, revision=address.revision, timeout=_LISTED_WITHIN_S
            )
        try:
            return HubListing(commit=info.sha or "", files=tuple(one.rfilename for one in info.siblings or ()))
        except ValidationError as error:
            raise TaskError(f"{asked}: no list of its files: {misfit(error)}") from error

    def _kept(self, address: HubAddress, name: str) -> Path:
        return self.cache / "listings" / address.repo / name


@contextmanager
def _told(asked: str) -> Iterator[None]:
    """What the library raises over `asked`, as errors of ours."""
    from httpx import TransportError
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise ConfigError(f"--dataset: {asked}: access must be asked for (example: HF_TOKEN=hf_...)") from error
    except errors.RevisionNotFoundError as error:
        raise ConfigError(f"--dataset: {asked}: no such release (example: {EXAMPLE})") from error
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, TransportError) as error:
        raise TaskError(
            f"{asked}: the Hub cannot be reached, and it was not fetched before "
            "(a directory of tasks needs no network: --dataset work/dataset/tasks)"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ConfigError(
            f"--dataset: {asked}: no such dataset, or a private one (example: HF_TOKEN=hf_...)"
        ) from error
    except errors.EntryNotFoundError as error:
        raise ConfigError(f"--dataset: {asked}: no such file (example: {EXAMPLE})") from error
    except OSError as error:  # HTTP errors of the library are such, too
        raise TaskError(f"{asked}: {error}") from error


@dataclass(frozen=True, slots=True)
class HubFiles:
    """The files of one repository at one commit; a FileSource."""

    hub: Hub
    address: HubAddress

    def fetch(self, name: str) -> Path:
        """See FileSource."""
        return self.hub.fetch(self.address, name)
