#!/bin/sh
# Runs in the agent's sandbox when the agent is done: what the tree holds that base did not, as a git diff.
cd /workspace/repo && rm -f .git/fc-index && mkdir -p /logs/artifacts && export GIT_INDEX_FILE=.git/fc-index &&
g() { git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.autocrlf=false "$@"; } &&
base=$(g rev-list --max-parents=0 HEAD | tail -n 1) && g read-tree "$base" &&
g add --all -- . ':(exclude,glob)**/__pycache__/**' ':(exclude,glob)**/*.pyc' ':(exclude,glob)**/.pytest_cache/**' &&
g diff --cached --binary --full-index --no-color --no-ext-diff --no-textconv --no-renames \
    --src-prefix=a/ --dst-prefix=b/ --output=/logs/artifacts/patch.diff "$base" --
