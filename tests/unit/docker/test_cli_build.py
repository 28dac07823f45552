"""Builds of tiers: which Dockerfile, what is run as whom, and what a failing build says."""

import re
import stat
import tarfile
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.cli_build import (
    KEY_LABEL,
    TIER_DOCKERFILES,
    build_arguments,
    dockerfile,
    environment_text,
    recipe_digest,
    template,
    tier_environment,
    write_context,
)
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.engine import ImageRef, Tier, TierKind
from datasmith.docker.environment import CLEAN_ENVIRONMENT, ENV_GROUP, HOME, SANDBOX_USER_NAME, TOOLS
from datasmith.docker.outages import build_failure, failed_script
from datasmith.errors import BuildFailed, ConfigError

PR = Tier("pr", "n/n:1", ("one.sh", "two.sh"), {"one.sh": b"1", "two.sh": b"2"}, {"SAID": "it's $HOME"})
ENV = Tier("env", "n/n:1", ("one.sh",), {"one.sh": b"1"}, network="build")
OWN = "arg X=1\nFROM a \\\n  AS b\n# FROM nothing\nRUN true\n  from ${PARENT}\nARG PARENT=y\n"


def laid_out(tier: Tier, directory: Path, ca_bundle: Path | None = None) -> Path:
    """The context of a tier in a new directory."""
    directory.mkdir()
    uv = directory.parent / "uv"
    uv.write_bytes(b"uv")
    write_context(tier, directory, uv=uv, ca_bundle=ca_bundle, environment="")
    return directory


def environment_of(tier: Tier, *, cache: bool = False) -> dict[str, str]:
    """The environment of a tier's scripts behind a mirror and a proxy."""
    return tier_environment(tier, index_url="https://index.example/simple", ca_bundle=True, cache=cache)


def test_scripts_of_the_repository_run_as_the_sandboxes_user() -> None:
    """In a pr tier the user changes before the scripts; in the others it does not."""
    text = dockerfile(PR, cache=False)
    assert text.index(f"USER 1000:{ENV_GROUP}\n") < text.index("tier.sh run") < text.index("USER 0:0\nRUN")
    for kind in ("base", "env"):
        other = template(TIER_DOCKERFILES[kind])
        assert other.index("USER 0:0") < other.index("tier.sh run") < other.index("USER 1000:1000")


def test_all_scripts_are_one_step() -> None:
    """What a later script deletes must be in no layer: each Dockerfile runs the scripts of its tier once."""
    for name in TIER_DOCKERFILES.values():
        assert template(name).count("tier.sh run") == 1


def test_dockerfiles_say_what_the_engines_say() -> None:
    """The environment, user and places that Dockerfile.base and tier.sh write down are those of every sandbox."""
    text = re.sub(r"\\\n\s+", "", template("Dockerfile.base"))
    said = re.search(r"^ENV (.*)$", text, re.MULTILINE)
    assert said and dict(word.split("=", 1) for word in said[1].split()) == CLEAN_ENVIRONMENT
    script = template("tier.sh")
    assert f"group={ENV_GROUP}\n" in script and f"{SANDBOX_USER_NAME}:x:$user" in script
    assert HOME in script and TOOLS in script


def test_each_stage_starts_without_its_parents_key() -> None:
    """After every FROM, however it is written, the key is taken off; nothing else of the text changes."""
    tier = Tier("pr", "n/n:1", (), {}, dockerfile=OWN)
    text = dockerfile(tier, cache=True)
    label = f"LABEL {KEY_LABEL}=\n"
    assert text.replace(label, "") == OWN
    assert f"  AS b\n{label}" in text and f"from ${{PARENT}}\n{label}" in text and text.count(label) == 2


def test_downloads_are_kept_only_where_the_builder_can_and_the_tier_downloads() -> None:
    """The cache is mounted in base and env tiers of our own Dockerfiles with BuildKit, and nowhere else."""
    own = Tier("env", "n/n:1", (), {}, network="build", dockerfile="FROM x\nRUN sh /build/tier.sh run\n")
    assert "RUN --mount=type=cache,id=fc-uv,target=/mnt /bin/sh /build/tier.sh run" in dockerfile(ENV, cache=True)
    assert environment_of(ENV, cache=True)["UV_CACHE_DIR"] == "/mnt"
    for tier, cache in ((ENV, False), (PR, True), (own, True)):
        assert "--mount" not in dockerfile(tier, cache=cache)
        assert "UV_CACHE_DIR" not in environment_of(tier, cache=cache)


