"""The only reader of the environment and of tokens.env."""

import os
import pwd
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args, get_origin
from urllib.parse import unquote, urlsplit

from dotenv import dotenv_values
from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from datasmith.errors import ConfigError, one_of
from datasmith.misfits import misfit, nearest

if TYPE_CHECKING:
    import ssl

TOKENS_FILE = Path("tokens.env")
"""Read beside the environment, from the working directory; the environment wins."""

EngineName = Literal["auto", "docker", "podman", "bubblewrap"]
_MISSPELT = 0.85
"""How alike a variable of ours and one that nobody reads must be: other programs have variables with FC_, too."""
AgentName = Literal["auto", "none", "claude", "codex", "gemini", "mini_swe"]
_ALSO_CALLED = {"mini-swe-agent": "mini_swe"}
LevelName = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(str.upper)]


def agent_name(name: str) -> str:
    """The name that both commands have for a coding agent, which may be given as its program is called."""
    return _ALSO_CALLED.get(name, name)


def engine_name(said: str) -> EngineName:
    """What `--engine` says.

    Raises:
        ConfigError: there is no such engine.
    """
    names: tuple[EngineName, ...] = get_args(EngineName)
    return one_of("--engine", said, names, "docker")


def home() -> Path:
    """The user's directory; as the system knows it where HOME is not set, or to nothing.

    Raises:
        ConfigError: it knows none.
    """
    given = os.environ.get("HOME")
    if given:
        return Path(given)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise ConfigError(f"HOME is not set, and no user is number {os.getuid()} (example: HOME=/tmp)") from error


