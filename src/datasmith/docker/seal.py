"""Is an image sealed: nothing in it leads to the fix. The host asks, inside a fresh sandbox of the image."""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from datasmith.docker import seal_names, seal_search
from datasmith.docker.below import Hidden
from datasmith.docker.cli_build import template
from datasmith.docker.engine import WORKDIR, Container, ExecResult
from datasmith.docker.environment import SYSTEM_PATH
from datasmith.docker.seal_below import Below, shown
from datasmith.docker.seal_names import Names
from datasmith.docker.seal_search import Search, telling, texts
from datasmith.docker.worktree import GIT, GIT_ENV
from datasmith.errors import ContainerError
from datasmith.process import KEPT_BYTES

TIMEOUT_S = 300.0
MOST_ANSWER = 64_000_000
"""Bytes of one answer: that of a tree of some 500,000 files. It comes packed."""
ASKED_AT_ONCE = 10_000
SHOWN = 5
SHOWN_BYTES = 80
_GIT = (*GIT, "--no-optional-locks", "--no-replace-objects")
_STATUS = (
    'set -e; place=$(mktemp -d); export GIT_INDEX_FILE="$place/index"; "$@" read-tree HEAD;'
    ' "$@" status --porcelain --untracked-files=normal --ignore-submodules=none; rm -r "$place"'
)
"""With an index of its own: in the image's, a file can be marked as never changed."""
_OWN = (
    'set -euo pipefail; asked=$(cat); "$@" rev-list --objects --no-object-names HEAD |'
    ' { grep -xF -f /dev/fd/3 3<<<"$asked" || [ $? = 1 ]; }'
)
"""Of the ids that come in, those of the commit and of all that it needs."""
_OF_HEAD = 'head=$("$@" rev-parse --symbolic-full-name HEAD); exec bash -c "$0" seal_git "$head"'
_IN_TREE = ("env", "-C", WORKDIR)
_SETTINGS = {
    "core.repositoryformatversion": {"0", "1"}, "core.filemode": {"true"}, "core.bare": {"false"},
    "core.logallrefupdates": {"true"}, "extensions.objectformat": {"sha1", "sha256"},
}  # fmt: skip
"""What our own sealing and `git init` write into .git/config."""
_NO_LINES = "lines and names of the fix, in files, machine code and archives: the fix is not known"
_NOT_BELOW = "the image's configuration, and what upper layers and mounts hide"
_NO_NAMES = "copies and other distributions of the package: its modules are not known"
_ASKING = {"PATH": SYSTEM_PATH, **GIT_ENV}
"""The environment's own programs come first elsewhere; here a build could answer through one that it left there."""
_SHARED = re.compile(r"\b(extend_path|declare_namespace)\s*\(")
"""Calls by which a package's __init__.py says that parts of the package lie elsewhere."""
_MODULE = re.compile(r"([A-Za-z_]\w*)(?:/|\.pyx?$)", re.ASCII)
_MESSAGE = "base\n"
"""Of the one commit: see datasmith.github.git_source."""
_BATCH = (*_GIT, "cat-file", "--batch-check=%(objectname)")
_PROGRAMS = (
    *(
        "seal_texts.py",
        "seal_streams.py",
        "seal_zips.py",
        "seal_readers.py",
        "seal_encoded.py",
        "seal_embedded.py",
        "seal_archives.py",
    ),
    *("seal_given.py", "seal_former.py", "seal_code.py"),
)
"""What the scripts of the seal run in the sandbox."""
_HEADERS = ("tree", "author", "committer")


@dataclass(frozen=True, slots=True)
class SealReport:
    """What was looked at, what was found against the seal, and what could not be looked for."""

    looked_at: tuple[str, ...]
    problems: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    """What nobody told: such a report cannot say that the solution is absent."""

    @property
    def ok(self) -> bool:
        """True where nothing was found of what was looked for, which need not be all: see `unknown`."""
        return not self.problems

    @property
    def sealed(self) -> bool | None:
        """False where something was found; None where nothing was, and something could not be looked for."""
        return False if self.problems else None if self.unknown else True


@dataclass(frozen=True, slots=True)
class Fix:
    """What the fix can be recognised by: ids of its commits, trees and blobs; by file, the lines it adds, and its diff.

    Ids of blobs may be shortened as git does.
    """

    objects: frozenset[str] = frozenset()
    lines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    patches: Mapping[str, str] = field(default_factory=dict)


