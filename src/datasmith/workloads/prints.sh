#!/bin/sh
# Print a digest and a name for each entry of an environment (programs, packages), and for a tree's tests and what
# configures them; or, where only a directory is given, its digest. Only programs of the system are used: no arm can
# have changed them.
# Arguments: DIRECTORY, or ENVIRONMENT TREE.
export LC_ALL=C
print_of() {
    {
        /usr/bin/find "$1" -type f ! -path "*/__pycache__/*" -print0 | /usr/bin/sort -z |
            /usr/bin/xargs -0 -r /usr/bin/sha256sum
        /usr/bin/find "$1" -type l -printf '%p %l\0' | /usr/bin/sort -z
    } | /usr/bin/sha256sum | /usr/bin/cut -c1-64
}

cd -- "$1" || exit 1
if [ "$#" -eq 1 ]; then
    print_of .
    exit
fi
for entry in pyvenv.cfg bin/* lib/*/site-packages/* lib/*/site-packages/.[!.]*; do
    printf '%s %s\n' "$(print_of "$entry")" "$entry"
done

cd -- "$2" || exit 1
tests=$(/usr/bin/find . -type f ! -path './.git/*' \( \
    -name '*.py' \( -path '*/test/*' -o -path '*/tests/*' -o -name 'test_*' -o -name '*_test.py' -o -name conftest.py \) \
    -o -name 'pytest.ini' -o -name '.pytest.ini' -o -name 'pytest.toml' -o -name '.pytest.toml' -o -name 'tox.ini' \
    -o -name 'setup.cfg' -o -name 'pyproject.toml' -o -name 'sitecustomize*' -o -name 'usercustomize*' -o -name '*.pth' \
    \) ! -path '*/__pycache__/*' -print0 |
    /usr/bin/sort -z | /usr/bin/xargs -0 -r /usr/bin/sha256sum | /usr/bin/sha256sum | /usr/bin/cut -c1-64)
printf '%s the tests or their configuration\n' "$tests"
