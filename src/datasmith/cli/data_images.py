"""fc-data images: push the sealed images of tasks, see whether they are there, write one as an archive, or tidy up."""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.options import Json, help_without_command, the_task
from datasmith.errors import ConfigError, PublishError
from datasmith.misfits import LONGEST
from datasmith.printable import cut, one_line

if TYPE_CHECKING:
    from datasmith.publish.images import ImagePublisher

images = typer.Typer(
    name="images",
    help="Images of tasks in registries, and in the cache directory.",
    rich_markup_mode=None,
    add_completion=False,
)
_Tasks = Annotated[list[Path], typer.Argument(metavar="TASK|DIR", help="Task folders, or directories of such.")]
_Engine = Annotated[
    str, typer.Option("--engine", help="The engine that holds the images: docker, podman or bubblewrap.")
]
_LEAST_AGE = timedelta(days=1)
"""What runs now was started since then: it stands on layers that must not go."""
_EXAMPLE = "example: work/dataset/tasks"


@images.callback(invoke_without_command=True)
def _images(context: typer.Context) -> None:
    """Images of tasks in registries, and in the cache directory."""
    help_without_command(context)


@images.command()
def push(
    tasks: _Tasks,
    skip_existing: Annotated[
        bool, typer.Option("--skip-existing", help="Leave out what every registry has already.")
    ] = False,
    engine: _Engine = "",
    as_json: Json = False,
) -> None:
    """Push images to FC_REGISTRIES, with SBOM and provenance; exits with 17 where one does not arrive."""
    from datasmith.errors import ContainerError, IndexUnavailable, TaskError

    publisher = _publisher(engine, skip_existing=skip_existing)
    if not publisher.places:
        raise ConfigError("FC_REGISTRIES is not set (example: FC_REGISTRIES=docker.io/formulacode)")
    rows: list[dict[str, str]] = []
    failed = 0
    for folder in _folders(tasks):
        try:
            pushed = publisher.publish(folder)
        except (PublishError, TaskError, ContainerError, IndexUnavailable) as error:
            failed += 1
            rows.append({"task": str(folder), "state": "failed", "said": one_line(str(error))})
        else:
            rows.append({"task": str(folder), "state": "pushed", "said": pushed.name})
        if not as_json:
            print(f"{rows[-1]['state']:<10} {folder}: {rows[-1]['said']}", flush=True)
    if as_json:
        print(document({"images": rows}))
    if failed:
        raise PublishError(f"{failed} of {len(rows)} images did not arrive")


@images.command()
def check(tasks: _Tasks, as_json: Json = False) -> None:
    """Ask the registries for every published image.

    Exits with 1 (one is missing, or was never published), 17 (cannot tell), 33 (damaged record).
    """
    from datasmith.errors import InvalidTask
    from datasmith.publish.images import PUBLISHED, read_published

    publisher = _publisher("", skip_existing=True)
    rows: list[dict[str, str]] = []
    damaged: list[str] = []
    for folder in _folders(tasks, remains=True):
        try:
            published = read_published(folder)
        except InvalidTask as error:
            said = one_line(f"{folder / PUBLISHED}: {error}")
            damaged.append(said)
            rows.append({"task": str(folder), "state": "damaged", "reference": "", "said": said})
            continue
        if published is None:
            rows.append({"task": str(folder), "state": "unpublished", "reference": "", "said": ""})
            continue
        for found in publisher.check(published):
            where = found.reference
            name = f"{where.host}/{where.repository}:{where.tag}@{published.manifest_digest}"
            rows.append({"task": str(folder), "state": found.state, "reference": name, "said": one_line(found.said)})
    if as_json:
        print(document({"images": rows}))
    else:
        for row in rows:
            print(
                f"{row['state']:<11} {row['reference'] or row['task']}{' (' + row['said'] + ')' if row['said'] else ''}"
            )
    states = [row["state"] for row in rows]
    print(f"{states.count('available')} of {len(states)} available", file=sys.stderr)
    if damaged:
        raise InvalidTask(damaged)
    if "unknown" in states:
        raise PublishError(f"{states.count('unknown')} references could not be asked for")
    if set(states) - {"available"}:
        raise typer.Exit(1)


@images.command()
def save(
    task: Annotated[Path, typer.Argument(metavar="TASK", help="A task folder.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="ARCHIVE", help="Where the archive goes (a tar of an OCI layout).")
    ],
    engine: _Engine = "",
    as_json: Json = False,
) -> None:
    """Write one image as an OCI archive, with SBOM and provenance, for those without a registry."""
    folder = the_task("TASK", task)
    digest = _publisher(engine, skip_existing=True).save(folder, out)
    print(document({"archive": str(out), "manifest_digest": digest}) if as_json else f"{out}: {digest}")


@images.command()
def prune(
    older_than: Annotated[
        str,
        typer.Option("--older-than", help="What was used in this time stays: 30d, 36h (1d at least)."),
    ] = "30d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and delete nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Delete layers, prepared trees and downloads below FC_CACHE_DIR that were not used for long."""
    from datasmith.docker import prune as cache
    from datasmith.settings import load_settings

    place = load_settings().cache_dir.absolute()
    if not place.is_dir():
        raise ConfigError(f"FC_CACHE_DIR {place}: no such directory (example: FC_CACHE_DIR=/srv/fc)")
    before = datetime.now(UTC) - _age(older_than)
    rows: list[dict[str, str | int]] = []
    size = 0
    for found in cache.prune(place, before=before, delete=not dry_run):
        used = found.used_at.isoformat(timespec="seconds")
        size += found.size
        rows.append({"kind": found.kind, "name": found.name, "used_at": used, "bytes": found.size})
        if not as_json:
            print(f"{'would go' if dry_run else 'deleted'}  {found.kind} {found.name}, last used {used}", flush=True)
    if not dry_run:
        cache.prune_downloads(place)
    if as_json:
        print(document({"dry_run": dry_run, "pruned": rows}))
    print(
        f"{len(rows)} {'would go' if dry_run else 'deleted'}, {size // 2**20} MB or more, of {place}", file=sys.stderr
    )


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"([0-9]{1,5})([dh])", text)
    age = timedelta(**{"days" if found[2] == "d" else "hours": int(found[1])}) if found else timedelta()
    if age < _LEAST_AGE:
        raise ConfigError(
            f"--older-than {cut(text, LONGEST)!r}: must be days or hours, 1d at least and 99999d or 99999h at most "
            "(example: --older-than 30d)"
        )
    return age


def _folders(places: list[Path], *, remains: bool = False) -> tuple[Path, ...]:
    """The task folders that are meant; `remains`: and what is left of some."""
    from datasmith.publish.images import PUBLISHED
    from datasmith.tasks.plain import OF_A_TASK, folders_below

    found = folders_below(places, (*OF_A_TASK, PUBLISHED)) if remains else folders_below(places)
    if not found:
        raise ConfigError(f"TASK|DIR {places[0]}: no task folder is there ({_EXAMPLE})")
    return found


def _publisher(engine: str, *, skip_existing: bool) -> "ImagePublisher":
    from datasmith.docker.engines import open_engine
    from datasmith.publish.images import ImagePublisher
    from datasmith.settings import load_settings

    settings = load_settings(engine=engine)
    return ImagePublisher(settings, lambda: open_engine(settings), skip_existing=skip_existing)
