"""Small git clones with merged pull requests, written by us."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from datasmith import process

ASV = '{"version": 1, "repo": ".", "benchmark_dir": "benchmarks"}'
PROJECT = '[project]\nname = "calc"\nversion = "1"\n'
LINES = "".join(f"value_{number} = {number}  # a line of the library\n" for number in range(12))
START = {
    "pyproject.toml": PROJECT,
    "calc.py": LINES,
    "asv.conf.json": ASV,
    "benchmarks/bench.py": "def time_a(): pass\n",
}


class Clone:
    """A repository acme/calc whose branch main grows by squash merges."""

    def __init__(self, path: Path, files: Mapping[str, str] = START, origin: str = "acme/calc") -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", f"https://github.com/{origin}.git")
        self.commit("start", files, "2026-01-01T00:00:00+0000")

    def git(self, *words: str, date: str = "2026-01-01T00:00:00+0000", stdin: bytes = b"") -> str:
        """One git command that no configuration of this machine's can influence."""
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.path), "GIT_CONFIG_NOSYSTEM": "1", "GIT_COMMITTER_DATE": date}
        env |= {f"GIT_{role}_{key}": "a" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
        done = process.run(["git", *words], cwd=self.path, env=env | {"GIT_AUTHOR_DATE": date}, stdin=stdin)
        assert done.ok, done.error_text
        return done.text.strip()

    def commit(self, message: str, files: Mapping[str, str], date: str) -> str:
        """Write the files and commit all there is; returns the commit id."""
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, date=date)
        return self.git("rev-parse", "HEAD")

    def merge(self, number: int, title: str, files: Mapping[str, str] | None = None) -> str:
        """A pull request, squashed on day `number` of February 2026; it changes calc.py unless told otherwise."""
        changed = files or {"calc.py": LINES + f"changed_by = {number}  # and again a longer line\n"}
        return self.commit(f"{title} (#{number})", changed, f"2026-02-{number:02}T12:00:00+0000")

    def stream(self, commits: Iterable[tuple[str, str, int]]) -> None:
        """Commit (message, content of calc.py, seconds of the clock) by one process; the work tree stays behind."""
        parts, parent = list[bytes](), b"from refs/heads/main^0\n"
        for message, content, clock in commits:
            said, text = message.encode(), content.encode()
            parts.append(b"commit refs/heads/main\ncommitter a <a@example.org> %d +0000\n" % clock)
            parts.append(b"data %d\n%s\n%s" % (len(said), said, parent))
            parts.append(b"M 100644 inline calc.py\ndata %d\n%s\n" % (len(text), text))
            parent = b""
        self.git("fast-import", "--quiet", "--force", stdin=b"".join(parts))