def test_a_dockerfile_gets_the_arguments_that_it_declares() -> None:
    """Undeclared values are not given; declared ones are, whatever the case of ARG."""
    assert build_arguments(OWN, {"PARENT": "p", "X": "a b", "SECRET": "s"}) == [
        "--build-arg", "PARENT=p", "--build-arg", "X=a b",
    ]  # fmt: skip


def test_the_recipe_is_part_of_what_an_image_is(tmp_path: Path) -> None:
    """Another Dockerfile, or (in the base tier) another certificate bundle, is another image."""
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(b"one")
    base, own = Tier("base", "n", (), {}), Tier("base", "n", (), {}, dockerfile="FROM x\n")
    found = {recipe_digest(base, None), recipe_digest(base, bundle), recipe_digest(own, None), recipe_digest(PR, None)}
    bundle.write_bytes(b"two")
    assert len(found | {recipe_digest(base, bundle)}) == 5
    assert recipe_digest(PR, None) == recipe_digest(PR, bundle)


def test_only_tiers_with_network_are_told_of_the_index() -> None:
    """Without network, package tools are told not to try."""
    offline, online = environment_of(PR), environment_of(ENV)
    assert offline["UV_OFFLINE"] == "1" and "UV_DEFAULT_INDEX" not in offline and "SSL_CERT_FILE" not in offline
    assert online["UV_DEFAULT_INDEX"] == "https://index.example/simple" and "UV_OFFLINE" not in online
    assert online["SSL_CERT_FILE"] == "/etc/ssl/certs/ca-certificates.crt"


def test_arguments_are_one_word_each(tmp_path: Path) -> None:
    """A value reaches the scripts as it was given, whatever is in it; the names of the scripts do not."""
    (tmp_path / "env.sh").write_text(environment_text(PR, environment_of(PR)))
    words = ["sh", "-c", '. "$0" && printf "%s|%s|" "$SAID" "$FC_SCRIPTS" && env', str(tmp_path / "env.sh")]
    said = process.run(words, timeout=20).text
    assert said.startswith("it's $HOME|one.sh two.sh|") and "FC_SCRIPTS=" not in said


def test_the_same_tier_is_the_same_context(tmp_path: Path) -> None:
    """Contents, modes and times of the files do not depend on when they were written. Scripts and uv can be run."""
    seen = set()
    for name in ("a", "b"):
        base = Tier("base", "n/n:1", ("one.sh",), {"one.sh": b"1"})
        files = sorted(laid_out(base, tmp_path / name).iterdir())
        seen.add(tuple((file.name, file.read_bytes(), file.stat().st_mode, file.stat().st_mtime) for file in files))
    assert len(seen) == 1
    modes = {name: stat.S_IMODE(mode) for name, _, mode, _ in seen.pop()}
    assert modes == {"ca.pem": 0o644, "one.sh": 0o755, "tier.sh": 0o755, "tier_env.sh": 0o755, "uv": 0o755}


