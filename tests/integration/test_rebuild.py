"""A package whose version tells of git's state is built again after a patch, and has the name that it had."""

from pathlib import Path

import pytest

from datasmith.workloads.arms import apply_patch
from datasmith.workloads.mounts import inside_mounts
from datasmith.workloads.prints import environment_prints
from datasmith.workloads.rebuild import rebuild
from tests.integration.eval_task import calc_image, expert_patch
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine

BUILD = """
set -eu
version=$(git -C "$FC_WORKDIR" -c safe.directory='*' describe --always --dirty)
for place in "$FC_ENV"/lib/python3*/site-packages; do
    rm -f "$place"/__editable__.calc-*.pth
    echo "import calc_$version" >"$place/__editable__.calc-$version.pth"
done
"""


def test_a_version_of_gits_state_stays(tmp_path: Path) -> None:
    """Also where the patch changes files; afterwards git tells of them again, and nothing is left beside the tree."""
    engine = embedded_engine(tmp_path / "cache")
    image = calc_image(engine, tmp_path)
    with engine.start(image, mounts=inside_mounts(), writable_env=True) as container:
        env = {"FC_WORKDIR": "/workspace/repo", "FC_ENV": "/opt/env"}
        first = container.exec(["/bin/bash", "-c", BUILD], timeout=60, env=env)
        assert first.ok, first.error_text
        assert apply_patch(container, expert_patch(), timeout=60) is None
        assert rebuild(container, BUILD, {}, timeout=60) is None
        status = container.exec(["git", "-c", "safe.directory=*", "status", "--short"], timeout=60)
        assert status.text.split() == ["M", "calc.py"]
        beside = f"{BUILD}\ntouch /workspace/pytest.ini /workspace/conftest.py\n"
        assert rebuild(container, beside, {}, timeout=60) is None
        found = container.exec(["ls", "-A", "/workspace"], timeout=60)
        assert sorted(found.text.split()) == ["cache", "repo"]
        renamed = BUILD.replace("version=$(", "version=x$(")
        assert "__editable__.calc-x" in str(rebuild(container, renamed, {}, timeout=60))


def test_only_what_can_change_has_a_print(tmp_path: Path) -> None:
    """An environment that is mounted read-only has none; a writable one has one of each entry, which tells a change."""
    engine = embedded_engine(tmp_path / "cache")
    image = calc_image(engine, tmp_path)
    tests = "the tests or their configuration"
    with engine.start(image) as container:
        assert environment_prints(container).keys() == {tests}
    with engine.start(image, writable_env=True) as container:
        before = environment_prints(container)
        assert {tests, "pyvenv.cfg", "bin/python"} <= before.keys()
        changing = "echo '# changed' >>/opt/env/pyvenv.cfg; echo >/opt/env/bin/new; echo >/workspace/repo/conftest.py"
        assert container.exec(["/bin/sh", "-c", changing], timeout=60).ok
        after = environment_prints(container)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {tests, "pyvenv.cfg", "bin/new"}
