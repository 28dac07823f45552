#!/usr/bin/env bash
# Env tier: the locked packages, as wheels, with their hashes checked. Nothing of the repository runs here.
# FC_ENV: where the environment goes. FC_PYTHON: its interpreter's version.
set -euo pipefail
python=${UV_PYTHON:-$FC_PYTHON}
uv venv --quiet --clear --no-config --python "$python" "$FC_ENV"
# Byte code that is checked by hash, not by time, is the same in every build; launches see the layer read-only.
export PYC_INVALIDATION_MODE=CHECKED_HASH
uv pip install --quiet --no-config --compile-bytecode --python "$FC_ENV/bin/python" \
  --require-hashes --only-binary :all: --no-deps -r /build/lock.txt
if [ "$(id -u)" = 0 ]; then chown -R 1000:1000 "$FC_ENV"; fi