class Settings(BaseSettings):
    """Every value the environment may set, read once and frozen.

    Variables carry the prefix `FC_` unless a well-known name exists (`DATABASE_URL`, `SSL_CERT_FILE`).
    """

    model_config = SettingsConfigDict(
        env_prefix="FC_", env_file=TOKENS_FILE, env_file_encoding="utf-8", extra="ignore", frozen=True
    )

    database_url: str = Field(default="", validation_alias=AliasChoices("DATABASE_URL", "FC_DATABASE_URL"), repr=False)
    """URL of the store, such as `postgresql://user:password@host:5432/database`; empty means the SQLite file
    `<data_dir>/fc.sqlite`."""
    supabase_url: str = Field(default="", validation_alias=AliasChoices("SUPABASE_URL", "FC_SUPABASE_URL"))
    """Supabase's REST interface, which is not used: where only this is set, an error says what `DATABASE_URL` must
    be."""
    data_dir: Path = Path("work")
    """Where the store, logs, task folders and per-window artefacts go."""
    cache_dir: Path = Field(default_factory=lambda: home() / ".cache" / "fc-data")
    """Image layers of the bubblewrap engine and caches that can be rebuilt at any time."""
    datasets_file: Path = Field(default_factory=lambda: home() / ".config" / "fc-data" / "datasets.json")
    """Your own names of datasets, after those of `--registry` and before the one that is built in."""
    clones_dir: Path | None = None
    """Clones that the pipeline makes, as <owner>/<repo>.git; yours may lie there as <owner>/<repo>. Empty means
    `<cache_dir>/clones`."""
    clone_url: str = ""
    """Where a repository is cloned from, with `{owner}` and `{repo}` in it; empty means `FC_GITHUB_URL`'s server."""
    engine: EngineName = "auto"
    """Whose sandboxes: bubblewrap, docker or podman; auto: the first of them, in this order, that works here."""
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
    """Where the head of a Ray cluster listens, for `--executor ray`, as in `10.0.0.1:6379`."""
    bench_cores: str = ""
    """Cores to measure on, as in `2,3;4,5`: a slot for each task at once; its first core measures, all of them serve
    the agent. Empty: each core is a slot. All commands on a machine share them."""
    locks_dir: Path = Path("/dev/shm/formulacode-cores")
    """Where commands, of all users, note on which cores they measure, so that none disturbs another."""
    memory_mb: int = Field(default=4096, gt=0)
    """Most memory of one sandbox, in MiB."""
    pids: int = Field(default=512, gt=0)
    """Most processes and threads of one sandbox."""
    disk_mb: int = Field(default=4096, gt=0)
    """Most that one sandbox may write, in MiB."""
    gh_tokens: SecretStr = Field(default=SecretStr(""), validation_alias=AliasChoices("GH_TOKENS", "FC_GH_TOKENS"))
    """GitHub tokens, with commas between them; calls are spread over all of them."""
    github_url: str = "https://api.github.com"
    """Address of GitHub's REST API; on an Enterprise server `https://HOST/api/v3`."""
    github_timeout_s: float = Field(default=30.0, gt=0)
    """Seconds that GitHub may be silent before a call counts as lost."""
    github_cache_dir: Path | None = None
    """Directory for replies that GitHub can be asked about again for free (ETags); empty means memory only."""
    https_proxy: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("HTTPS_PROXY", "FC_HTTPS_PROXY")
    )
    """Proxy of calls to GitHub and of the services that preflight asks; may carry a user and password."""
    no_proxy: str = Field(default="", validation_alias=AliasChoices("NO_PROXY", "FC_NO_PROXY"))
    """Hosts, with commas between them, that are reached without the proxy."""
    log_level: LevelName = "INFO"
    """Least important messages that are logged: DEBUG, INFO, WARNING, ERROR or CRITICAL."""
    dspy_model: str = Field(default="", validation_alias=AliasChoices("DSPY_MODEL", "FC_DSPY_MODEL"))
    """Language model that classifies and synthesizes, as in `openai/gpt-oss-120b`; empty means the rules alone."""
    dspy_api_base: str = Field(default="", validation_alias=AliasChoices("DSPY_API_BASE", "FC_DSPY_API_BASE"))
    """Address of the model's OpenAI-compatible API, as in `http://localhost:30000/v1`."""
    dspy_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("DSPY_API_KEY", "FC_DSPY_API_KEY")
    )
    """Key of the model's API."""
    agent: Annotated[AgentName, BeforeValidator(agent_name)] = "auto"
    """Coding agent of stage 5: `auto` takes the first that is installed and has its model's key; `none` asks nobody."""
    agent_model: str = ""
    """Model of the coding agent, by the provider's name for it; empty means the agent's own default."""
    agent_attempts: int = Field(default=3, ge=1)
    """Turns of the coding agent for one pull request."""
    agent_timeout_s: float = Field(default=1800.0, gt=0)
    """Seconds that one turn of the coding agent may take."""
    agent_budget_usd: float = Field(default=2.0, gt=0)
    """Dollars that one turn may cost. But for claude, `FC_PRICES` must know the model; else what is set is refused."""
    prices: Path | None = None
    """JSON file of what models cost, as in `{"gpt-5": {"input": 1.25, "output": 10}}`: dollars for a million tokens. It
    turns tokens into dollars; without it only claude says what it cost."""
    agents_dir: Path | None = None
    """Where `scripts/install-agents.sh` has put the coding agents; empty means those on the PATH."""
    anthropic_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("ANTHROPIC_API_KEY", "FC_ANTHROPIC_API_KEY")
    )
    """Key of the model that claude asks."""
    anthropic_base_url: str = Field(
        default="https://api.anthropic.com",
        validation_alias=AliasChoices("ANTHROPIC_BASE_URL", "FC_ANTHROPIC_BASE_URL"),
    )
    """Address of that model's API."""
    openai_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("OPENAI_API_KEY", "FC_OPENAI_API_KEY")
    )
    """Key of the model that codex asks."""
    openai_base_url: str = Field(
        default="https://api.openai.com/v1", validation_alias=AliasChoices("OPENAI_BASE_URL", "FC_OPENAI_BASE_URL")
    )
    """Address of that model's API."""
    gemini_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("GEMINI_API_KEY", "FC_GEMINI_API_KEY")
    )
    """Key of the model that gemini asks."""
    gemini_base_url: str = Field(
        default="https://generativelanguage.googleapis.com",
        validation_alias=AliasChoices("GOOGLE_GEMINI_BASE_URL", "FC_GEMINI_BASE_URL"),
    )
    """Address of that model's API."""
    dockerhub_username: str = Field(
        default="", validation_alias=AliasChoices("DOCKERHUB_USERNAME", "FC_DOCKERHUB_USERNAME")
    )
    """Account of Docker Hub that images are pushed with."""
    dockerhub_token: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("DOCKERHUB_TOKEN", "FC_DOCKERHUB_TOKEN")
    )
    """Access token of that account."""
    dockerhub_url: str = "https://hub.docker.com"
    """Address of Docker Hub's API."""
    registries: str = ""
    """Registries that stage 6 pushes images to, each with its namespace, as in `docker.io/formulacode,ghcr.io/acme`:
    records name the first, the others are mirrors. Empty means that images stay here."""
    registry_layout: Literal["single", "project"] = "single"
    """`single`: one repository `NAMESPACE/all` holds all images; `project`: each project has one of its own."""
    docker_config: Path = Field(
        default_factory=lambda: home() / ".docker",
        validation_alias=AliasChoices("DOCKER_CONFIG", "FC_DOCKER_CONFIG"),
    )
    """Directory whose `config.json` holds logins of registries (`docker login` writes it); programs that it names as
    keepers of credentials are not asked."""
    hf_token: SecretStr = Field(default=SecretStr(""), validation_alias=AliasChoices("HF_TOKEN", "FC_HF_TOKEN"))
    """Hugging Face token that datasets are published with."""
    hf_token_path: Path | None = Field(default=None, validation_alias=AliasChoices("HF_TOKEN_PATH", "FC_HF_TOKEN_PATH"))
    """File that holds the token, where `HF_TOKEN` is not set."""
    hf_endpoint: str = Field(
        default="https://huggingface.co", validation_alias=AliasChoices("HF_ENDPOINT", "FC_HF_ENDPOINT")
    )
    """Address of the Hugging Face Hub."""

    @field_validator("*", mode="before")
    @classmethod
    def _no_path_is_nothing(cls, value: object, info: ValidationInfo) -> object:
        """A path that is set to nothing is not set: it would be the working directory."""
        field = cls.model_fields[info.field_name or ""]
        is_path = field.annotation in (Path, Path | None)
        return field.get_default(call_default_factory=True) if is_path and value == "" else value

    @property
    def clones_from(self) -> str:
        """Where a repository is cloned from: an Enterprise server has its repositories beside its API."""
        if self.clone_url:
            return self.clone_url
        parts = urlsplit(self.github_url)
        server = "https://github.com" if parts.netloc == "api.github.com" else f"{parts.scheme}://{parts.netloc}"
        return f"{server}/{{owner}}/{{repo}}.git"

    @property
    def hub_token(self) -> str:
        """The Hugging Face token, from its variable or its file; empty where there is none.

        Raises:
            ConfigError: the file cannot be read, or does not hold one token.
        """
        given, path = self.hf_token.get_secret_value(), self.hf_token_path
        if given or path is None:
            return given
        try:
            token = path.expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"HF_TOKEN_PATH {path} cannot be read: {error} (example: HF_TOKEN_PATH=~/hf-token)"
            ) from error
        if not token or "\n" in token:
            raise ConfigError(f"HF_TOKEN_PATH {path} does not hold one token (example of its text: hf_...)")
        return token

    @property
    def certificates(self) -> Path | None:
        """The file of certificates to trust; None: those of the machine.

        Raises:
            ConfigError: there is no such file.
        """
        if self.ca_bundle is not None and not self.ca_bundle.is_file():
            raise ConfigError(f"FC_CA_BUNDLE: there is no file {self.ca_bundle} (example: {_assigned('FC_CA_BUNDLE')})")
        return self.ca_bundle

    @property
    def github_tokens(self) -> tuple[str, ...]:
        """The GitHub tokens, each once."""
        return tuple(dict.fromkeys(self.gh_tokens.get_secret_value().replace(",", " ").split()))


