"""fc-data discover: which repositories have an asv suite and are worth mining."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.options import Json
from datasmith.counted import counted
from datasmith.errors import ConfigError, ForgeUnavailable

if TYPE_CHECKING:
    from datasmith.github.discovery import Discovered
    from datasmith.settings import Settings

MIN_STARS = 50


def discover(
    min_stars: Annotated[int, typer.Option("--min-stars", help="Fewer stars are not mined.", min=0)] = MIN_STARS,
    from_csv: Annotated[
        Path | None,
        typer.Option("--from-csv", help="Repositories of this CSV file (BigQuery's, for example), not of code search."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Directory of the two files (default: FC_DATA_DIR).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find repositories with an asv suite; write repos_discovered.csv (all) and repos_valid.csv (those to mine)."""
    import anyio

    from datasmith.github.repos_csv import DISCOVERED, VALID, write_repositories
    from datasmith.settings import load_settings

    settings = load_settings()
    directory = out or settings.data_dir
    found = anyio.run(_discover, settings, from_csv, min_stars)
    write_repositories(directory / DISCOVERED, found.listed)
    write_repositories(directory / VALID, found.valid)
    _show(found, directory, as_json)
    shortfalls = [f"counted {found.missing} files more than it gave"] if found.missing else []
    if found.incomplete:
        shortfalls.append("gave up each time before it had looked everywhere")
    if shortfalls:
        raise ForgeUnavailable(f"code search {' and '.join(shortfalls)}: what came is written, and may be short")


async def _discover(settings: "Settings", from_csv: Path | None, min_stars: int) -> "Discovered":
    from datasmith.github.discovery import discover as found_by
    from datasmith.github.discovery import from_list
    from datasmith.github.forges import open_client
    from datasmith.github.repos_csv import read_repositories

    if from_csv is None:
        async with open_client(settings) as client:
            return await found_by(client, min_stars)
    listed = read_repositories(from_csv, source=from_csv.name)
    if not listed:
        raise ConfigError(
            f"--from-csv {from_csv}: no repository below its first line (example of a line: pypa/packaging)"
        )
    if not settings.github_tokens and all(each.repository.stars is not None for each in listed):
        print("GH_TOKENS is not set: stars, forks and archives are taken from the file as they are", file=sys.stderr)
        return await from_list(None, listed, min_stars)
    async with open_client(settings) as client:
        return await from_list(client, listed, min_stars)


def _show(found: "Discovered", directory: Path, as_json: bool) -> None:
    for each in found.refused:
        print(f"{each.repository.full_name}: {each.reason}", file=sys.stderr)
    if as_json:
        rows = [each.model_dump(mode="json") for each in found.listed]
        short = {"missing": found.missing, "incomplete": found.incomplete}
        print(document({"out": str(directory), **short, "repositories": rows}))
        return
    print(f"{counted(len(found.listed), 'repository')}, {len(found.valid)} to mine; the lists are in {directory}")
    for reason, number in found.reasons:
        print(f"  {number:>6} {reason}")
