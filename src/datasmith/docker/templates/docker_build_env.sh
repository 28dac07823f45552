#!/usr/bin/env bash
# Env tier: the locked packages, as wheels, with their hashes checked. No package's own code runs here.
# FC_ENV: where the environment goes. FC_PYTHON: its interpreter's version.
set -euo pipefail
python=${UV_PYTHON:-$FC_PYTHON}
uv venv --quiet --clear --no-config --python "$python" "$FC_ENV"
lock=/build/lock.txt
if grep -q '^--no-binary ' "$lock"; then
  # What was never a wheel is downloaded, no more; docker_build_sources.sh builds it, without network.
  box=$FC_ENV/share/fc-sources
  "$FC_ENV/bin/python" /build/fetch_sources.py "$lock" "$box" "${UV_DEFAULT_INDEX:-https://pypi.org/simple}"
  uv venv --quiet --no-config --python "$python" "$box/venv"
  uv pip install --quiet --no-config --python "$box/venv/bin/python" \
    --require-hashes --only-binary :all: --no-deps -r "$box/build.txt"
  lock=$box/wheels.txt
fi
uv pip install --quiet --no-config --python "$FC_ENV/bin/python" \
  --require-hashes --only-binary :all: --no-deps -r "$lock"
# Byte code that is checked by hash, not by time, is the same in every build; launches see the layer read-only. Without
# -S the interpreter would run what the *.pth files of the packages say. Files that no Python of today can read stay.
(cd / && "$FC_ENV/bin/python" -s -S -m compileall -qq -j 0 --invalidation-mode checked-hash "$FC_ENV/lib") || true
if [ "$(id -u)" = 0 ]; then chown -R 1000:1000 "$FC_ENV"; fi