def load_settings(*, data_dir: Path | None = None, engine: str = "") -> Settings:
    """Read the environment now; what a flag gives goes before it.

    Raises:
        ConfigError: a variable cannot be read as its type; the message names it.
    """
    try:
        found = Settings()
    except ValidationError as error:
        name = _variable(str(error.errors()[0]["loc"][0]))
        raise ConfigError(f"{misfit(error, named=_variable)} (example: {_assigned(name)})") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"tokens.env is not UTF-8 text: {error.reason} (example line: FC_ENGINE=docker)") from error
    chosen = engine_name(engine) if engine else found.engine
    return found.model_copy(update={"engine": chosen, "data_dir": data_dir or found.data_dir})


_EXAMPLES = {
    "FC_ENGINE": "bubblewrap",
    "FC_DATA_DIR": "work",
    "FC_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt",
}


def _assigned(variable: str) -> str:
    """A variable with a value that it may have: its default, where that is a number or one of several words."""
    field = Settings.model_fields.get(variable.removeprefix("FC_").lower())
    told = field and (isinstance(field.default, int | float) or get_origin(field.annotation) is Literal)
    usual = field.default if field and told else 4096
    return f"{variable}={_EXAMPLES.get(variable, usual)}"


def trusting(certificates: Path | str) -> "ssl.SSLContext":
    """What trusts the certificates of one file.

    Raises:
        ConfigError: it holds none.
    """
    import ssl  # what is not encrypted does without

    try:
        return ssl.create_default_context(cafile=str(certificates))
    except ssl.SSLError as error:
        what = f"{certificates} holds no certificate in PEM form"
        raise ConfigError(f"FC_CA_BUNDLE: {what} (example: {_assigned('FC_CA_BUNDLE')})") from error


