#!/usr/bin/env bash
# Pr tier: install the repository's package in place, without network and without an environment of its own.
# Runs again, unchanged, after a patch to compiled sources. FC_INSTALL_DIR: its directory, relative to the tree.
set -euo pipefail
cd "$FC_WORKDIR/${FC_INSTALL_DIR:-.}"
uv pip install --quiet --no-config --offline --no-cache --python "$FC_ENV/bin/python" \
  --no-deps --no-build-isolation --reinstall --editable .
