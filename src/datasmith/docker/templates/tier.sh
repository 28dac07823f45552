#!/bin/sh
# Inside a build by docker or podman: one part of a tier, `prepare`, `run` or `close`. The engine lays this file beside
# the tier's Dockerfile, with tier_env.sh: the environment of the tier's scripts, and FC_SCRIPTS, their names.
set -eu
user=1000
group=2000
# What a build left in the environment is no program for root; scripts look for theirs where tier_env.sh says.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
bash=$(command -v bash)
case $1 in
prepare)
    # The directories of every sandbox, and its user.
    mkdir -p /workspace/repo /workspace/cache /opt/env /opt/fc/bin /home/agent
    if ! grep -q ":$user:$user:" /etc/passwd; then
        echo "agent:x:$user:$user::/home/agent:/bin/bash" >>/etc/passwd
        echo "agent:x:$user:" >>/etc/group
    fi
    chown "$user:$user" /workspace /workspace/repo /workspace/cache /home/agent
    chmod 1777 /home/agent
    ;;
run)
    # Each script is named before it runs: where the build ends there, that one failed.
    # shellcheck source=/dev/null
    . /build/tier_env.sh
    for script in $FC_SCRIPTS; do
        printf 'fc-script=%s\n' "$script"
        (cd /build && "$bash" "/build/$script")
    done
    ;;
close)
    # The environment belongs to root and to those who may change it. Only what the tier changed is touched, so that a
    # layer holds nothing else.
    find /opt/env ! \( -user 0 -group $group \) -exec chown -h 0:$group {} +
    find /opt/env ! -type l ! -perm -g+w -exec chmod g+w {} +
    ;;
*)
    echo "tier.sh: $1 is none of prepare, run, close" >&2
    exit 2
    ;;
esac