def test_the_tree_belongs_to_the_sandboxes_user(tmp_path: Path) -> None:
    """repo.tar is written anew: owners, modes and odd members of the given one do not survive."""
    with tarfile.open(tmp_path / "given.tar.gz", "w:gz") as archive:
        for name, kind in (("file", tarfile.REGTYPE), ("disk", tarfile.BLKTYPE), ("link", tarfile.SYMTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.mode, member.uid, member.linkname = kind, 0o4777, 0, "file"
            archive.addfile(member)
    laid_out(Tier("pr", "n/n:1", (), {"repo.tar": tmp_path / "given.tar.gz"}), tmp_path / "context")
    with tarfile.open(tmp_path / "context/repo.tar") as archive:
        members = {member.name: member for member in archive}
    assert set(members) == {".", "file", "link"}
    assert {(member.uid, member.gid) for member in members.values()} == {(1000, 1000)}
    assert members["file"].mode == 0o755


def test_a_tier_without_a_tree_has_an_empty_one(tmp_path: Path) -> None:
    """Dockerfile.pr adds repo.tar in any case: without one it holds the tree's own directory and nothing in it."""
    with tarfile.open(laid_out(PR, tmp_path / "context") / "repo.tar") as archive:
        assert [(member.name, member.isdir(), member.uid) for member in archive] == [(".", True, 1000)]


@pytest.mark.parametrize("name", ["a /x\nRUN y", "tier.sh", "tier_env.sh", "Dockerfile", "uv", "data.bin"])
def test_a_file_that_a_dockerfile_would_misread_is_refused(name: str, tmp_path: Path) -> None:
    """Neither an instruction, nor one of our own files, nor what would silently not be copied can be a tier's file."""
    with pytest.raises(ConfigError, match="example"):
        laid_out(Tier("pr", "n/n:1", (), {name: b""}), tmp_path / "context")


def test_a_dockerfile_of_its_own_copies_what_it_likes(tmp_path: Path) -> None:
    """Only our own Dockerfiles copy by the ends of names."""
    own = Tier("pr", "n/n:1", (), {"data.bin": b"x"}, dockerfile="FROM x\nCOPY data.bin /\n")
    assert (laid_out(own, tmp_path / "context") / "data.bin").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("output", "script"),
    [
        ("Step 3/4 : RUN printf 'fc-script=%s\\n' one.sh\n ---> Running in 1\nfc-script=one.sh\nboom\n", "one.sh"),
        ("fc-script=one.sh\n\x1b[91mboom\n\x1b[0mfc-script=two.sh\n", "two.sh"),
        ("#7 0.311 fc-script=one.sh\n#7 0.4 fine\n#7 0.500 fc-script=two.sh\n#7 ERROR: 1", "two.sh"),
        ("Step 1/4 : FROM parent\npull access denied", None),
        ("Step 3/4 : RUN printf 'fc-script=%s\\n' one.sh && bash /build/one.sh", None),
    ],
)
def test_the_script_that_failed_is_read_from_the_output(output: str, script: str | None) -> None:
    """Both builders' output names the script that ran last; what is only quoted does not count."""
    assert failed_script(output) == script
    failure = build_failure(PR, output, 1, timed_out=False)
    assert (failure.stage if isinstance(failure, BuildFailed) else None) == script


def test_a_dockerfile_of_its_own_can_be_what_failed() -> None:
    """Where no script was reached the failed build is the Dockerfile's, with what it printed last."""
    own = Tier("pr", "n/n:1", (), {}, dockerfile="FROM x\nRUN false\n")
    late = build_failure(PR, "Sending build context", 124, timed_out=True)
    assert isinstance(late, BuildFailed) and late.timed_out and late.stage == f"Dockerfile of {PR.name}"
    assert build_failure(PR, "Sending build context", 1, timed_out=False) is None
    failure = build_failure(own, "Step 2/2 : RUN false\nboom", 1, timed_out=False)
    assert isinstance(failure, BuildFailed) and failure.stage == "Dockerfile of n/n:1" and "boom" in failure.log_tail


@pytest.mark.parametrize("kind", ["base", "env", "pr"])
def test_a_mistyped_part_of_a_tier_is_an_error(kind: TierKind) -> None:
    """The parts that our Dockerfiles ask tier.sh for are those it has; another word stops the build."""
    script = template("tier.sh")
    asked = set(re.findall(r"/build/tier\.sh (\w+)", template(TIER_DOCKERFILES[kind])))
    assert asked <= set(re.findall(r"^(\w+)\)$", script, re.MULTILINE)) and "run" in asked
    done = process.run(["sh", "-c", script, "tier.sh", "typo"], timeout=20)
    assert done.rc == 2 and "none of prepare, run, close" in done.error_text


@pytest.mark.parametrize("user", ["a-token@", "me:secret@"])
def test_an_index_with_a_secret_does_not_get_into_an_image(tmp_path: Path, user: str) -> None:
    """A token without a password is one as well; the message does not show it."""
    (tmp_path / "docker").write_text("#!/bin/sh\n")
    (tmp_path / "docker").chmod(0o755)
    engine = CliEngine(str(tmp_path / "docker"), base_image="x", index_url=f"https://{user}h/simple", uv=tmp_path)
    with pytest.raises(ConfigError, match=r"FC_INDEX_URL holds .*example: FC_INDEX_URL=") as caught:
        engine.build(ImageRef("docker", "p", "sha256:0"), ENV, log=tmp_path / "log")
    assert user.strip("@") not in str(caught.value)
