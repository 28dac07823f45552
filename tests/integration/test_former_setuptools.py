"""A package is installed in place by a setuptools of the day before it knew editable installations (PEP 660)."""

import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from datasmith import process
from datasmith.agents.attempts import Attempt
from datasmith.agents.recipes import remedy
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import Container
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.errors import BuildFailed
from datasmith.workloads.arms import apply_patch
from datasmith.workloads.mounts import inside_mounts
from datasmith.workloads.rebuild import rebuild
from tests.sandboxes import committed, embedded_engine

pytestmark = pytest.mark.engine

PKG = "docker_build_pkg.sh"
TREE = {
    "setup.py": b"""from distutils.core import Extension, setup
__builtins__.__SIX_SETUP__ = True  # As builds on numpy of that time did: it needs to be the main program.
setup(name="six", version="1.0", ext_modules=[Extension("six", ["six.c"])])
""",
    "value.h": b"#define VALUE 1\n",
    "six.c": b"""#include <Python.h>
#include "value.h"
static struct PyModuleDef six = {PyModuleDef_HEAD_INIT, "six"};
PyMODINIT_FUNC PyInit_six(void) {
    PyObject *module = PyModule_Create(&six);
    PyModule_AddIntConstant(module, "VALUE", VALUE);
    return module;
}
""",
    ".gitignore": b"build/\n*.egg-info/\n*.so\n",
}
PATCH = """diff --git a/value.h b/value.h
--- a/value.h
+++ b/value.h
@@ -1 +1 @@
-#define VALUE 1
+#define VALUE 2
"""


@pytest.fixture
def plan(tmp_path: Path) -> ImagePlan:
    """A package that has one module, in C, and packages of summer 2022, a release of its own among them."""
    (tmp_path / "in.txt").write_text("setuptools==63.4.3\nsix==1.16.0\n")
    words = [str(process.find_uv()), "pip", "compile", "--quiet", "--generate-hashes", "--only-binary=:all:"]
    locked = [*words, "--no-header", "--python-version", "3.11", "in.txt", "-o", "lock.txt"]
    done = process.run(locked, cwd=tmp_path, timeout=120)
    assert done.ok, done.error_text
    place = committed(tmp_path / "tree", TREE)
    with tarfile.open(tmp_path / "repo.tar", "w") as archive:
        archive.add(place, arcname=".")
    context = DockerContext.default(lock=(tmp_path / "lock.txt").read_text())
    told = {"FC_IMPORT_NAMES": "six"}
    return ImagePlan("own", "six", "1", "3.11", (), context, tmp_path / "repo.tar", told)


def value(container: Container) -> str:
    """What the module says, asked outside of the tree."""
    found = container.exec(["/opt/env/bin/python", "-c", "import six; print(six.VALUE)"], cwd="/", timeout=60)
    return found.text.strip() or found.error_text


def test_it_is_installed_by_develop_and_built_again_whole(plan: ImagePlan, tmp_path: Path) -> None:
    """The recipe follows from what the failed build said; a header that the build does not name counts, too.

    A release of the package that something else asked for is not in its place.
    """
    engine = embedded_engine(tmp_path / "cache")
    images = ImageManager(engine, namespace="fc-develop")
    with pytest.raises(BuildFailed) as failed:
        images.build(plan, log=tmp_path / "log")
    said = Attempt(plan, "recipe", False, failed.value.stage, 1, "", failed.value.log_tail, 1.0)
    found = remedy(said, lambda lock, *_: lock)
    assert found is not None and found.recipe == "no editable builds: setup.py develop"
    assert remedy(replace(said, plan=found.plan), lambda lock, *_: lock) is None
    image = images.build(found.plan, log=tmp_path / "log")
    with engine.start(image, mounts=inside_mounts(), writable_env=True) as container:
        assert value(container) == "1"
        # As the other engines leave it, which keep times: what was built is younger than its sources.
        younger = ["/usr/bin/find", ".", "-name", "*.so", "-exec", "touch", "{}", "+"]
        assert container.exec(younger, timeout=60).ok
        assert apply_patch(container, PATCH, timeout=60) is None
        script = found.plan.context.texts[PKG]
        assert rebuild(container, script, found.plan.build_args, timeout=120) is None
        assert value(container) == "2"
