"""The environment of every command in a sandbox, the same on each engine."""

from datasmith.docker.engine import ENV_PREFIX

HOME = "/home/agent"
SANDBOX_USER_NAME = "agent"
ENV_GROUP = 2000
"""Group of ENV_PREFIX in images of docker and podman: who has it may change the environment."""
TOOLS = "/opt/fc/bin"
"""Where uv lies in a sandbox."""
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Programs that no build of an env or pr tier can change."""
CLEAN_ENVIRONMENT = {
    "PATH": f"{ENV_PREFIX}/bin:{TOOLS}:{SYSTEM_PATH}",
    "HOME": HOME,
    "TMPDIR": "/tmp",
    "TZ": "UTC",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VIRTUAL_ENV": ENV_PREFIX,
}
OFFLINE = {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}
"""What keeps package tools from trying in a tier without network."""
