#!/usr/bin/env bash
# Pr tier: install the repository's package in place, without network and without an environment of its own.
# Runs again, unchanged, after a patch to compiled sources. FC_INSTALL_DIR: its directory, relative to the tree.
# FC_INSTALL=develop: as before build tools knew editable installations (PEP 660), all extensions built anew.
set -euo pipefail
cd "$FC_WORKDIR/${FC_INSTALL_DIR:-.}"
if [ "${FC_INSTALL:-}" = develop ]; then
  # setuptools first, as scripts of distutils alone have no develop; in __main__, where numpy's kind of scripts belong.
  setup='import setuptools, sys, tokenize; __file__ = sys.argv[0] = "setup.py"
exec(compile(tokenize.open(__file__).read(), __file__, "exec"))'
  "$FC_ENV/bin/python" -c "$setup" --quiet build_ext --inplace --force
  # develop leaves a release that something else asked for where it is, and in front.
  name=$("$FC_ENV/bin/python" -c "$setup" --quiet --name | tail -n 1)
  uv pip uninstall --quiet --no-config --offline --no-cache --python "$FC_ENV/bin/python" "$name"
  exec "$FC_ENV/bin/python" -c "$setup" --quiet develop --no-deps
fi
uv pip install --quiet --no-config --offline --no-cache --python "$FC_ENV/bin/python" \
  --no-deps --no-build-isolation --reinstall --editable .
