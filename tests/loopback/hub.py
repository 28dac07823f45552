"""A Hugging Face Hub on loopback: dataset repositories with commits and tags, read by `resolve` and listed."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class LoopbackHub:
    """What it holds: repository -> commit -> a directory of files; and the names of commits."""

    url: str = ""
    commits: dict[tuple[str, str], Path] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    private: dict[str, str] = field(default_factory=dict)
    """Repository -> the token that may read it."""
    asked: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    """Names that listings tell beside those of files."""

    def commit(self, repo: str, files: Path, *names: str) -> str:
        """Add a commit with the files of a directory, and let `names` (branches, tags) mean it; returns its id."""
        sha = hashlib.sha1(f"{repo}{files}{len(self.commits)}".encode()).hexdigest()
        self.commits[repo, sha] = files
        for name in (*names, sha):
            self.names[repo, name] = sha
        return sha

    def answer(self, path: str, token: str) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body) for /datasets/REPO/resolve/REVISION/FILE and /api/datasets/REPO/revision/REVISION."""
        listed = path.startswith("/api/")
        kind, owner, name, verb, revision, *rest = path.removeprefix("/api").removeprefix("/").split("/", 5)
        assert (kind, verb) == ("datasets", "revision" if listed else "resolve")
        repo, file = f"{owner}/{name}", "".join(rest)
        if repo not in {known for known, _ in self.commits} or token != self.private.get(repo, token):
            return 401, {"X-Error-Code": "RepoNotFound"}, b""
        sha = self.names.get((repo, revision))
        if sha is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        if listed:
            return 200, {"X-Repo-Commit": sha}, json.dumps(self.listing(repo, sha)).encode()
        found = self.commits[repo, sha] / file
        if not found.is_file():
            return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": sha}, b""
        body = found.read_bytes()
        return 200, {"X-Repo-Commit": sha, "ETag": f'"{hashlib.sha1(body).hexdigest()}"'}, body

    def listing(self, repo: str, sha: str) -> dict[str, object]:
        """What the Hub tells of a dataset at a commit, as far as it is read."""
        root = self.commits[repo, sha]
        files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        return {"id": repo, "sha": sha, "siblings": [{"rfilename": name} for name in [*files, *self.also]]}


@contextmanager
def loopback_hub() -> Iterator[LoopbackHub]:
    """A hub that answers until the body ends."""
    hub = LoopbackHub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            hub.asked.append(f"{self.command} {self.path}")
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            status, headers, body = hub.answer(self.path, token)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that has what it wants hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
