#!/bin/sh
# Install the Debian packages that are missing. Usage: scripts/install-system.sh [demo|test]
#
# demo: what the commands and the compiled sample need. test: also what only the tests need.
set -eu
wanted=${1:-demo}
missing=""

need() { # need PACKAGE COMMAND...: the package is missing where the command fails
    package=$1
    shift
    if ! "$@" >/dev/null 2>&1; then
        missing="$missing $package"
    fi
}

has_python_headers() {
    test -e "$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h"
}

need make command -v make
need git command -v git
need bubblewrap command -v bwrap
need gcc test -x /usr/bin/gcc
need libc6-dev test -e /usr/include/stdio.h
need python3 test -x /usr/bin/python3
need python3-venv /usr/bin/python3 -c 'import ensurepip'
need python3-dev has_python_headers
if [ "$wanted" = test ]; then
    need mmdebstrap command -v mmdebstrap
    need docker.io command -v dockerd
    need podman command -v podman
    need systemd command -v systemd-analyze
    need npm command -v npm
    need locales test -e /usr/share/i18n/locales/tr_TR
    need docker-registry command -v docker-registry
    need skopeo command -v skopeo
    need postgresql sh -c 'ls /usr/lib/postgresql/*/bin/initdb'
fi

if [ -z "$missing" ]; then
    echo "system packages: nothing is missing"
    exit 0
fi
echo "system packages: missing:$missing"
if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1; then
    as_root="sudo"
else
    echo "not root, and there is no sudo; let an administrator run:" >&2
    echo "    apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
# shellcheck disable=SC2086  # a list of names
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install --yes --no-install-recommends $missing