def check(
    container: Container,
    *,
    fix: Fix | None = None,
    base_tree: str | None = None,
    import_names: Sequence[str] = (),
    below: Iterable[Hidden] | None = None,
) -> SealReport:
    """Look for ways from the image to the fix.

    `base_tree` is the tree that the one commit must have; `import_names` are the package's modules, of which the image
    may hold no copy beside the tree; `below` is what its engine says that no sandbox shows of it. That is laid into the
    container meanwhile, and searched like all else.

    Raises:
        ContainerError: a question could not be asked; nothing is known then.
        EngineUnavailable: the engine is gone.
    """
    laid = Below(container)
    try:
        if below is not None:
            laid.lay_out(below)
        report = _report(container, fix or Fix(), base_tree, import_names)
    finally:
        if below is not None:
            laid.take_away()
    if below is None:
        return replace(report, unknown=(*report.unknown, _NOT_BELOW))
    looked_at = (
        *report.looked_at,
        f"what the image says of itself, and {laid.files} files that upper layers or mounts hide",
    )
    problems = (*map(shown, report.problems), *laid.problems((fix or Fix()).objects))
    return replace(report, looked_at=looked_at, problems=tuple(dict.fromkeys(problems)))


def _report(container: Container, known: Fix, base_tree: str | None, import_names: Sequence[str]) -> SealReport:
    asked = ["sh", "-c", 'test -d "$1" && ! test -L "$1"', "sh", f"{WORKDIR}/.git"]
    if not container.exec(asked, timeout=TIMEOUT_S, cwd="/", env=_ASKING).ok:
        raise ContainerError(f"cannot check the seal: {WORKDIR} holds no repository, or the image has no shell")
    tree = _Tree(container, sorted(known.objects), import_names)
    lines = telling(known.lines)
    names = sorted(set(tree.own_modules()))
    brought = seal_names.brought(known.lines)
    search, compiled = _searched(container, lines, known.patches, names, brought)
    problems = [
        *tree.about_settings(),
        *tree.about_objects(),
        *tree.about_commit(base_tree),
        *tree.about_fix(at_base=bool(known.patches) and not search.other),
        *tree.about_refs(),
        *tree.about_git(),
        *tree.about_files(),
        *seal_search.problems(search, lines, names, list(known.patches)),
        *seal_names.problems(compiled, brought),
    ]
    everywhere = (
        "settings of the repository",
        "commits and their trees",
        "every git object: reachable" + (f", and none of {len(known.objects)} of the fix" if known.objects else ""),
        "refs, remotes, and all that .git holds beside them",
        "files that differ from the commit",
        f"{search.looked_at} files: wheels, source archives and caches of downloads",
        "repositories, packs and object stores beside the tree's own",
    )
    copies = f"copies of {', '.join(names)} beside the tree, and distributions that bring it"
    contents = (
        *([f"{len(search.whole)} files as the fix leaves them"] if search.whole else []),
        f"{len(search.lines)} lines that the fix adds and base does not have",
        f"compiled code beside the tree's sources: {len(compiled.names)} names that the fix brings",
        "archives (zip, tar, gzip, bzip2, xz, lzma, zlib), HTML and UTF-16 that base does not have: the same",
    )
    unsearched = seal_search.untold(search, known.lines, lines, list(known.patches))
    unknown = (*([] if names else [_NO_NAMES]), *(unsearched if known.lines else [_NO_LINES]))
    looked_at = (*everywhere, *([copies] if names else []), *(contents if known.lines else []))
    return SealReport(looked_at, tuple(dict.fromkeys(problems)), unknown)


def _searched(
    container: Container,
    lines: Mapping[str, frozenset[str]],
    patches: Mapping[str, str],
    names: Sequence[str],
    brought: Mapping[str, frozenset[str]],
) -> tuple[Search, Names]:
    """What all files of the image say, which one script walks through."""
    text = "".join(map(template, ("seal_common.sh", "seal_search.sh", "seal_names.sh")))
    programs = [word for program in _PROGRAMS for word in (program, template(program))]
    words = ["bash", "-c", text, "seal", *programs, "--", seal_search.places(names), *_GIT]
    fix = {"lines": texts(lines), "patches": list(patches.values()), "paths": list(patches), "names": texts(brought)}
    done = _asked(container, "the search of all files", words, stdin=json.dumps(fix).encode(), cwd=WORKDIR)
    found, _, compiled = done.stdout.decode("utf-8", "surrogateescape").partition("\nnames\n")
    try:
        return Search.read(f"{found}\n"), Names.read(compiled)
    except (ValueError, KeyError) as error:
        raise ContainerError(f"cannot check the seal: {error}") from error


