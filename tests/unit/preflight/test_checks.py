"""The report: its shape, its exit code, what a stage needs, and what is masked."""

import json
import re
import sys
from pathlib import Path

import pytest

from datasmith import process
from datasmith.errors import ConfigError, EngineUnavailable
from datasmith.preflight.__main__ import main
from datasmith.preflight.base import Answer, Check, Facts, report
from datasmith.preflight.checks import CHECKS, look
from datasmith.settings import Settings, known_variables
from datasmith.storage.base import STAGES
from tests.secrets_made_up import BY_FORM
from tests.unit.preflight.loopback import serving

LINE = re.compile(
    r"== [A-Z][\w ]+ ==|\[(?:OK|FAIL|SKIP)\] [\w. ]+ — .+|       → .+|={40}|All checks passed!|\d+ checks? failed\."
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of this machine's reaches the tests; the working directory is empty."""
    for name in (*known_variables(), "SUPABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def check(name: str, answer: Answer, stages: tuple[int, ...] = tuple(STAGES), section: str = "One") -> Check:
    return Check(section, name, frozenset(stages), lambda _: answer)


FACTS = Facts(Settings.model_construct(), {})


def test_the_report_has_the_promised_shape() -> None:
    """Sections, a line for each check with what to do below it, a ruler of forty signs, and the sum."""
    checks = (
        check("A", Answer("OK", "3 token(s)")),
        check("B", Answer("SKIP", "not set", "B=1")),
        check("C", Answer("OK"), section="Two"),
    )
    found = report(checks, FACTS)
    assert found.text() == (
        "== One ==\n[OK] A — 3 token(s)\n[SKIP] B — not set\n       → B=1\n== Two ==\n[OK] C\n"
        "========================================\nAll checks passed!"
    )
    assert (found.rc, found.failed) == (0, 0)


def test_one_failure_is_exit_code_1_and_says_what_to_do() -> None:
    """A failure without advice cannot be made; an error of ours is a failure; another error is a defect."""
    failed = report((check("A", Answer("FAIL", "gone\x1b[2J", "do it")),), FACTS)
    assert failed.rc == 1 and failed.text().splitlines()[1:] == [
        "[FAIL] A — gone [2J", "       → do it", "=" * 40, "1 check failed.",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="what to do"):
        Answer("FAIL", "gone")

    def broken(_facts: Facts) -> Answer:
        raise EngineUnavailable("no\nengine")

    both = report((Check("One", "A", frozenset({1}), broken), check("B", Answer("FAIL", "x", "y"))), FACTS)
    assert both.lines[0].answer.detail == "no engine" and both.text().endswith("2 checks failed.")


def test_only_what_the_stages_need_can_fail() -> None:
    """The others are skipped without being looked at."""
    checks = (check("A", Answer("FAIL", "x", "y"), (1, 2)), check("B", Answer("OK"), (2, 3)))
    found = report(checks, FACTS, (4, 3))
    assert [line.answer.state for line in found.lines] == ["SKIP", "OK"]
    assert found.lines[0].answer.detail == "not needed by stage 3, 4" and found.rc == 0
    assert report(checks, FACTS, (2,)).rc == 1


def test_the_table_names_every_thing_that_somebody_must_provide() -> None:
    """One check each; the names are unique; every stage has some."""
    names = " ".join(f"{entry.section} {entry.name}" for entry in CHECKS)
    wanted = (
        "variables Store schema Sandbox data_dir cache_dir git uv Interpreters GH_TOKENS API agents DOCKERHUB HF_TOKEN"
    )
    for word in wanted.split():
        assert word in names
    assert len({(entry.section, entry.name) for entry in CHECKS}) == len(CHECKS)
    assert all(any(stage in entry.stages for entry in CHECKS) for stage in STAGES)


@pytest.mark.parametrize(("text", "why"), [(None, "there is no file"), ("no PEM", "holds no certificate in PEM form")])
def test_certificates_that_cannot_be_used_fail_the_checks_that_need_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, why: str
) -> None:
    """With the variable's name, on their own lines; the others are there."""
    bundle = tmp_path / "ca.pem"
    if text:
        bundle.write_text(text)
    monkeypatch.setenv("FC_CA_BUNDLE", str(bundle))
    monkeypatch.setenv("FC_INDEX_URL", "https://127.0.0.1:1/simple")
    found = look(stages=(4,))
    assert len(found.lines) == len(CHECKS)
    (index,) = [line.answer for line in found.lines if line.name == "FC_INDEX_URL"]
    assert index.state == "FAIL" and index.detail.startswith("FC_CA_BUNDLE: ") and why in index.detail


def test_settings_that_cannot_be_read_are_the_only_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variable's name."""
    monkeypatch.setenv("FC_MEMORY_MB", "lots")
    found = look()
    assert found.rc == 1 and "FC_MEMORY_MB" in found.text() and len(found.lines) == 1


def test_a_stage_or_an_engine_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2."""
    with pytest.raises(ConfigError, match="--stage 9"):
        look(stages=(9,))
    with pytest.raises(ConfigError, match="--engine 'vmware'"):
        look(engine="vmware")
    assert main(["--stage", "9"]) == 2 and capsys.readouterr().err.startswith("error: --stage 9")


def test_the_module_prints_the_report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """For stages that need no sandbox; every line has the promised form, tokens are counted and not shown."""
    tokens = [BY_FORM["github classic"], BY_FORM["github fine-grained"]]
    with serving(lambda *_: (200, {"resources": {"core": {"remaining": 2499}}})) as server:
        monkeypatch.setenv("GH_TOKENS", ",".join(tokens))
        monkeypatch.setenv("FC_GITHUB_URL", server.url)
        code = main(["--stage", "1", "--stage", "2", "--stage", "3"])
    out = capsys.readouterr().out
    assert code == 0 and all(LINE.fullmatch(line) for line in out.splitlines()), out
    assert "[OK] GH_TOKENS — 2 token(s)\n" in out and "[OK] API access — remaining=4998\n" in out
    assert out.endswith("=" * 40 + "\nAll checks passed!\n")
    assert not any(token in out for token in tokens) and len(server.seen) == 2


def test_json_for_programs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same lines; a secret that a failing service would echo is masked by its value."""
    monkeypatch.setenv("DSPY_MODEL", "x")
    monkeypatch.setenv("DSPY_API_KEY", "an-opaque-key-of-mine")
    monkeypatch.setenv("DSPY_API_BASE", "an-opaque-key-of-mine")
    assert main(["--json", "--stage", "3"]) == 1
    out = capsys.readouterr().out
    rows = {row["name"]: row for row in json.loads(out)["checks"]}
    assert rows["DSPY_MODEL"]["state"] == "FAIL" and rows["git"]["state"] == "SKIP"
    assert "an-opaque-key" not in out and "***" in rows["DSPY_MODEL"]["detail"]


def test_python_dash_m_runs_it(tmp_path: Path) -> None:
    """As in the documentation: `python -m datasmith.preflight`; nothing is made by looking."""
    env = process.clean_environment({"FC_ENGINES": "docker", "FC_CACHE_DIR": str(tmp_path / "cache")})
    words = [sys.executable, "-m", "datasmith.preflight", "--stage", "6"]
    done = process.run(words, cwd=tmp_path, env=env, timeout=120)
    assert (
        done.rc == 1 and "[FAIL] FC_ variables — not known: FC_ENGINES\n       → did you mean FC_ENGINE?" in done.text
    )
    assert list(tmp_path.iterdir()) == [] and done.error_text == ""


def test_a_terminal_that_lacks_a_character_gets_the_report(tmp_path: Path) -> None:
    """In another encoding than UTF-8 the dash is one that there is; nothing breaks off."""
    env = process.clean_environment({"PYTHONIOENCODING": "iso8859-9", "FC_CACHE_DIR": str(tmp_path / "cache")})
    words = [sys.executable, "-m", "datasmith.preflight", "--stage", "6"]
    done = process.run(words, cwd=tmp_path, env=env, timeout=120)
    assert (done.rc, done.error_text) == (0, "")
    assert "[SKIP] GH_TOKENS - not needed by stage 6" in done.text and "All checks passed!" in done.text


def test_a_reader_that_goes_is_no_error(tmp_path: Path) -> None:
    """`| head -1` ends the report, and nothing is said of it."""
    words = ["bash", "-c", '"$0" -m datasmith.preflight --stage 6 | true; echo "${PIPESTATUS[0]}"', sys.executable]
    done = process.run(words, cwd=tmp_path, timeout=60)
    assert done.stdout.decode().strip() in {"0", "1"}
    assert done.stderr == b""
