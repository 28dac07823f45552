"""What is read out of foreign Dockerfiles and out of what their builds print."""

import pytest

from datasmith.docker.cli_build import declared_arguments
from datasmith.docker.foreign import failed_step


@pytest.mark.parametrize(
    ("output", "step"),
    [
        ("#5 [env 2/2] RUN x\n#5 ERROR: exit code: 1\n", "env"),
        ("#5 [env 2/2] RUN x\n#9 [pkg 1/3] COPY y\n", "pkg"),
        ("#9 [ pkg  1/13] COPY y\n", "pkg"),
        ("FROM env AS pkg\nRUN x\n", "pkg"),
        ("Step 4/9 : FROM base as env\n", "env"),
        ("something else\n", "build"),
    ],
)
def test_the_stage_that_failed_is_named(output: str, step: str) -> None:
    """Of BuildKit's lines and of the older builder's; where no stage is named it is just the build."""
    assert failed_step(output) == step


def test_declared_arguments_are_found() -> None:
    """With and without a default, in any case, and not those that are only used."""
    assert declared_arguments("ARG A\nFROM x\narg B=2\n  ARG C=$D\nRUN echo ARG E\n") == {"A", "B", "C"}