class _Tree:
    """The repository in WORKDIR, each thing asked once: all that needs no other answer at the same time."""

    def __init__(self, container: Container, forbidden: Sequence[str], names: Sequence[str]) -> None:
        """`forbidden` are the ids of the fix, `names` the package's modules."""
        self._container = container
        self._forbidden = forbidden
        self._names = names

    def _git(self, *words: str) -> str:
        return _asked(self._container, " ".join(("git", *words)), [*_GIT, *words]).text

    @cached_property
    def _told(self) -> Mapping[str, str]:
        """What the repository says of itself, by what was asked."""
        config = ("git", "config", "--file", f"{WORKDIR}/.git/config", "--no-includes", "--null", "--list")
        questions: dict[str, Sequence[str]] = {
            "settings": config,
            "objects": (*_IN_TREE, "bash", "-c", template("seal_objects.sh")),
            "commit": (*_GIT, "cat-file", "commit", "HEAD"),
            "fix": _BATCH,
            "head": (*_GIT, "rev-parse", "--symbolic-full-name", "HEAD"),
            "refs": (*_GIT, "for-each-ref", "--format=%(refname)"),
            "remotes": (*_GIT, "remote"),
            "beside": (*_IN_TREE, "bash", "-euc", _OF_HEAD, template("seal_git.sh"), *_GIT),
            "changed": ("sh", "-c", _STATUS, "status", *_GIT),
        }
        if self._names:
            questions["paths"] = (*_GIT, "ls-tree", "-rz", "--name-only", "HEAD")
        given = _lines(self._forbidden[:ASKED_AT_ONCE])
        return _answers(self._container, questions, given)

    def own_modules(self) -> Iterator[str]:
        """The names; in the place of a namespace that other distributions bring as well, what base has in it.

        That it is one, all that base has of its __init__.py say.
        """
        paths = self._told.get("paths", "").split("\0")
        for name in self._names:
            ending = f"/{name.replace('.', '/')}/__init__.py"
            places = [path.removesuffix("__init__.py") for path in paths if f"/{path}".endswith(ending)]
            inits = (self._git("cat-file", "blob", f"HEAD:{place}__init__.py") for place in places)
            if places and all(map(_SHARED.search, inits)):
                yield from (f"{name}.{module}" for module in _modules(paths, tuple(places)))
            else:
                yield name

    def about_settings(self) -> Iterator[str]:
        """A repository of its own, with no setting that could lead git to another tree or hide a part of this one."""
        for setting in self._told["settings"].split("\0")[:-1]:
            name, _, value = setting.partition("\n")
            if value not in _SETTINGS.get(name, ()):
                yield f".git/config sets {name}"

    def about_objects(self) -> Iterator[str]:
        """One commit, and nothing that it does not need: what nothing refers to counts as well."""
        told = self._told["objects"].splitlines()
        if len(told) < 2:
            raise ContainerError(f"cannot check the seal: objects: not an answer: {told}")
        commits, extra, *ids = told
        if commits != "commits 1":
            yield f"the object database holds {commits}, not 1"
        if extra != "extra 0":
            yield f"{extra.partition(' ')[2]} objects do not belong to the commit: {_some(ids)}"

    def about_commit(self, base_tree: str | None) -> Iterator[str]:
        """The commit has no parent, the right tree, and nothing in it that tells more."""
        headers, _, message = self._told["commit"].partition("\n\n")
        for header in headers.split("\n"):
            name, _, value = header.partition(" ")
            if name == "parent":
                yield "the commit has a parent"
            elif name == "tree" and base_tree and value != base_tree:
                yield f"the commit's tree is {value}, not base's {base_tree}"
            elif name not in _HEADERS:
                yield f"the commit has the header {header[:80]}"
        if message != _MESSAGE:
            yield f"the commit's message is {message[:80]!r}, not {_MESSAGE!r}"

    def about_fix(self, *, at_base: bool) -> Iterator[str]:
        """Nothing of the fix can be read from the object database, by whatever way git finds its objects.

        `at_base`: the commit is the one that the fix was made of, so that what it holds is base's own.
        """
        told = self._told["fix"].splitlines()
        for at in range(ASKED_AT_ONCE, len(self._forbidden), ASKED_AT_ONCE):
            given = _lines(self._forbidden[at : at + ASKED_AT_ONCE])
            told += _asked(self._container, "fix", _BATCH, stdin=given).text.splitlines()
        if len(told) != len(self._forbidden):
            raise ContainerError("cannot check the seal: git did not answer for every object of the fix")
        present = [line for line in told if not line.endswith(" missing")]
        if present and at_base:
            words = ["bash", "-c", _OWN, "own", *_GIT]
            own = set(_asked(self._container, "what of the fix is base's", words, stdin=_lines(present)).text.split())
            # A short id that is not of one object only is base's, too: nothing else is there.
            present = [name for name in present if name not in own and not name.endswith(" ambiguous")]
        if present:
            yield f"{len(present)} objects of the fix are present: {_some(present)}"

    def about_refs(self) -> Iterator[str]:
        """One branch, which HEAD is on, and no remote."""
        for name in self._told["refs"].split():
            if name != self._told["head"].strip():
                yield f"ref {name}"
        for name in self._told["remotes"].split():
            yield f"remote {name}"

    def about_git(self) -> Iterator[str]:
        """What a repository of one sealed commit has, and nothing else: whatever git may leave there."""
        for line in self._told["beside"].splitlines():
            word, _, path = line.partition(" ")
            yield f".git/{path} is there" if word == "there" else f".git/{path} holds other objects than its list says"

    def about_files(self) -> Iterator[str]:
        """What an agent's diff would show before the agent has done anything."""
        changed = self._told["changed"].splitlines()
        if changed:
            yield f"{len(changed)} paths differ from the commit: {_some(changed)}"


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _modules(paths: Sequence[str], places: tuple[str, ...]) -> set[str]:
    """The names of what lies right in these directories, as Python imports it."""
    inside = (path[len(place) :] for path in paths for place in places if path.startswith(place))
    return {found[1] for path in inside if (found := _MODULE.match(path))} - {"__init__"}


