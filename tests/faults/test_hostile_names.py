"""Names made to attack, wherever a name may come in: nothing is run, and nothing is read or written elsewhere."""

import string
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from datasmith.cli.common import run_app
from datasmith.cli.data import app as fc_data
from datasmith.cli.eval import app as fc_eval
from datasmith.docker.context import DockerContext
from datasmith.docker.images import ImageManager, archive_tag, repository_name
from datasmith.errors import ConfigError, DatasmithError, InvalidTask, NotFound
from datasmith.github.git import Git
from datasmith.github.git_forge import GitForge
from datasmith.github.models import PR, Issue, Repository, is_full_name
from datasmith.settings import Settings, known_variables
from datasmith.storage.sql import SqlStore
from datasmith.tasks.folder import write_task
from datasmith.tasks.ids import canonical
from tests.unit.github.scripted import ScriptedRepository
from tests.unit.tasks.samples import sample_task, source_tar

RUNS = (
    *("--upload-pack=touch pwned", "--output=pwned", "-o pwned", "--exec=touch pwned", "-c core.pager=touch\tpwned"),
    *("-oProxyCommand=touch pwned", "--config=core.sshCommand=touch pwned", "-u", "--help", "--version", "-h", "-"),
    *("ext::sh -c touch% pwned", "ext::sh -c touch pwned", "fd::17/pwned", "ssh://-oProxyCommand=touch pwned/x"),
    *("file:///etc/passwd", "git@-oProxyCommand=touch pwned:x", "http::http://127.0.0.1:9/", "!touch pwned"),
    *("$(touch pwned)", "`touch pwned`", "${IFS}touch${IFS}pwned", "; touch pwned", "| touch pwned", "&& touch pwned"),
    *("> pwned", "x\ntouch pwned", "x\r\ntouch pwned", "'; touch pwned; '", '"; touch pwned; "', "\\$(touch pwned)"),
    *("{{7*7}}", "{% include '/etc/passwd' %}", "%(touch pwned)s", "{0.__class__}", "%s%n", "$HOME", "~root", "~"),
)
ESCAPES = (
    *("..", ".", "../..", "../../pwned", "..\\..\\pwned", "/etc/passwd", "//host/share", "a/../../pwned", "./../pwned"),
    *("%2e%2e%2fpwned", "..%c0%afpwned", "..;/pwned", ".git", ".git/hooks/post-checkout", "x/.git/config"),
    *("\x00", "a\x00b", "\x01", "\x7f", "\x1b[2J", "\u202egnp.exe", "\u2066x\u2069", "\u200b", "\ufeff", "\ud800"),
    *("\u2215etc\u2215passwd", "\uff0e\uff0e\uff0fpwned", "e\u0301", "\u0130", "ß", "*", "?", "[a-z]", ":(glob)**"),
    *("", " ", "x" * 5000, "con", "aux.txt", "nul", "a:b", "C:\\pwned", "main..pwned", "@{-1}", "HEAD", "^main"),
    *("'; DROP TABLE stage_items; --", "1 OR 1=1", "<script>touch</script>", "javascript:alert(1)"),
)
HOSTILE = tuple(dict.fromkeys(RUNS + ESCAPES))
HARMLESS = {"-u", "con", "aux.txt", "nul", "HEAD", ".git", "main..pwned", "x" * 5000}
"""Of these some are allowed as one half of a repository's name: they mean nothing there."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, a home beside it, and no settings of this machine."""
    for name in known_variables():
        monkeypatch.delenv(name, raising=False)
    here = tmp_path / "a" / "b" / "cwd"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return here


def everything(below: Path) -> set[str]:
    """Paths of all there is below a directory."""
    return {path.relative_to(below).as_posix() for path in below.rglob("*")}


def test_there_are_enough_of_them() -> None:
    """Fifty at least; the figure is printed with the counts of all tests here."""
    assert len(HOSTILE) >= 50


def test_a_repository_has_a_name_that_means_nothing_to_a_program() -> None:
    """As owner, as repository or as both: refused by the models, or made of letters, digits, dot, dash, underscore."""
    refused = 0
    for name in HOSTILE:
        pairs = ((name, "x"), ("x", name), (name, name))
        for full in (f"{owner}/{repo}" for owner, repo in pairs if is_full_name(f"{owner}/{repo}")):
            assert set(full) <= set(string.ascii_letters + string.digits + "._-/"), full
            assert not full.startswith(("-", ".")) and "/-" not in full and not full.endswith(("/.", "/.."))
        for owner, repo in (pair for pair in pairs if not is_full_name("/".join(pair))):
            full = f"{owner}/{repo}"
            refused += 1
            with pytest.raises(ValidationError):
                Repository(owner=owner, repo=repo)
            with pytest.raises(ValidationError, match="owner/repo"):
                Issue(repository=full, issue_number=1)
            with pytest.raises(ValidationError, match="owner/repo"):
                PR(repository=full, issue_number=1)
    print(f"hostile names: {len(HOSTILE)} names; {refused} of {3 * len(HOSTILE)} pairs refused by the models")
    assert refused >= 2 * len(HOSTILE)


