"""Settings: read when asked, frozen, and clear about what is wrong."""

import os
import pwd
from pathlib import Path

import pytest
from pydantic import ValidationError

from datasmith.errors import ConfigError
from datasmith.settings import Settings, known_variables, load_settings, misspelt, secrets_of, unknown_variables


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of this machine's and no tokens.env reach the tests."""
    for name in known_variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_an_empty_environment_is_enough() -> None:
    """Everything has a default: nothing must be configured for the first run."""
    settings = load_settings()
    assert (settings.data_dir, settings.engine, settings.database_url) == (Path("work"), "auto", "")


def test_a_path_that_is_set_to_nothing_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them is the working directory then; what is given beside them is read."""
    usual = load_settings()
    paths = [name for name, value in Settings.model_fields.items() if "Path" in str(value.annotation)]
    for name in (*(f"FC_{name.upper()}" for name in paths), "SSL_CERT_FILE", "DOCKER_CONFIG", "HF_TOKEN_PATH"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("FC_ENGINE", "docker")
    assert load_settings() == usual.model_copy(update={"engine": "docker"})
    assert {"data_dir", "clones_dir", "ca_bundle", "docker_config"} <= set(paths)


@pytest.mark.parametrize("given", ["", None])
def test_without_a_home_the_system_is_asked_for_one(monkeypatch: pytest.MonkeyPatch, given: str | None) -> None:
    """Also where HOME is set to nothing: no cache goes to the root of the disk. A number without a user has none."""
    monkeypatch.delenv("HOME", raising=False)
    if given is not None:
        monkeypatch.setenv("HOME", given)
    assert load_settings().cache_dir == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "fc-data"
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 5)
    with pytest.raises(ConfigError, match=r"^HOME is not set, and no user is number \d+ \(example: HOME=/tmp\)$"):
        load_settings()


def test_well_known_names_are_read_beside_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """DATABASE_URL and SSL_CERT_FILE mean what they mean elsewhere."""
    monkeypatch.setenv("DATABASE_URL", "sqlite:///a.sqlite")
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/ssl/ca.pem")
    assert (load_settings().database_url, load_settings().ca_bundle) == ("sqlite:///a.sqlite", Path("/etc/ssl/ca.pem"))


def test_the_environment_wins_over_tokens_env(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file in the working directory gives values that the environment does not."""
    (tmp_path / "tokens.env").write_text("FC_ENGINE=podman\nFC_NAMESPACE=mine\nUNRELATED=1\n", encoding="utf-8")
    monkeypatch.setenv("FC_ENGINE", "docker")
    assert (load_settings().engine, load_settings().namespace) == ("docker", "mine")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FC_MEMORY_MB", "lots"),
        ("FC_MEMORY_MB", "-5"),
        ("FC_PIDS", "0"),
        ("FC_ENGINE", "vmware"),
        ("FC_LOG_LEVEL", "LOUD"),
        ("FC_LOG_LEVEL", ""),
    ],
)
def test_a_wrong_value_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """The error names the variable and gives an example, in one line."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=f"^{name}: .*example"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"), [("FC_AGENT", "auto"), ("FC_LOG_LEVEL", "INFO"), ("FC_REGISTRY_LAYOUT", "single")]
)
def test_the_example_of_a_choice_is_one_of_its_words(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Whoever follows it has a setting that is read."""
    monkeypatch.setenv(name, "gpt")
    with pytest.raises(ConfigError, match=rf"\(example: {name}={value}\)$"):
        load_settings()


def test_certificates_are_a_file(tmp_path: Path) -> None:
    """One that is missing is named by its variable, by whoever needs it, with an example."""
    assert Settings().model_copy(update={"ca_bundle": None}).certificates is None
    bundle = tmp_path / "ca.pem"
    settings = Settings(FC_CA_BUNDLE=bundle)
    with pytest.raises(ConfigError, match=rf"^FC_CA_BUNDLE: there is no file {bundle} \(example: FC_CA_BUNDLE=/etc"):
        assert settings.certificates
    bundle.touch()
    assert settings.certificates == bundle


def test_a_level_may_be_written_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read as the level of that name."""
    monkeypatch.setenv("FC_LOG_LEVEL", "warning")
    assert load_settings().log_level == "WARNING"


def test_settings_are_frozen() -> None:
    """Nobody changes a setting for everybody else."""
    settings = load_settings()
    with pytest.raises(ValidationError):
        settings.pids = 1  # type: ignore[misc]


def test_a_token_in_a_web_address_is_a_secret() -> None:
    """With or without a password after it; the user of a database or of ssh is none."""
    urls = ("https://tok-1@h/", "https://tok-2:@h/x", "https://tok-3:x-oauth-basic@h/", "https://me:pass@h/")
    assert secrets_of({f"URL_{number}": url for number, url in enumerate(urls)}) == ("tok-1", "tok-2", "tok-3", "pass")
    assert secrets_of({"A": "postgresql://me@h/x", "B": "ssh://git@h/x", "C": "https://h/@x"}) == ()


def test_each_secret_of_a_list_is_one() -> None:
    """Commas and blanks divide GH_TOKENS; a blank in a password divides nothing."""
    found = secrets_of({"GH_TOKENS": "aa11, bb22 cc33", "A_PASSWORD": "dd ee,ff", "A_NAME": "gg"})
    assert {"aa11", "bb22", "cc33", "dd ee,ff"} <= set(found)
    assert not {"dd", "ee", "gg"} & set(found)


def test_what_is_nearly_one_of_our_names_is_misspelt() -> None:
    """In any spelling; a variable of some other program's is unknown, and no slip."""
    given = ["FC_DATADIR", "fc_engin", "FC_DATA_DIR", "fc_engine", "FC_DEBUG", "GH_TOKEN"]
    assert unknown_variables(given) == ("FC_DATADIR", "FC_DEBUG", "fc_engin")
    assert misspelt(given) == {"FC_DATADIR": "FC_DATA_DIR", "fc_engin": "FC_ENGINE"}
