"""The reference says what the code does."""

import re

from scripts.reference import COMMANDS, ROOT, cli_page, exit_codes_page, pages, settings_page

from tests.house.source import project_files

COMMAND_LINE = re.compile(r"\b(fc-data|fc-eval)\b((?: [\w./*~@$\"{}:-]+)*)")
FLAG = re.compile(r"--[a-z][a-z-]+")


def test_generated_pages_are_up_to_date() -> None:
    """Whoever changes a flag, a setting or an error runs scripts/reference.py, too."""
    stale = [path.name for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]
    assert not stale, "run: python scripts/reference.py"


def test_generated_pages_hold_what_they_are_for() -> None:
    """The generator itself: commands, variables and codes are there."""
    assert all(f"## {name}" in cli_page() for name in COMMANDS) and "--start-date" in cli_page()
    assert "`DATABASE_URL`, `FC_DATABASE_URL`" in settings_page() and "Most memory of one sandbox" in settings_page()
    assert "| 2 | `ConfigError` |" in exit_codes_page()


def test_no_page_names_a_flag_that_does_not_exist() -> None:
    """Every --flag after fc-data or fc-eval, in the documentation and the scripts, is known to the commands."""
    known = set(FLAG.findall(cli_page())) | {"--help"}
    unknown = set()
    for path in project_files():
        if path.suffix in {".md", ".sh"}:
            text = path.read_text(encoding="utf-8").replace("\\\n", " ")
            for command, words in COMMAND_LINE.findall(re.sub(" +", " ", text)):
                unknown |= {f"{path.relative_to(ROOT)}: {command} {flag}" for flag in FLAG.findall(words)}
    assert not {line for line in unknown if line.split()[-1] not in known}
