#!/bin/sh
# Install Harbor and terminal-bench, at the versions that the tests drive, each into an environment of its own.
# Usage: scripts/install-harnesses.sh [DIR]    (default: .harnesses)
#
# Both need a Python 3.12 or newer. Debian 12 has none: where no other is found, that of Debian 13 is unpacked into DIR.
# Without mmdebstrap, which does that, the file DIR/missing says so, and what needs them is left out.
set -eu
cd "$(dirname "$0")/.."
. scripts/pinned.sh
harbor=0.25.0
terminal_bench=0.2.18
begin harnesses "${1:-.harnesses}" "harbor $harbor terminal-bench $terminal_bench"
rm -f "$target/missing"
python=""
for candidate in python3.12 python3.13 python3.14 /usr/bin/python3 /usr/local/bin/python3 \
    "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
    path=$(command -v "$candidate") || continue
    if "$path" -c 'import sys, ssl, sqlite3; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
        python=$path
        break
    fi
done
if [ -z "$python" ]; then
    if ! command -v mmdebstrap >/dev/null; then
        echo "no Python 3.12 or newer is installed, and no mmdebstrap to unpack Debian's" | tee "$target/missing"
        exit 0
    fi
    python=$(scripts/debian-python.sh "$target/python")
fi
# Harbor 0.25 asks for a certifi of the day before it was made; any of that year will do.
echo 'certifi>=2026' >"$target/overrides.txt"
# tomli-w, numpy and uv are what our environment class needs of fc-data's own dependencies, and Harbor has not.
environment harbor "$python" --override "$target/overrides.txt" \
    "harbor==$harbor" 'tomli-w>=1.2,<2' 'numpy>=2.2,<3' 'uv>=0.9,<1'
environment terminal-bench "$python" "terminal-bench==$terminal_bench"
finish
