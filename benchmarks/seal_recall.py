"""How many copies of real fixes the seal finds in an image, and what it says of images that hold none.

Run: `python benchmarks/seal_recall.py CLONE [--most 10] [--grep REGEXP] [--environment SITE_PACKAGES]`.
For each of the newest merged commits whose subject matches and that adds lines to a .py file: an image of its parent's
tree (and of the environment, a directory as `pip install --target` makes one) is checked as it is, and with the fixed
file planted in many forms at once. Needs bubblewrap. Printed: a row per commit, what was said of clean images, and how
many of each form were found.
"""

import argparse
import base64
import gzip
import html
import io
import json
import re
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from datasmith.docker import seal
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import Container, Tier
from datasmith.github.git import Git
from datasmith.github.git_source import write_sealed_source
from datasmith.tasks.telltale import fix_of

SITE = "/opt/env/lib/python3.11/site-packages"
SEAL = "docker_build_final.sh"


def archive(name: str, content: bytes) -> bytes:
    """A packed tar of one file."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return target.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    """A zip of one file."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as found:
        found.writestr(name, content)
    return target.getvalue()


def planted(name: str, content: bytes, patch: bytes) -> dict[str, bytes]:
    """By path, the fix in the forms in which an image could hold it."""
    text = content.decode("utf-8", "replace")
    page = "<pre>" + re.sub(r"(\w+)", r"<span>\1</span>", html.escape(text)) + "</pre>"
    return {
        f"{SITE}/another_name.py": content,
        f"{SITE}/thing.egg-info/PKG-INFO": b"Version: 2\n\n" + patch,
        "/workspace/cache/reindented.txt": re.sub(rb"(?m)^ +", lambda found: b"\t" * (len(found[0]) // 4), content),
        "/workspace/cache/page.html": page.encode(),
        "/workspace/cache/notebook.ipynb": json.dumps({"cells": [{"source": text.splitlines(keepends=True)}]}).encode(),
        "/workspace/cache/wide.txt": text.encode("utf-16"),
        "/workspace/cache/packed.bin": zipped(name, content),
        "/workspace/cache/behind.db": bytes(range(256)) * 9 + gzip.compress(patch),
        "/workspace/cache/letters.txt": base64.encodebytes(content),
        "/workspace/cache/packed_letters.py": b'DATA = "' + base64.b64encode(archive(name, content)) + b'"\n',
        "/workspace/cache/letters85.py": b'DATA = """' + base64.b85encode(archive(name, content)) + b'"""\n',
    }


def commits(git: Git, wanted: str) -> Iterator[tuple[str, str]]:
    """Id and subject of those whose subject matches, the newest first."""
    found = git.log(git.head())
    yield from ((one.sha, one.subject) for one in found if re.search(wanted, one.subject, re.IGNORECASE))


def write(container: Container, files: Mapping[str, bytes]) -> None:
    """Into a running container."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    done = container.exec(["tar", "-xf", "-", "-C", "/"], timeout=300, stdin=target.getvalue())
    if not done.ok:
        raise SystemExit(done.error_text)


def environment(site: Path | None) -> dict[str, bytes]:
    """The files of an environment, by path inside."""
    files = site.rglob("*") if site else ()
    return {f"{SITE}/{path.relative_to(site or path)}": path.read_bytes() for path in files if path.is_file()}


class Trial:
    """One clone, and the images of its commits' parents."""

    def __init__(self, git: Git, place: Path, around: Mapping[str, bytes]) -> None:
        self.git = git
        self.place = place
        self.around = around
        self.engine = BubblewrapEngine(place / "engine")
        self.base = self.engine.build(None, Tier("base", "seal-recall", (), {}), log=place / "log")

    def of(self, sha: str) -> tuple[seal.SealReport, dict[str, bool], float] | None:
        """What is said of the clean image, which plants were found, and the seconds of one check; None: no .py file."""
        patch = self.git.git("diff", "--full-index", "--binary", f"{sha}^", sha).stdout
        fix = fix_of(patch.decode("utf-8", "surrogateescape"), {sha})
        sources = [path for path in fix.lines if path.endswith(".py") and "test" not in path and fix.lines[path]]
        if not sources:
            return None
        source = max(sources, key=lambda path: len(fix.lines[path]))
        content = self.git.git("cat-file", "blob", f"{sha}:{source}").stdout
        parent, source_tar = self.git.commit(sha).parents[0], self.place / "repo.tar"
        write_sealed_source(self.git, parent, source_tar, commit_date=datetime(2026, 1, 1, tzinfo=UTC))
        script = DockerContext.default(lock="").texts[SEAL].encode()
        tier = Tier("pr", f"of-{sha[:12]}", (SEAL,), {SEAL: script, "repo.tar": source_tar})
        image = self.engine.build(self.base, tier, log=self.place / "log")
        with self.engine.start(image, writable_env=True) as container:
            write(container, self.around)
            began = time.monotonic()
            clean = seal.check(container, fix=fix, below=())
            seconds = time.monotonic() - began
            plants = planted(source.rpartition("/")[2], content, patch)
            write(container, plants)
            said = [one for one in seal.check(container, fix=fix, below=()).problems if one not in clean.problems]
        return clean, {path: any(path in problem for problem in said) for path in plants}, seconds


def main() -> None:
    """Print the rows and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--most", type=int, default=10)
    parser.add_argument("--grep", default=r"perf|speed|faster|optimi[sz]e")
    parser.add_argument("--environment", type=Path)
    given = parser.parse_args()
    caught: Counter[str] = Counter()
    tried = alarms = untold = 0
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Git(given.clone), Path(place), environment(given.environment))
        for sha, subject in commits(trial.git, given.grep):
            if tried == given.most:
                break
            found = trial.of(sha)
            if not found:
                continue
            clean, plants, seconds = found
            tried, alarms, untold = tried + 1, alarms + bool(clean.problems), untold + bool(clean.unknown)
            caught.update(Path(path).name for path, is_found in plants.items() if is_found)
            missed = [Path(path).name for path, is_found in plants.items() if not is_found]
            print(f"{sha[:12]} {seconds:5.1f} s {subject[:50]:50} missed: {', '.join(missed) or '-'}", flush=True)
            for line in (*clean.problems[:5], *clean.unknown[:2]):
                print(f"    {line[:160]}")
    print(f"{tried} fixes; {alarms} clean images refused; of {untold} not all could be looked for")
    for name in (Path(path).name for path in planted("a", b"", b"")):
        print(f"  {name:22} {caught[name]:3} of {tried}")


if __name__ == "__main__":
    main()
