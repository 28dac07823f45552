"""git on the tree in a sandbox, whatever the settings of its repository, of the image or of the user say."""

from datasmith.docker.engine import WORKDIR

GIT = (
    *("git", "-C", WORKDIR, f"--git-dir={WORKDIR}/.git", f"--work-tree={WORKDIR}"),
    *("-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"),
    *("-c", "core.excludesFile=/dev/null", "-c", "core.attributesFile=/dev/null", "-c", "core.sparseCheckout=false"),
    *("-c", "core.fileMode=true", "-c", "core.ignoreCase=false", "-c", "core.autocrlf=false"),
)
"""The repository and the tree are named: no setting of the repository leads to others, and none runs a program."""
GIT_ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
GIT_TIMEOUT_S = 300.0
