#!/usr/bin/env bash
# Base tier: what the operating system has to bring. FC_APT_PACKAGES: more Debian packages, separated by spaces.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
if [ -s /build/ca.pem ]; then
  mkdir -p /usr/local/share/ca-certificates
  cp /build/ca.pem /usr/local/share/ca-certificates/fc-build.crt
fi
read -r -a more <<<"${FC_APT_PACKAGES:-}"
wanted=(python3 python3-dev python3-venv build-essential pkg-config git ca-certificates "${more[@]}")
# Where the image that this is built on has all of it, nothing is fetched, not even what there is.
states=$(dpkg-query --show --showformat '${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || echo missing)
if grep -qvx installed <<<"$states"; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${wanted[@]}"
fi
update-ca-certificates
rm -rf /var/lib/apt/lists/*
getent passwd 1000 >/dev/null || useradd --uid 1000 --create-home --home-dir /home/agent agent
mkdir -p /workspace/repo /workspace/cache /opt/env /opt/fc/bin /home/agent
chown -R 1000:1000 /workspace /opt/env /home/agent
