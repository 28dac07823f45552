"""Make samplelib's git repository, with the same commit ids on every machine.

Usage: python make_history.py TARGET

The first commit is the directory start/; each pull request of steps/steps.toml follows, as a squash or as a branch
with a merge commit. A repository that is there already and is complete is left as it is.
"""

import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
ORIGIN = "https://github.com/formulacode/samplelib"
HEAD = "70af1cd7cef5f708ac46f220f350588f582009d1"
"""The commit id of main: whoever changes a step writes the new one here."""
FIRST_COMMIT = datetime.fromisoformat("2026-02-01T08:00:00+00:00")
COMMITTER = "samplelib merges"


@dataclass(frozen=True)
class Step:
    """One pull request, as steps.toml describes it."""

    number: int
    slug: str
    kind: str
    style: str
    author: str
    merged_at: str
    title: str
    body: str
    branch: str = ""
    behind: int = 0

    @property
    def moment(self) -> datetime:
        """When it was merged."""
        return datetime.fromisoformat(self.merged_at)

    @property
    def patch(self) -> Path:
        """The file with its changes."""
        return HERE / "steps" / f"{self.number:02}-{self.slug}.patch"


def read_steps() -> list[Step]:
    """All pull requests, in the order of their merges."""
    table = tomllib.loads((HERE / "steps" / "steps.toml").read_text(encoding="utf-8"))
    return [Step(**entry) for entry in table["step"]]


class Repository:
    """A git working tree that no configuration of this machine's can influence."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *words: str, author: str = COMMITTER, when: datetime = FIRST_COMMIT) -> str:
        """Run one git command as `author` at the time `when`; returns what it printed."""
        date = when.strftime("%Y-%m-%dT%H:%M:%S+0000")
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.path),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": author,
            "GIT_AUTHOR_EMAIL": author.lower().replace(" ", ".") + "@example.org",
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": COMMITTER,
            "GIT_COMMITTER_EMAIL": "merges@example.org",
            "GIT_COMMITTER_DATE": date,
        }
        options = ["-c", "core.hooksPath=/dev/null", "-c", "core.fileMode=false", "-c", "core.autocrlf=false"]
        options += ["-c", "gc.auto=0"]
        command = ["git", *options, *words]
        done = subprocess.run(command, cwd=self.path, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"git {words[0]} failed in {self.path}: {done.stderr.strip()}")
        return done.stdout.strip()

    def commit(self, message: str, author: str, when: datetime) -> None:
        """Commit everything in the working tree."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message, author=author, when=when)

    def add_first_commit(self) -> None:
        """The library before its first pull request."""
        shutil.copytree(HERE / "start", self.path, dirs_exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", "--object-format=sha1", "--template=")
        self.git("remote", "add", "origin", ORIGIN)
        self.commit("A few numeric routines", "Mira Toll", FIRST_COMMIT)

    def squash(self, step: Step) -> None:
        """One commit on main, as the forge's squash button makes it."""
        self.git("apply", "--index", str(step.patch))
        message = f"{step.title} (#{step.number})\n\n{step.body.strip()}".strip()
        self.commit(message, step.author, step.moment)

    def merge(self, step: Step) -> None:
        """A commit on a branch, and a merge commit on main."""
        self.git("checkout", "--quiet", "-b", step.branch, f"main~{step.behind}")
        self.git("apply", "--index", str(step.patch))
        self.commit(step.title, step.author, step.moment - timedelta(days=1))
        self.git("checkout", "--quiet", "main")
        owner = step.author.split()[0].lower()
        message = f"Merge pull request #{step.number} from {owner}/{step.branch}\n\n{step.title}\n\n{step.body.strip()}"
        self.git("merge", "--quiet", "--no-ff", "-m", message, step.branch, author=step.author, when=step.moment)
        self.git("branch", "--quiet", "-D", step.branch)


def make_history(target: Path) -> str:
    """Make the repository at `target` and return the commit id of main."""
    if (target / ".git").is_dir() and Repository(target).git("rev-parse", "refs/heads/main") == HEAD:
        return HEAD
    if target.exists() and any(target.iterdir()):
        raise SystemExit(f"{target} is not empty: give a new directory, or remove it")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".samplelib-", dir=target.parent)).resolve()
    try:
        made = _write(Repository(unfinished))
        if made != HEAD:
            raise SystemExit(f"the steps give {made}, but HEAD in {Path(__file__).name} is {HEAD}")
        unfinished.chmod(0o755)
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return HEAD


def _write(repository: Repository) -> str:
    repository.add_first_commit()
    for step in read_steps():
        add = repository.merge if step.style == "merge" else repository.squash
        add(step)
    return repository.git("rev-parse", "refs/heads/main")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit("usage: python make_history.py TARGET")
    target = Path(sys.argv[1])
    print(f"{target}: main is {make_history(target)}, {len(read_steps())} pull requests")
