"""fc-eval by itself, as `uv tool install` would have it: built, installed into a fresh environment, and run there."""

import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from datasmith.process import find_uv
from tests.house.source import ROOT
from tests.house.test_thin import HEAVY, OPTIONAL
from tests.integration.eval_task import calc_image, calc_task
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine

MOST_MB = 200
TASK = "acme_calc_1"


def uv(*words: str | Path) -> str:
    done = subprocess.run([find_uv(), *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    uv("build", "--quiet", "--wheel", "--out-dir", place, ROOT / "wheels" / "fc-eval")
    (found,) = place.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The environment's directory; its versions are those of uv.lock."""
    place = wheel.parent / "env"
    pins = wheel.parent / "pins.txt"
    uv("export", "--quiet", "--locked", "--all-extras", "--no-hashes", "--no-emit-project", "--output-file", pins)
    uv("venv", "--quiet", "--python", "3.11", place)
    uv("pip", "install", "--quiet", "--python", place / "bin" / "python", "--constraint", pins, wheel)
    return place


def test_the_wheel_holds_half_of_the_package(wheel: Path) -> None:
    """The evaluation's rooms with their data files, none of the pipeline's, and no byte code."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {"datasmith/tasks/datasets.json", "datasmith/evaluation/templates/report.html.j2"} <= set(names)
    rooms = {name.split("/")[1] for name in names if name.startswith("datasmith/")}
    assert not rooms & {"storage", "runners", "github", "publish", "resolution", "pipeline.py"}
    assert not [name for name in names if name.endswith(".pyc")]


def test_it_installs_alone_and_evaluates(installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At most 200 MB, none of the heavy libraries; it lists tasks, and carries out a run of nop with its report."""
    size = sum(path.stat().st_size for path in installed.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6
    with capsys.disabled():
        print(f"\nfc-eval by itself: {size:.0f} MB installed")
    assert size <= MOST_MB
    packages = {path.name for path in installed.glob("lib/python*/site-packages/*")}
    assert not packages & (HEAVY | OPTIONAL)
    image = calc_image(embedded_engine(tmp_path / "cache"), tmp_path)
    calc_task(image, tmp_path / "tasks", tmp_path / "repo.tar.gz")
    env = {"PATH": f"{installed}/bin:{os.environ['PATH']}", "HOME": str(tmp_path), "FC_ENGINE": "bubblewrap"}
    env["FC_CACHE_DIR"] = str(tmp_path / "cache")

    def said(*words: str) -> str:
        done = subprocess.run(
            [installed / "bin" / "fc-eval", *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "--max-cost" in said("run", "--help")
    assert said("--version").strip()
    assert said("tasks", "list", "--dataset", "tasks").startswith(f"{TASK}\t")
    run = ("run", "--dataset", "tasks", "-a", "nop", "--max-rounds", "6", "--run-id", "r", "--json")
    (trial,) = json.loads(said(*run))["trials"]
    assert trial["task_id"] == TASK
    # Six rounds beside other tests may be too noisy for a number; all else ends otherwise.
    assert trial["outcome"] in {"measured", "invalid_measurement"}, trial
    assert json.loads(said("runs", "status", "r", "--json"))["n_complete"] == 1
    assert (tmp_path / "runs/r/report.html").is_file()
