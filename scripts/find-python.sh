#!/bin/sh
# Print the Python (3.11 or newer) to make the virtual environment with: the system's before any other.
set -eu
for candidate in /usr/bin/python3.11 /usr/bin/python3 python3.11 python3.12 python3.13 python3; do
    path=$(command -v "$candidate") || continue
    if "$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "$path"
        exit 0
    fi
done
echo "error: no Python 3.11 or newer found (Debian 12: apt-get install python3)" >&2
exit 1
