"""The environment to learn in: what it is opened with."""

import pytest

from datasmith.docker.engine import ImageRef
from datasmith.errors import ConfigError
from datasmith.evaluation.environment import environment_of
from tests.sandboxes import tree_task


@pytest.mark.parametrize("rounds", [-3, 0, 2])
def test_too_few_rounds_are_named_as_they_were_given(rounds: int) -> None:
    """By the name of the parameter, before anything is opened."""
    task = tree_task(ImageRef("bubblewrap", "none", "sha256:" + "0" * 64))
    with pytest.raises(ConfigError, match=rf"^max_rounds {rounds}: .*\(example: max_rounds=\d+\)$"):
        environment_of(task, None, max_rounds=rounds)
