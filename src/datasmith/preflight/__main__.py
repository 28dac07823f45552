"""python -m datasmith.preflight: is there what a run needs? The same report as `fc-data preflight`."""

import argparse
import json
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from datasmith import process
from datasmith.errors import DatasmithError
from datasmith.preflight.checks import look
from datasmith.redact import Redactor
from datasmith.settings import environment, secrets_of


def main(words: Sequence[str] | None = None) -> int:
    """Print the report; 0 where nothing failed, 1 where something did, 2 for words that make no sense."""
    parser = argparse.ArgumentParser(prog="python -m datasmith.preflight", description="Look before a run.")
    parser.add_argument("--stage", type=int, action="append", default=[], help="only what this stage needs; repeatable")
    parser.add_argument("--forge", default="git", help="where pull requests will come from")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    asked = parser.parse_args(words)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # whatever the terminal's encoding lacks, as on stderr
    try:
        found = look(stages=tuple(asked.stage), forge=asked.forge)
        clean = Redactor(secrets_of(environment()))
    except DatasmithError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    said = json.dumps({"ok": not found.failed, "checks": found.rows(clean)}) if asked.json else found.text(clean)
    try:
        print(said, flush=True)
    except BrokenPipeError:
        process.leave_the_pipe()
    return found.rc


if __name__ == "__main__":
    sys.exit(main())
