#!/bin/sh
# Inside a container: replace a file by what is read, and make its parent directories; never through a link.
# Exit code 44: a link or a thing that is no file is in the way.
path=$1
mode=$2
parent=${path%/*}
[ "$(/usr/bin/realpath -m -- "$parent" 2>/dev/null)" = "$parent" ] || exit 44
[ ! -L "$path" ] || exit 44
[ ! -e "$path" ] || [ -f "$path" ] || exit 44
/bin/mkdir -p -- "$parent" && /bin/cat >"$path" && /bin/chmod "$mode" -- "$path"