def test_the_git_forge_takes_no_name_for_an_option(tmp_path: Path, place: Path) -> None:
    """As a clone's path, as its stated name, as its remote, as a commit: refused, or a value that means itself."""
    scripted = ScriptedRepository(tmp_path / "clone.git")
    scripted.commit("Speed up (#1)", {"a.py": b"1\n"})
    git = Git(scripted.path)
    before = everything(tmp_path)
    for name in HOSTILE:
        with pytest.raises((ConfigError, ValueError, OSError)):  # a NUL, a name too long: Python's own refusal
            Git(Path(name) / "no")
        for sha in (name, f"{name}{'0' * 40}"[:40]):
            with pytest.raises(NotFound):
                git.commit(sha)
            with pytest.raises(NotFound):
                git.sealed_source(sha, tmp_path / "x.tar", commit_date=datetime(2026, 1, 1, tzinfo=UTC))
        if not is_full_name(f"{name}/x"):
            with pytest.raises(ConfigError, match="--repo-name"):
                GitForge(scripted.path, f"{name}/x")
        remote = "".join(char for char in name if char.isprintable() and char not in '"\\')
        (scripted.path / "config").write_text(f'[core]\n\tbare = true\n[remote "origin"]\n\turl = "{remote}"\n')
        found = GitForge(scripted.path).repository
        assert is_full_name(found.full_name) and (found.owner == "local" or found.full_name in remote)
    assert everything(tmp_path) == before and list(place.iterdir()) == []


@pytest.mark.parametrize("command", ["fc-data", "fc-eval"])
def test_a_flag_takes_no_name_for_another(command: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every flag that takes a name: one line on standard error, exit code not 0, nothing made beside the data."""
    window = ("--start-date", "2026-02-01", "--end-date", "2026-03-01")
    for name in HOSTILE:
        if command == "fc-data":
            calls = [
                (fc_data, (*window, f"--repo={name or 'x'}/no", "--stage", "1")),
                (fc_data, (*window, f"--forge={name or 'x'}")),
                (fc_data, ("--start-date", name, "--end-date", "2026-03-01")),
                (fc_data, ("status", f"--start-date={name}", "--end-date=2026-03-01")),
                (fc_data, (*window, f"--engine={name or 'x'}", "--repo=.")),
            ]
        else:
            calls = [
                (fc_eval, ("run", "--dataset", f"{name or 'x'}/no", "--config", "none.json")),
                (fc_eval, ("report", f"{name or 'x'}-no")),
            ]
        for app, words in calls:
            assert run_app(app, list(words)) != 0, words
            out, err = capsys.readouterr()
            assert (out, err.count("\n")) == ("", 1) and "Traceback" not in err and "\x1b" not in err, words
    assert everything(place) == set()


def test_files_are_written_where_they_belong(tmp_path: Path, place: Path) -> None:
    """Task folders, build logs and contexts: refused, or inside their directory under a plain name."""
    inside = tmp_path / "a" / "b" / "data"
    inside.mkdir()
    source = source_tar(tmp_path / "a" / "b" / "x.tar.gz")
    outside = everything(tmp_path)
    images = ImageManager(settings=Settings.model_construct(data_dir=inside))
    for number, name in enumerate(HOSTILE):
        if name not in HARMLESS - {"x" * 5000, "-u", ".git"}:
            with pytest.raises(InvalidTask, match="cannot be the name of a file"):
                write_task(sample_task(task_id=name), inside / "tasks", source=source, provenance={})
        with pytest.raises(DatasmithError):
            images.build_pr_image(name, name, number)
        log = images._log(None, f"{name}-{name}-{number}")
        assert log.parent == inside / "logs" and len(log.name) <= 255
        log.touch()
        with pytest.raises((DatasmithError, ValueError, OSError)):
            DockerContext.from_directory(inside / "none" / name.replace("..", "_") / "x")
        for image in (repository_name("formulacode", name, name), archive_tag(name, name, "0" * 40)):
            assert image.isascii() and image.isprintable() and " " not in image and ".." not in image.split("/")
            assert image.count("/") <= 1 and not image.startswith(("-", "/"))
        assert "\n" not in canonical(name) or name != canonical(name) or "/" not in canonical(name)
    assert {path for path in everything(tmp_path) if not path.startswith("a/b/data")} == {
        path for path in outside if not path.startswith("a/b/data")
    }
    assert list(place.iterdir()) == []


def test_names_are_values_for_the_ledger(tmp_path: Path) -> None:
    """Items, workers and reasons come back as they went in, NUL and lone surrogates as the mark of both."""
    with SqlStore.at(tmp_path / "fc.sqlite") as store:
        store.migrate()
        now = datetime(2026, 3, 1, tzinfo=UTC)
        for number, name in enumerate(HOSTILE):
            stored = "".join("\ufffd" if char == "\x00" or "\ud800" <= char <= "\udfff" else char for char in name)
            store.enter(f"w{number}", 3, [(f"i{name}", "pull_request")], now)
            (item,) = store.claim(f"w{number}", 3, f"h{name}", 5, 60, now)
            assert item.item == f"i{stored}" and store.finish(item, "refused", f"r{name}", now)
            (row,) = store.stage_items(f"w{number}")
            assert (row.item, row.reason) == (f"i{stored}", f"r{stored}")
        assert len(store.select("stage_items")) == len(HOSTILE)
