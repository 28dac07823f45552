#!/usr/bin/env bash
# After the env tier, without network: build what was never a wheel, from the sources that docker_build_env.sh fetched,
# in their own locked environment. FC_ENV: where the environment is.
set -euo pipefail
box=$FC_ENV/share/fc-sources
[ -d "$box" ] || exit 0
# The same sources give the same wheels and the same byte code.
export SOURCE_DATE_EPOCH=315532800 PYC_INVALIDATION_MODE=CHECKED_HASH
for archive in "$box"/sdists/*; do
  PATH="$box/venv/bin:$PATH" uv build --no-config --offline --no-cache --wheel --no-build-isolation \
    --python "$box/venv/bin/python" --out-dir "$box/wheels" "$archive"
done
uv pip install --quiet --no-config --offline --no-cache --no-index --no-deps --compile-bytecode \
  --python "$FC_ENV/bin/python" --find-links "$box/wheels" -r "$box/sources.txt"
# uv notes when a wheel was made: no two builds would be the same.
find "$FC_ENV/lib" -name uv_cache.json -execdir sed -i '/uv_cache\.json,/d' RECORD \; -delete
rm -rf "$box"
