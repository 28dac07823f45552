#!/bin/sh
# What scripts share that install programs at fixed versions into a directory of their own: `. scripts/pinned.sh`.
# DIR/installed says which versions are there; it is written last, so that half an installation does not count.
set -eu
export UV_PYTHON_DOWNLOADS=never

# begin NAME DIR WANTED: end the script where DIR holds what is wanted already, else make DIR ready for it.
begin() {
    target=$2
    wanted=$3
    if [ "$(cat "$target/installed" 2>/dev/null)" = "$wanted" ]; then
        echo "$1 in $target: nothing is missing"
        exit 0
    fi
    mkdir -p "$target"
    rm -f "$target/installed"
}

# environment NAME PYTHON WORD...: the virtual environment DIR/NAME with what "uv pip install WORD..." puts there.
environment() {
    place=$target/$1
    .venv/bin/uv venv --quiet --clear --python "$2" "$place"
    shift 2
    .venv/bin/uv pip install --quiet --python "$place/bin/python" "$@"
}

# finish: all of it is there.
finish() {
    printf '%s' "$wanted" >"$target/installed"
}
