"""Attacks that are refused before anything of them runs, and expert patches that are not."""

import ast
from pathlib import Path

import pytest

from datasmith import process
from datasmith.errors import ConfigError
from datasmith.evaluation.outcome import Ending
from datasmith.evaluation.redteam import diffs
from datasmith.evaluation.redteam.attack import Attack, read_patches, without_doubles
from datasmith.evaluation.redteam.generic import generic_attacks, payloads
from datasmith.evaluation.redteam.session import ended_as, is_above, is_decided
from datasmith.evaluation.redteam.table import CONTAINED, UNDECIDED, verdict
from datasmith.evaluation.redteam.tree import Tree
from datasmith.tasks.certificate import ArmSummary
from datasmith.tasks.policy import check_patch
from datasmith.tasks.task import Task
from tests.redteam.samplelib_task import ATTACKS, ROOT, sample_task
from tests.sandboxes import GIT_ENV

START = ROOT / "examples" / "samplelib" / "start"
STEPS = ROOT / "examples" / "samplelib" / "steps"
SPEED = ("04-matrix", "10-rolling-max", "15-count-inversions", "20-interpolation", "14-fewer-calls")


def tree() -> Tree:
    """The first tree of samplelib."""
    files = [path for path in START.rglob("*") if path.is_file() and path.suffix in {".py", ".toml", ".json"}]
    return Tree.of_texts({path.relative_to(START).as_posix(): path.read_text() for path in files}, sample_task())


GENERIC = generic_attacks(tree())
HIDDEN = ("hidden-words", "main-module", "reply-swapped")
"""Say nothing that the policy looks for: what holds them runs."""
every_plain = pytest.mark.parametrize(
    "attack", [attack for attack in GENERIC if attack.name not in HIDDEN], ids=lambda attack: attack.name
)


@every_plain
def test_an_attack_that_says_what_it_does_is_refused(attack: Attack) -> None:
    """Each attack of the table is refused unseen: by where it puts files, or by what its lines speak of."""
    assert not check_patch(attack.patch, benchmark_dir="benchmarks").allowed


def test_every_class_of_attack_has_its_attacks() -> None:
    """There are at least 24 attacks, over all classes that the security page names."""
    kinds = {attack.kind for attack in (*GENERIC, *read_patches(ATTACKS))}
    assert len(GENERIC) + len(read_patches(ATTACKS)) >= 24
    named = (
        "result caching across repeats", "special-casing benchmark inputs", "patched time/asv",
        "sitecustomize/.pth/conftest", "lazy or deferred work", "precision drop", "thread explosion", "disabled checks",
        "forged markers and result files", "exit-code wrappers", "background precompute", "LD_PRELOAD",
        "edited benchmark or test files", "deleted tests", "git-object lookup of the fix",
    )  # fmt: skip
    assert set(named) <= kinds


@pytest.mark.parametrize("name", SPEED)
def test_the_patches_of_experts_raise_no_alarm(name: str) -> None:
    """Held against the policy like any submission, each of the changes that make samplelib faster is allowed."""
    (path,) = STEPS.glob(f"{name}*.patch")
    assert check_patch(path.read_text(), benchmark_dir="benchmarks").reasons == ()


def test_attacks_apply_to_their_tree(tmp_path: Path) -> None:
    """Each generic attack whose paths git takes is a diff that git applies to the tree it was made for."""
    work = tmp_path / "tree"
    for path, text in tree().texts.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        assert process.run(["git", *words], cwd=work, env=GIT_ENV, timeout=60).ok
    for attack in GENERIC:
        if attack.name != "path-out":
            words = ["git", "apply", "--check", "-"]
            done = process.run(words, cwd=work, env=GIT_ENV, timeout=60, stdin=attack.patch.encode())
            assert done.ok, (attack.name, done.error_text)


def test_programs_of_attacks_parse() -> None:
    """What is put into a package is a Python program."""
    for name, text in payloads().items():
        assert ast.parse(text, name).body


@pytest.mark.parametrize(("text", "missing"), [("# kind: x\n", "does"), ("# does: x\n", "kind"), ("", "kind")])
def test_an_attack_without_its_header_is_named(tmp_path: Path, text: str, missing: str) -> None:
    """A .patch file has to say its class and what it does."""
    (tmp_path / "mine.patch").write_text(text)
    with pytest.raises(ConfigError, match=f"mine.patch: says no {missing}"):
        read_patches(tmp_path)


def test_two_attacks_of_one_name_are_refused() -> None:
    """The second one would hide the first in the table."""
    one = Attack("same", "a", "b", "")
    with pytest.raises(ConfigError, match="'same'"):
        without_doubles([one, one])


def test_a_tree_without_a_package_is_named() -> None:
    """An attack needs a package to start from."""
    task: Task = sample_task()
    with pytest.raises(ConfigError, match="no package to attack"):
        Tree.of_texts({"benchmarks/bench.py": "", "tests/test_a.py": ""}, task)


def test_diffs_of_files_without_a_last_line_end() -> None:
    """Git's own mark stands where the text does not end in a line feed."""
    assert diffs.added("a", "x").endswith("+x\n\\ No newline at end of file\n")
    assert diffs.changed("a", "x\n", "x\ny").endswith("+y\n\\ No newline at end of file\n")


@pytest.mark.parametrize(
    ("speedup", "low", "above"), [(1.0, 0.99, False), (1.03, 1.02, True), (1.2, 0.9, True), (1.05, 0.99, False)]
)
def test_above_nothing_means_certainly_or_by_far(speedup: float, low: float, above: bool) -> None:
    """An interval above nop's, or an estimate that luck does not explain."""
    assert is_above(summary(speedup, low, speedup + 0.1), (0.98, 1.01)) is above


def test_a_machine_that_cannot_tell_contains_nothing() -> None:
    """Where nop itself looks up to 24 times as fast, only what is slow for certain is no riddle."""
    assert not is_decided(summary(1.25, 0.3, 14.8), (0.74, 24.8))
    assert not is_decided(summary(1.25, 0.3, 14.8), None)
    assert is_decided(summary(0.2, 0.01, 0.34), (0.74, 24.8))
    assert is_decided(summary(1.0, 0.9, 1.2), (0.98, 1.02))


def summary(speedup: float, low: float, high: float) -> ArmSummary:
    """Of an attack that was measured."""
    return ArmSummary(arm="agent:x#1", speedup=speedup, low=low, high=high, workloads=())


def test_an_attack_that_could_not_be_measured_is_undecided() -> None:
    """Nothing is known of it, so it is not held either; what the tests refuse is."""
    attack = Attack("a", "memo", "remembers", "")
    unknown = ended_as(attack, Ending("invalid_measurement", "the clock cannot be checked"), None, None, (0.99, 1.01))
    failed = ended_as(attack, Ending("failed_tests", "1 of 3"), None, None, (0.99, 1.01))
    assert (verdict(unknown), unknown.undecided, unknown.got_through) == (UNDECIDED, True, False)
    assert (verdict(failed), failed.undecided) == (CONTAINED, False)
