"""Where images go, by which names, and whose credentials are used."""

import json
from base64 import b64encode
from pathlib import Path

import pytest
from pydantic import SecretStr

from datasmith.errors import ConfigError
from datasmith.publish.places import ImageName, Place, login_of, read_places
from datasmith.settings import Settings

HUB = Place("docker.io", "formulacode", "https://registry-1.docker.io")


def test_places_are_read_in_order() -> None:
    """Docker Hub is known by name, loopback speaks http, others https; the same place counts once."""
    found = read_places("docker.io/formulacode, ghcr.io/acme/bench localhost:5000/a docker.io/formulacode")
    assert found == (
        HUB,
        Place("ghcr.io", "acme/bench", "https://ghcr.io"),
        Place("localhost:5000", "a", "http://localhost:5000"),
    )
    assert read_places("") == ()


@pytest.mark.parametrize(
    "text",
    ["formulacode", "docker.io", "formulacode/all", "ghcr.io/Acme", "ghcr.io/../x", "http://ghcr.io/x", "a.b/c?d"],
)
def test_what_is_no_place_is_named(text: str) -> None:
    """One line with the setting and an example."""
    with pytest.raises(ConfigError, match=r"FC_REGISTRIES: .*example: FC_REGISTRIES=docker.io/formulacode"):
        read_places(text)


def test_credentials_in_a_place_are_not_shown() -> None:
    """They do not belong there, and a line of an error is read by others."""
    with pytest.raises(ConfigError, match=r"'\*\*\*@x.y/a' is no registry") as told:
        read_places("user:hunter2@secret@x.y/a")
    assert "hunter2" not in str(told.value) and "secret" not in str(told.value)


def test_names_follow_the_mode() -> None:
    """One repository for all with the archive tag, or one for each project with the number; always a legal name."""
    name = ImageName("pandas-dev", "Pandas_.x", 50643, "a" * 40)
    assert HUB.repository("pandas-dev", "pandas", single=True) == "formulacode/all"
    assert HUB.repository("pandas-dev", "pandas", single=False) == "formulacode/pandas-dev-pandas"
    assert (name.tag(single=True), name.tag(single=False)) == (f"pandas-dev-pandas_.x-{'a' * 40}--final", "50643")
    assert len(ImageName("o" * 200, "r", 1, "a" * 40).tag(single=True)) == 128


def filed(place: Path, document: object) -> Settings:
    (place / "config.json").write_text(document if isinstance(document, str) else json.dumps(document))
    return Settings.model_validate({"DOCKER_CONFIG": place, "DOCKERHUB_USERNAME": "", "DOCKERHUB_TOKEN": ""})


def auth(user: str, password: str) -> dict[str, str]:
    return {"auth": b64encode(f"{user}:{password}".encode()).decode()}


def test_credentials_come_from_the_settings_or_dockers_file(tmp_path: Path) -> None:
    """The settings' are Docker Hub's alone; a registry gets its own entry of the file, or none."""
    document = {"auths": {"https://index.docker.io/v1/": auth("h", "one"), "ghcr.io": auth("g", "two:three")}}
    settings = filed(tmp_path, document)
    assert login_of("docker.io", settings).password == "one"
    assert (login_of("ghcr.io", settings).user, login_of("ghcr.io", settings).password) == ("g", "two:three")
    assert login_of("quay.io", settings).user == ""
    given = settings.model_copy(update={"dockerhub_username": "u", "dockerhub_token": SecretStr("four")})
    assert (login_of("docker.io", given).password, login_of("ghcr.io", given).user) == ("four", "g")
    nothing = settings.model_copy(update={"docker_config": tmp_path / "no"})
    assert login_of("ghcr.io", nothing).user == ""


@pytest.mark.parametrize("text", ["{", "[]", '{"auths": {"ghcr.io": {"auth": "***"}}}', '{"auths": {"ghcr.io": 3}}'])
def test_a_file_that_cannot_be_read_is_named_without_its_text(tmp_path: Path, text: str) -> None:
    """One line with the setting; what the file holds is not repeated."""
    with pytest.raises(ConfigError, match=r"DOCKER_CONFIG: .*example: DOCKER_CONFIG=") as error:
        login_of("ghcr.io", filed(tmp_path, text))
    assert text not in str(error.value)
