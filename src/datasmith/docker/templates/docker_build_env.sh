#!/usr/bin/env bash
# Env tier: the locked packages, as wheels, with their hashes checked. No package's own code runs here.
# FC_ENV: where the environment goes. FC_PYTHON: its interpreter's version. FC_LOCK: a part of the lock, where a layer
# holds no more. FC_BEGUN: not empty where a layer below holds a part already.
set -euo pipefail
# A package's program may be called `find`: none of the environment's is run here.
PATH=${PATH#"$FC_ENV/bin:"}
python=${UV_PYTHON:-$FC_PYTHON}
sources() { find "$FC_ENV/lib" -name '*.py' -xtype f -printf '%p\t%C@\0' | sort -z; }
there=$(mktemp) now=$(mktemp)
if [ -n "${FC_BEGUN:-}" ]; then
  sources >"$there"
else
  uv venv --quiet --clear --no-config --python "$python" "$FC_ENV"
fi
lock=${FC_LOCK:-/build/lock.txt}
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
# Byte code that is checked by hash, not by time, is the same in every build; launches see the layer read-only. It is kept
# beside uv's downloads, by interpreter, path and content: the next environment holds most of it, too. Without -S the
# interpreter would run what the *.pth files of the packages say. Files that no Python of today can read stay.
sources | comm -z -13 "$there" - | cut -z -f1 >"$now"
(cd / && "$FC_ENV/bin/python" -s -S - "$now" "${UV_CACHE_DIR:-}" <<'PYTHON')
import functools, hashlib, os, shutil, sys
from compileall import compile_file
from concurrent.futures import ProcessPoolExecutor
from importlib.util import cache_from_source
from py_compile import PycInvalidationMode

listed, downloads = sys.argv[1:]
with open(listed, "rb") as file:
    sources = [os.fsdecode(name) for name in file.read().split(b"\0")[:-1]]
place = os.path.join(downloads, "fc-byte-code")
kept, missing = {}, []
for source in sources:
    with open(source, "rb") as file:
        said = b"\0".join((sys.version.encode(), os.fsencode(source), file.read()))
    kept[source] = os.path.join(place, hashlib.sha256(said).hexdigest())
    os.makedirs(os.path.dirname(cache_from_source(source)), exist_ok=True)
    if downloads and os.path.exists(kept[source]):
        mode = os.stat(source).st_mode & 0o666 | 0o200  # As py_compile has it.
        target = cache_from_source(source)
        if os.path.lexists(target):
            os.remove(target)
        with open(kept[source], "rb") as file, open(target, "wb", opener=functools.partial(os.open, mode=mode)) as new:
            shutil.copyfileobj(file, new)
    else:
        missing.append(source)
work = functools.partial(compile_file, force=True, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
with ProcessPoolExecutor() as pool:
    done = list(pool.map(work, missing, chunksize=16))
if downloads:
    os.makedirs(place, exist_ok=True)
    for source in (source for source, compiled in zip(missing, done) if compiled):
        draft = "%s.%s" % (kept[source], os.urandom(8).hex())  # Process ids are those of a sandbox.
        shutil.copyfile(cache_from_source(source), draft)
        os.replace(draft, kept[source])
PYTHON
rm -f "$there" "$now"
# A part's files get their owner from the engine, each once: what is touched again lies in two layers.
if [ "$(id -u)" = 0 ] && [ -z "${FC_LOCK:-}${FC_BEGUN:-}" ]; then chown -R 1000:1000 "$FC_ENV"; fi
