#!/usr/bin/env bash
# Pr tier: what has to hold before anything is run. FC_IMPORT_NAMES: modules of the package, separated by spaces.
set -euo pipefail
cd /
for name in ${FC_IMPORT_NAMES:-}; do
  "$FC_ENV/bin/python" -c 'import importlib, sys; importlib.import_module(sys.argv[1])' "$name"
done
