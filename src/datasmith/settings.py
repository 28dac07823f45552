"""The only reader of the environment and of tokens.env."""

from pathlib import Path
from typing import Literal, get_args

from pydantic import AliasChoices, Field, TypeAdapter, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from datasmith.errors import ConfigError

EngineName = Literal["auto", "docker", "podman", "bubblewrap"]


class Settings(BaseSettings):
    """Every value the environment may set, read once and frozen.

    Variables carry the prefix `FC_` unless a well-known name exists (`DATABASE_URL`, `SSL_CERT_FILE`).
    """

    model_config = SettingsConfigDict(
        env_prefix="FC_", env_file="tokens.env", env_file_encoding="utf-8", extra="ignore", frozen=True
    )

    database_url: str = Field(default="", validation_alias=AliasChoices("DATABASE_URL", "FC_DATABASE_URL"))
    """SQLAlchemy URL of the store; empty means the SQLite file `<data_dir>/fc.sqlite`."""
    data_dir: Path = Path("work")
    """Where the store, logs, task folders and per-window artefacts go."""
    cache_dir: Path = Field(default_factory=lambda: Path.home() / ".cache" / "fc-data")
    """Image layers of the bubblewrap engine and caches that can be rebuilt at any time."""
    engine: EngineName = "auto"
    base_image: str = "debian:bookworm-slim"
    """Image that docker and podman builds start from."""
    namespace: str = "formulacode"
    """First part of every image name."""
    ca_bundle: Path | None = Field(default=None, validation_alias=AliasChoices("FC_CA_BUNDLE", "SSL_CERT_FILE"))
    """PEM file that package downloads inside builds must trust (a company proxy's, for example)."""
    index_url: str = ""
    """Python package index used in resolution and builds; empty means PyPI."""
    build_network: str = "host"
    """Network of the build steps that download packages (docker's `--network`)."""
    docker_host: str = Field(default="", validation_alias=AliasChoices("DOCKER_HOST", "FC_DOCKER_HOST"))
    """Where the Docker daemon listens; empty means the program's own default."""
    xdg_runtime_dir: str = Field(default="", validation_alias=AliasChoices("XDG_RUNTIME_DIR", "FC_XDG_RUNTIME_DIR"))
    """Where a rootless podman keeps what runs; empty means the program's own default."""
    ray_address: str = ""
    """Where the head of a Ray cluster listens, for `--executor ray` ("10.0.0.1:6379")."""
    memory_mb: int = 4096
    pids: int = 512
    disk_mb: int = 4096
    """Limits of one sandbox."""
    log_level: str = "INFO"


def load_settings(*, data_dir: Path | None = None, engine: str = "") -> Settings:
    """Read the environment now; what a flag gives goes before it.

    Raises:
        ConfigError: a variable cannot be read as its type; the message names it.
    """
    try:
        found = Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = _variable(str(first["loc"][0]))
        raise ConfigError(f"{name}: {first['msg']} (example: {name}={_EXAMPLES.get(name, '4096')})") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"tokens.env is not UTF-8 text: {error.reason} (example line: FC_ENGINE=docker)") from error
    try:
        chosen = TypeAdapter(EngineName).validate_python(engine) if engine else found.engine
    except ValidationError as error:
        raise ConfigError(
            f"--engine {engine!r}: must be one of {', '.join(get_args(EngineName))} (example: --engine docker)"
        ) from error
    return found.model_copy(update={"engine": chosen, "data_dir": data_dir or found.data_dir})


_EXAMPLES = {"FC_ENGINE": "bubblewrap", "FC_DATA_DIR": "work", "FC_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt"}


def _variable(location: str) -> str:
    """The name of the variable that pydantic speaks of: a field's, or one of its aliases."""
    return location if location.isupper() else f"FC_{location.upper()}"
