"""Options that several commands of fc-data share."""

from pathlib import Path
from typing import Annotated

import typer

Start = Annotated[str, typer.Option("--start-date", help="First day of the window (YYYY-MM-DD, UTC, inclusive).")]
End = Annotated[str, typer.Option("--end-date", help="Day after the window (YYYY-MM-DD, UTC, exclusive).")]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where results go (default: FC_DATA_DIR, ./work).")]
EXECUTORS = "local, inline (here, one after another) or ray (the cluster at FC_RAY_ADDRESS)"
"""What --executor takes, as its help says it."""
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
