"""Build, in the sandbox, packages that were never wheels: does what resolution admits from sources really build.

Run: `python benchmarks/source_builds.py LIST [--engine bubblewrap]`, where LIST is JSON: a list of [name, version,
python, date]. For each one an environment that needs just this release is resolved as of the date and built; one line
says how that ended. Needs the package index.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ContainerEngine
from datasmith.docker.engines import open_engine
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.errors import BuildFailed, ResolutionError
from datasmith.resolution.base import AsvHints, SourceTree
from datasmith.resolution.diagnosis import diagnose
from datasmith.resolution.resolver import Resolver
from datasmith.settings import load_settings


def build(engine: ContainerEngine, resolver: Resolver, requirement: str, day: datetime, log: Path) -> str:
    """How it ended: "built", or why not."""
    text = f'[project]\nname = "needs-sources"\ndependencies = ["{requirement}"]\n'
    tree = SourceTree({"pyproject.toml": text}, ("pyproject.toml",))
    try:
        found = resolver.resolve(tree, repository="o/needs-sources", commit_date=day, asv=AsvHints())
    except ResolutionError as error:
        return f"not resolved: {' '.join(str(error).split())[:150]}"
    if not found.sources:
        return "there is a wheel for it"
    context = DockerContext.default(lock=found.lock)
    plan = ImagePlan("o", "needs-sources", "1", found.python_version, found.apt_packages, context, Path())
    images = ImageManager(engine, namespace="fc-source-builds")
    try:
        images.build_env(images.build_base(found.apt_packages, context, log=log), plan, log=log)
    except BuildFailed as error:
        return f"failed: {diagnose(error.log_tail).text or ' '.join(error.log_tail.split())[-200:]}"
    return "built"


def main() -> None:
    """Build each entry of the list, then count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", type=Path)
    parser.add_argument("--engine", default="")
    asked = parser.parse_args()
    settings = load_settings()
    engine = open_engine(settings.model_copy(update={"engine": asked.engine} if asked.engine else {}))
    ended = Counter[str]()
    cache = settings.cache_dir.absolute() / "uv"
    with tempfile.TemporaryDirectory() as place:
        for name, version, python, date in json.loads(asked.list.read_text(encoding="utf-8")):
            resolver = Resolver([python], index_url=settings.index_url, ca_bundle=settings.ca_bundle, cache_dir=cache)
            started = time.monotonic()
            day = datetime.fromisoformat(date).astimezone(UTC)
            how = build(engine, resolver, f"{name}=={version}", day, Path(place) / "log")
            ended[how.partition(":")[0]] += 1
            print(f"{name}=={version:<24} python {python:<5} {time.monotonic() - started:6.1f} s  {how}", flush=True)
    for how, number in ended.most_common():
        print(f"{number:>4} {how}")


if __name__ == "__main__":
    main()
