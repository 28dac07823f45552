"""What to change in a build that failed, without asking anybody: by the signs in its log."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from datasmith.agents.attempts import EDITABLE, Attempt
from datasmith.docker.context import LOCK, DockerContext
from datasmith.docker.debian import is_package_name, package_names
from datasmith.docker.images import APT_ARG, BUILD_ARGS, PYTHON_ARG, ImagePlan, read_build_args
from datasmith.errors import ConfigError, Unsatisfiable
from datasmith.resolution.diagnosis import Diagnosis, Kind, diagnose

Relock = Callable[[str, tuple[str, ...], str], str]
"""(lock, requirements, Python version) -> the lock that meets them; Unsatisfiable where there is none."""

VERSION_ARGS = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION")
UNKNOWN_VERSION = "0.0.1"
"""What a project is told to be where only its tags, which a sealed tree does not have, would say."""
_TOLD: Mapping[Kind, tuple[Mapping[str, str], str]] = {
    "version from git": (dict.fromkeys(VERSION_ARGS, UNKNOWN_VERSION), f"version {UNKNOWN_VERSION}"),
    "no editable builds": ({"FC_INSTALL": "develop"}, "setup.py develop"),
}
"""Failures that an argument of the build mends, and the recipe's name."""
OWN_GROUND = "a base or environment that is not ours: our own"
MOST_PACKAGES = 40
_APT_LINE = re.compile(r"^#\s*fc-apt:\s*(.*)$", re.MULTILINE)


class Remedy(NamedTuple):
    """A plan to try next, and what is new in it: one line a recipe, "missing header: apt libgeos-dev"."""

    plan: ImagePlan
    recipe: str


def remedy(failed: Attempt, relock: Relock) -> Remedy | None:
    """What the table has for this failure; None where it has nothing, or nothing that is not in the plan already."""
    found = diagnose(failed.log, failed.stage)
    plan = failed.plan
    more = sorted({*found.apt_packages} - {*plan.apt_packages})
    if more:
        wider = replace(plan, apt_packages=(*plan.apt_packages, *more))
        return Remedy(wider, f"{found.kind}: apt {' '.join(more)}")
    return _with_arguments(plan, found) or _with_lock(plan, found, relock)


def on_our_own(plan: ImagePlan) -> ImagePlan:
    """The plan with our own Dockerfiles, base and environment; the lock and the scripts of EDITABLE stay."""
    texts = plan.context.texts
    ours = DockerContext.default(lock=texts.get(LOCK, "")).texts
    exchanged = {name: text for name, text in ours.items() if name in texts and name not in EDITABLE}
    return replace(plan, context=DockerContext({**texts, **exchanged}))


def _with_arguments(plan: ImagePlan, found: Diagnosis) -> Remedy | None:
    told, says = _TOLD.get(found.kind, ({}, ""))
    if plan.build_args.keys() & told.keys() or not told:
        return None
    return Remedy(replace(plan, build_args={**plan.build_args, **told}), f"{found.kind}: {says}")


def _with_lock(plan: ImagePlan, found: Diagnosis, relock: Relock) -> Remedy | None:
    lock = plan.context.texts.get(LOCK, "")
    try:
        changed = relock(lock, found.requirements, plan.python_version) if found.requirements else lock
    except Unsatisfiable:
        return None
    if changed == lock:
        return None
    context = DockerContext({**plan.context.texts, LOCK: changed})
    return Remedy(replace(plan, context=context), f"{found.kind}: lock {' '.join(found.requirements)}")


def with_scripts(plan: ImagePlan, scripts: Mapping[str, str], apt_packages: tuple[str, ...] = ()) -> ImagePlan:
    """The plan with other scripts of EDITABLE, and with the packages that their `# fc-apt:` lines ask for.

    The packages come from Debian, before anything of the scripts runs: a script itself never has a network.
    """
    texts = {name: text for name, text in scripts.items() if name in EDITABLE}
    asked = [name for text in texts.values() for line in _APT_LINE.findall(text) for name in line.split()]
    more = [name for name in (*apt_packages, *asked) if is_package_name(name)][:MOST_PACKAGES]
    packages = tuple(dict.fromkeys((*plan.apt_packages, *more)))
    return replace(plan, context=DockerContext({**plan.context.texts, **texts}), apt_packages=packages)


def arguments_of(context: DockerContext) -> dict[str, str]:
    """What its build_args.sh says; nothing where that cannot be read."""
    try:
        return read_build_args(context.texts.get(BUILD_ARGS, ""))
    except ConfigError:
        return {}


def plan_of(plan: ImagePlan, context: DockerContext) -> ImagePlan | None:
    """The plan that a stored context stands for; None where it is for another Python, or asks for no packages."""
    args = arguments_of(context)
    if args.pop(PYTHON_ARG, plan.python_version) != plan.python_version:
        return None
    try:
        packages = package_names(args.pop(APT_ARG, ""))
    except ConfigError:
        return None
    texts = {name: text for name, text in context.texts.items() if name != BUILD_ARGS}
    whole = DockerContext({LOCK: plan.context.texts.get(LOCK, ""), **plan.context.texts, **texts})
    return replace(plan, context=whole, apt_packages=packages, build_args={**plan.build_args, **args})