def _answers(container: Container, questions: Mapping[str, Sequence[str]], stdin: bytes) -> Mapping[str, str]:
    """What several commands say, each of which gets `stdin`: a sandbox takes longer to begin one than most of them."""
    words = [word for name, question in questions.items() for word in (name, str(len(question)), *question)]
    script = ["bash", "-c", template("seal_answers.sh"), "answers", *words]
    said = _asked(container, "the repository", script, stdin=stdin, timeout=len(questions) * TIMEOUT_S).stdout
    told, end = dict[str, str](), 0
    for name in questions:
        start = end
        try:
            begin, end = _next_answer(said, start)
        except ValueError as error:
            raise ContainerError(
                f"cannot check the seal: {name}: {error}: {said[start : start + SHOWN_BYTES]!r}"
            ) from error
        told[name] = said[begin:end].decode("utf-8", "replace")
    return told


def _next_answer(said: bytes, start: int) -> tuple[int, int]:
    """Where the answer lies whose length stands at `start`.

    Raises:
        ValueError: no length does, or less is there.
    """
    begin = said.find(b"\n", start) + 1
    length = said[start:begin].strip()
    if not length.isdigit():
        raise ValueError("not an answer")
    end = begin + int(length)
    if end > len(said):
        raise ValueError("half an answer")
    return begin, end


def _asked(
    container: Container,
    what: str,
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: str = "/",
    timeout: float = TIMEOUT_S,
) -> ExecResult:
    """What a command says; `what` names the question where there is no answer."""
    words = ["bash", "-o", "pipefail", "-c", '"$@" | gzip -1 -c', "ask", *argv]
    done = container.exec(words, timeout=timeout, cwd=cwd, env=_ASKING, stdin=stdin)
    unknown = f"cannot check the seal: {what}"
    if not done.ok:
        why = done.error_text.strip()[-300:] or f"exit code {done.rc}"
        raise ContainerError(f"{unknown}: " + (f"no answer in {timeout:.0f} s" if done.timed_out else why))
    answer = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        plain = answer.decompress(done.stdout, MOST_ANSWER) if len(done.stdout) < KEPT_BYTES else b""
    except zlib.error as error:
        raise ContainerError(f"{unknown}: {error}") from error
    if not answer.eof:
        raise ContainerError(f"{unknown}: more than {MOST_ANSWER} bytes of answer")
    return replace(done, stdout=plain)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