def _variable(location: str) -> str:
    """The name of the variable that pydantic speaks of: a field's, or one of its aliases."""
    return location if location.isupper() else f"FC_{location.upper()}"


def set_where_unset(name: str, value: str) -> None:
    """Give a variable a value, for a library that can be told in no other way; what the user has set stays."""
    os.environ.setdefault(name, value)


_SECRET_NAME = re.compile(r"(?i)(?:^|_)(?:TOKENS?|PAT|SECRET|PASSWORD|PASSWD|PASSPHRASE|KEY|CREDENTIALS?)$")
_PUBLIC_NAME = re.compile(r"(?i)^(?:SSH_|GPG_|.*PUBLIC)")


def environment() -> dict[str, str]:
    """All variables of tokens.env and, going before them, of the environment.

    Raises:
        ConfigError: tokens.env is there and cannot be read.
    """
    try:
        filed = dotenv_values(TOKENS_FILE) if TOKENS_FILE.is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{TOKENS_FILE} cannot be read: {error} (example: chmod 600 {TOKENS_FILE})") from error
    return {name: value for name, value in filed.items() if value is not None} | dict(os.environ)


def secrets_of(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The values that must never be written or shown.

    Those of all variables that are named like a secret, ours or not, each part of a list by itself (with blanks
    between them where the name says that there are several); and every password in a URL, or the user of a web
    address that has none, who is a token. A password that stands in its URL as another word, too, is public: it would
    be masked wherever that word is (postgres:postgres).
    """
    found: list[str] = []
    for name, value in variables.items():
        if _SECRET_NAME.search(name) and not _PUBLIC_NAME.search(name):
            found += [value, *value.split(",")]
            found += value.replace(",", " ").split() if name.upper().endswith("S") else []
        if "://" in value and "@" in value:
            found += _passwords(value)
    return tuple(dict.fromkeys(word.strip() for word in found if word.strip()))


def _passwords(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
        written = parts.password
    except ValueError:
        return []
    if parts.scheme in {"http", "https"} and written in {None, "", "x-oauth-basic"}:
        written = parts.username
    elif written in {parts.username, parts.hostname, parts.path.strip("/")}:
        return []
    return [written, unquote(written)] if written else []


def known_variables() -> frozenset[str]:
    """The names of all variables that `Settings` reads."""
    names: set[str] = set()
    for name, setting in Settings.model_fields.items():
        alias = setting.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [f"FC_{name.upper()}"]
        names |= {str(choice) for choice in choices}
    return frozenset(names)


def unknown_variables(variables: Iterable[str]) -> tuple[str, ...]:
    """Those of these names that look like ours and that `Settings` does not read, in order."""
    known = known_variables()
    return tuple(sorted(name for name in variables if name.upper().startswith("FC_") and name.upper() not in known))


def misspelt(variables: Iterable[str]) -> dict[str, str]:
    """Each name that is nearly one of ours, and which one."""
    known = known_variables()
    near = {name: nearest(name.upper(), known, alike=_MISSPELT) for name in unknown_variables(variables)}
    return {name: meant for name, meant in near.items() if meant}
