"""What scripts share that install programs at fixed versions."""

from pathlib import Path

from datasmith import process
from tests.house.source import ROOT


def said(program: str) -> tuple[int, str]:
    done = process.run(["sh", "-c", f". scripts/pinned.sh; {program}"], cwd=ROOT, timeout=60)
    return done.rc, done.text


def test_what_is_there_is_not_installed_again(tmp_path: Path) -> None:
    """Of the same versions; of others, or of an installation that broke off, nothing counts."""
    place = tmp_path / "tools"
    assert said(f"begin tools {place} 'a 1'; exit 7") == (7, "")
    assert said(f"begin tools {place} 'a 1'; finish") == (0, "")
    assert said(f"begin tools {place} 'a 1'; exit 7") == (0, f"tools in {place}: nothing is missing\n")
    assert said(f"begin tools {place} 'a 2'; false; finish")[0] == 1
    assert said(f"begin tools {place} 'a 1'; exit 7") == (7, "")


def test_one_script_knows_how_that_is_noted() -> None:
    """The others ask it."""
    texts = {path.name: path.read_text() for path in (ROOT / "scripts").glob("*.sh")}
    assert [name for name, text in texts.items() if "/installed" in text] == ["pinned.sh"]
    users = sorted(name for name, text in texts.items() if ". scripts/pinned.sh\n" in text)
    assert users == ["install-agents.sh", "install-harnesses.sh"]
    assert all("\nbegin " in texts[name] and texts[name].endswith("\nfinish\n") for name in users)
