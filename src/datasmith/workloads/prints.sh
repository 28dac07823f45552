#!/bin/sh
# Print a digest and a name for each entry of an environment (programs, packages), and for a tree's tests and what
# configures them; or, where only a directory is given, its digest. Only programs of the system are used: no arm can
# have changed them. Of an environment that is mounted read-only nothing is printed: it stays what it is.
# Arguments: DIRECTORY, or ENVIRONMENT TREE.
export LC_ALL=C
print_of() {
    # Of a single file the content alone: its name may hold a version.
    if [ -f "$1" ] && [ ! -L "$1" ]; then
        /usr/bin/sha256sum < "$1" | /usr/bin/cut -c1-64
        return
    fi
    {
        /usr/bin/find "$1" -type f ! -path "*/__pycache__/*" -print0 | /usr/bin/sort -z |
            /usr/bin/xargs -0 -r /usr/bin/sha256sum
        /usr/bin/find "$1" -type l -printf '%p %l\0' | /usr/bin/sort -z
    } | /usr/bin/sha256sum | /usr/bin/cut -c1-64
}

is_fixed() {
    found=
    while read -r _ place _ options _; do
        [ "$place" != "$1" ] || found=$options
    done </proc/mounts
    case ",$found," in *,ro,*) return 0 ;; *) return 1 ;; esac
}

cd -- "$1" || exit 1
if [ "$#" -eq 1 ]; then
    print_of .
    exit
fi
if ! is_fixed "$1"; then
    for entry in pyvenv.cfg bin/* bin/.[!.]* bin/..?* lib/*/site-packages/* lib/*/site-packages/.[!.]* \
        lib/*/site-packages/..?* lib/*/site-packages/*.dist-info/entry_points.txt; do
        if [ -e "$entry" ] || [ -L "$entry" ]; then
            printf '%s %s\n' "$(print_of "$entry")" "$(printf '%s' "$entry" | /usr/bin/tr '\n' '?')"
        fi
    done
fi

cd -- "$2" || exit 1
tests=$(/usr/bin/find . -type f ! -path './.git/*' \( \
    -name '*.py' \( -path '*/test/*' -o -path '*/tests/*' -o -name 'test_*' -o -name '*_test.py' -o -name conftest.py \) \
    -o -name 'pytest.ini' -o -name '.pytest.ini' -o -name 'pytest.toml' -o -name '.pytest.toml' -o -name 'tox.ini' \
    -o -name 'entry_points.txt' -o -name 'setup.cfg' -o -name 'pyproject.toml' -o -name 'sitecustomize*' -o -name 'usercustomize*' -o -name '*.pth' \
    \) -print0 |
    /usr/bin/sort -z | /usr/bin/xargs -0 -r /usr/bin/sha256sum | /usr/bin/sha256sum | /usr/bin/cut -c1-64)
printf '%s the tests or their configuration\n' "$tests"
