"""Run one setup_cache: `python -m inside.setup_cache '{"suite":…,"name":…,"cache":…}'`, once per arm and key."""

from __future__ import annotations

import json
import os
import pickle
import sys
import traceback

from . import OWN
from .capture import plant_seed
from .report import Report, failure, leave_script_path
from .suite import FAILED, PICKLE, load

__builtins__ = OWN


def build(root: str, name: str, cache_dir: str) -> None:
    """Run the setup_cache of benchmark `name` in `cache_dir` and leave what it returned there as a pickle."""
    os.makedirs(cache_dir, exist_ok=True)
    os.chdir(cache_dir)
    benchmark = load(root, name, None)
    plant_seed(0)
    cache = benchmark.do_setup_cache()
    with open(PICKLE + ".part", "wb") as stream:
        pickle.dump(cache, stream, protocol=pickle.HIGHEST_PROTOCOL)
    os.replace(PICKLE + ".part", PICKLE)


if __name__ == "__main__":
    report = Report()
    leave_script_path()
    request = json.loads(sys.argv[1])
    try:
        build(request["suite"], request["name"], request["cache"])
    except BaseException as error:
        traceback.print_exc()
        with open(os.path.join(request["cache"], FAILED), "w") as note:
            note.write(failure(error))
        report.send({"failed": failure(error)})
    report.send({"done": True})
