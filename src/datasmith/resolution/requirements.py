"""Read requirement lines as people write them: PEP 508, pip options, conda matches. Nothing is fetched or run."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from datasmith.resolution.base import Dropped

Origin = Literal["runtime", "build", "runner", "tests", "benchmarks", "asv", "imports"]
"""Why a requirement is wanted, the dearest first: "runner" is pytest, "imports" is what files import without saying."""

MAX_CHARACTERS = 1_000_000
MOST_LINES = 50_000
"""Of all files together that one list includes."""
LONGEST_LINE = 2000
"""Characters of one requirement, without its hashes."""
MOST_BRACKETS = 50
"""Round ones of one requirement: each that is open costs the reader calls within calls."""

_FILE_NAME = re.compile(r"(?:[\w.]+[-_])?(?:requirements|constraints)(?:[-_.][\w.-]+)?\.txt", re.IGNORECASE)
_WORDS = r"(?:req(?:uire(?:ment)?)?s?|dep(?:endenc(?:y|ie))?s?)"
_NAMED_BY_METADATA = re.compile(
    rf"(?:.*/)?(?:(?:[\w.-]*[-_.])?{_WORDS}(?:[-_.][\w.-]+)?|{_WORDS}/[\w.-]+)\.(?:txt|in|pip)", re.IGNORECASE
)
_MARK = "\ufeff"
"""The byte order mark that some editors begin a file with."""
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_LINE_OPTION = re.compile(r"\s--(?:hash|global-option|config-settings?)[= ].*$")
_INCLUDE = re.compile(r"(?:-r|--requirement)[= ]?\s*(\S+)")
_CONDA = re.compile(r"(?:[\w.-]+(?:/[\w-]+)?::)?([A-Za-z0-9][\w.-]*)\s*=\s*([0-9][\w.]*)(\.\*|\*)?(?:=\S+)?")
_CONDA_COLUMNS = re.compile(r"(?:[\w.-]+(?:/[\w-]+)?::)?([A-Za-z0-9][\w.-]*)\s+([0-9][\w.]*?)(\.\*|\*)?(?:\s+\S+)?")
"""Name, version and build as conda prints them."""
_CONDA_BUILD = re.compile(r"([\w.-]+\s*(?:[=<>!~]=)\s*[0-9][\w.*]*)=[\w.*]+")
_CONDA_ANY = re.compile(r"([A-Za-z0-9][\w.-]*)=\*(?:=\S+)?")
_CONDA_VALUE = r"""(?:'[^']*'|"[^"]*"|[^'",\]]*)"""
_CONDA_BRACKETS = re.compile(rf"([A-Za-z0-9][\w.:/-]*)\s*\[\s*(\w+\s*={_CONDA_VALUE}(?:,\s*\w+\s*={_CONDA_VALUE})*)]")
_CONDA_VERSION = re.compile(rf"(?:^|,\s*)version\s*=\s*({_CONDA_VALUE})")
_QUOTES = "'\" "
_CONDA_CHOICE = re.compile(r"(?:[\w.-]+(?:/[\w-]+)?::)?([A-Za-z0-9][\w.-]*)(?![\w.-])\s*[<>=!~0-9][^;@]*\|[^;@]*")
_NAME_BEFORE_BOUNDS = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(\[[\w,\s.-]*])?\s*(?:[<>=!~^(;|*@]|$)")
_URL = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*(\[[^]]*])?\s*@\s*\S+?(\s*;.*)?$")
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9][\w.-]*(?:\[[\w,.-]*])?)(?:&|$)")
_WHEEL = re.compile(r"(?:^|[\s/])([A-Za-z0-9][\w.]*)(?:-[\w.!+%]+){4,5}\.whl$")
"""How an address or a path tells a name."""
_INSTEAD = "releases of the same name are used instead"
_ARCHIVES = (".whl", ".zip", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar", ".egg")
"""What ends so is a path to uv, where PEP 508 has a name."""
_OPTION_REASONS = {
    "-e": "an editable path is not a release",
    "--editable": "an editable path is not a release",
    "-r": "the included file is not in the tree, or not read",
    "--requirement": "the included file is not in the tree, or not read",
    "-c": "the commit's date is the constraint",
    "--constraint": "the commit's date is the constraint",
}
_CONDA_NAMES = {
    "dask-core": "dask",
    "matplotlib-base": "matplotlib",
    "msgpack-python": "msgpack",
    "py-opencv": "opencv-python-headless",
    "pytables": "tables",
    "python-graphviz": "graphviz",
    "pytorch": "torch",
}


@dataclass(frozen=True, slots=True)
class Need:
    """One requirement (PEP 508) with where it comes from; `fallback` is a weaker form that it has of its own."""

    requirement: str
    origin: Origin
    fallback: str = ""

    @property
    def name(self) -> str:
        """The distribution's canonical name."""
        return requirement_name(self.requirement)

    @property
    def optional(self) -> bool:
        """True where the project can be built and imported without it."""
        return self.origin not in ("runtime", "build", "runner")

    @property
    def weaker(self) -> str:
        """What to ask for instead before giving up; empty where there is nothing.

        One environment serves the build and the run: what only the build bounds gives way to its name.
        """
        asked = Requirement(self.requirement)
        if self.fallback or self.origin != "build" or not asked.specifier:
            return self.fallback
        asked.specifier = SpecifierSet()
        return str(asked)


@dataclass(frozen=True, slots=True)
class Reading:
    """What lines gave: PEP 508 requirements in their order, and what was left out with its reason."""

    requirements: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    def __add__(self, other: "Reading") -> "Reading":
        return Reading(self.requirements + other.requirements, self.dropped + other.dropped)


def is_requirements_file(path: str) -> bool:
    """True for requirements.txt, requirements-dev.txt, constraints.ci.txt, requirements/x.txt; not for reqs.txt."""
    if posixpath.basename(posixpath.dirname(path)).lower() == "requirements" and path.endswith(".txt"):
        return True
    return _FILE_NAME.fullmatch(posixpath.basename(path)) is not None


def may_be_named(path: str) -> bool:
    """True for what metadata calls the files of its dependencies, too: reqs.txt, requirements/base.in, deps.txt."""
    return _NAMED_BY_METADATA.fullmatch(path) is not None


def parsed(line: str) -> Requirement:
    """A line as PEP 508 has it, whatever blanks are in it; it may still say where to download from.

    Raises:
        InvalidRequirement: it is none, or is beyond LONGEST_LINE or MOST_BRACKETS, or cannot be printed.
    """
    text = " ".join(line.split())
    if len(text) > LONGEST_LINE or text.count("(") > MOST_BRACKETS or not text.isprintable():
        limits = f"{LONGEST_LINE} characters or {MOST_BRACKETS} brackets"
        raise InvalidRequirement(f"longer than {limits}, or with characters that cannot be printed")
    return Requirement(text)


def conditional(key: str) -> tuple[str, str]:
    """The extra and the condition (in brackets) of a key of setuptools', "test:os_name=='nt'"; either may be empty."""
    extra, _, marker = (part.strip() for part in key.partition(":"))
    return extra, f"({marker})" if marker else ""


def under(line: str, condition: str) -> str:
    """A requirement under one more condition; one that cannot be read stays as it is, to be dropped by the reader."""
    if not condition:
        return line
    try:
        requirement = parsed(line)
    except InvalidRequirement:
        return line
    marker = f"({requirement.marker}) and {condition}" if requirement.marker else condition
    requirement.marker = None
    return f"{requirement}; {marker}"


def asks_for_releases(line: str) -> bool:
    """True for one printable line of PEP 508 with a name and bounds: no address, no path, no option."""
    try:
        asked = parsed(line)
    except InvalidRequirement:
        return False
    return line.isprintable() and not _is_elsewhere(asked)


def _is_elsewhere(asked: Requirement) -> bool:
    """True for what is not looked up by its name on an index."""
    return asked.url is not None or asked.name.lower().endswith(_ARCHIVES)


def read_line(line: str, *, keep_name: bool = False) -> Reading:
    """Read one line; an empty line and a comment give nothing.

    Options are never taken for names. A URL or path cannot be capped at a date, so its name alone stays where it tells
    one; with `keep_name` also that of a requirement whose bounds cannot be read.
    """
    # One blank where there are many: two patterns that may both take them try every way to share them.
    bare = _LINE_OPTION.sub("", _COMMENT.sub("", line.lstrip(_MARK)))
    text = " ".join(encodable(bare).split()).removeprefix("pip+").strip()
    if not text:
        return Reading()
    if len(text) > LONGEST_LINE:
        return _drop(text, f"longer than {LONGEST_LINE} characters")
    if text.startswith("-"):
        return _read_option(text)
    if "://" in text or text.startswith((".", "/", "git+")):
        return _read_url(text)
    text = _plain(text)
    if choice := _CONDA_CHOICE.fullmatch(text):
        reason = "conda's alternatives have no form on PyPI; its name alone stays"
        return read_line(from_conda(choice[1])) + _drop(text, reason)
    conda = _CONDA.fullmatch(text) or _CONDA_COLUMNS.fullmatch(text)
    if conda or "::" in text:
        return _read_conda(text, conda)
    return _read_pep_508(text, keep_name)


def read_lines(
    lines: Iterable[str], texts: Mapping[str, str] | None = None, folder: str = "", *, keep_names: bool = False
) -> Reading:
    """Read several lines; one that cannot be read never costs its siblings, nor with `keep_names` its own name.

    A "-r FILE" (relative to `folder`) is replaced by the lines of that file where `texts` holds it, each file once, and
    none that goes beyond MOST_LINES.
    """
    readings = [read_line(line, keep_name=keep_names) for line in _written_out(lines, texts or {}, folder)]
    requirements = (requirement for reading in readings for requirement in reading.requirements)
    return Reading(tuple(requirements), tuple(item for reading in readings for item in reading.dropped))


def _written_out(lines: Iterable[str], texts: Mapping[str, str], folder: str) -> Iterator[str]:
    """The lines with those of included files in place of each include; one that is not followed stays."""
    seen, left = set[str](), MOST_LINES
    waiting = [(line, folder) for line in reversed(tuple(lines))]
    while waiting:
        line, place = waiting.pop()
        include = _INCLUDE.match(line.strip())
        target = posixpath.normpath(posixpath.join(place, include[1])) if include else ""
        inner = _joined(texts[target]) if target in texts and target not in seen else ()
        if target not in texts or len(inner) > left:
            yield line
        else:
            left -= len(inner)
            waiting += [(text, posixpath.dirname(target)) for text in reversed(inner)]
        seen.add(target)


def read_file(path: str, texts: Mapping[str, str]) -> Reading:
    """Read a requirements file of the tree, with the files of the tree that it includes."""
    return read_lines([f"-r {path}"], texts)


def _joined(text: str) -> Sequence[str]:
    return text[:MAX_CHARACTERS].lstrip(_MARK).replace("\r\n", "\n").replace("\\\n", " ").splitlines()


def requirement_name(requirement: str) -> str:
    """The canonical name in a PEP 508 requirement."""
    return canonicalize_name(Requirement(requirement).name)


def unique(needs: Iterable[Need]) -> tuple[Need, ...]:
    """The needs without repetitions of the same text; the first origin stays."""
    first: dict[str, Need] = {}
    for need in needs:
        first.setdefault(need.requirement, need)
    return tuple(first.values())


def from_conda(line: str) -> str:
    """A line of conda's with the name that its distribution has on PyPI."""
    name = re.match(r"[\w.-]*", line)
    word = name[0] if name else ""
    return _CONDA_NAMES.get(word.lower(), word) + line[len(word) :]


def _read_pep_508(text: str, keep_name: bool) -> Reading:
    try:
        asked = parsed(text)
    except InvalidRequirement as error:
        reason = "not a requirement: " + str(error).splitlines()[0]
        name = _NAME_BEFORE_BOUNDS.match(text) if keep_name else None
        if name and asks_for_releases(kept := name[1] + (name[2] or "")):
            return Reading((kept,)) + _drop(text, f"{reason}; its name alone stays")
        return _drop(text, reason)
    return _read_url(text) if _is_elsewhere(asked) else Reading((str(asked),))


def encodable(text: str) -> str:
    """The text with a question mark for each half of a character: escapes in YAML and Python can write those."""
    return text.encode("utf-8", "replace").decode()


def _read_url(text: str) -> Reading:
    match = _URL.match(text)
    told = match[1] + (match[2] or "") + (match[3] or "") if match else _told_by(text)
    if not told:
        return _drop(text, "a URL or path is not a release")
    return read_line(told) + _drop(text, f"a URL or path cannot be capped at a date; {_INSTEAD}")


def _read_option(text: str) -> Reading:
    option = re.split(r"[= ]", text)[0]
    reason = _OPTION_REASONS.get(option, "an option of pip, not a requirement")
    told = _told_by(text) if option in ("-e", "--editable") else ""
    return read_line(told) + _drop(text, f"{reason}; {_INSTEAD}") if told else _drop(text, reason)


def _told_by(address: str) -> str:
    """The name that an address or a path tells, with its condition: behind "#egg=", or as a wheel's; else nothing."""
    place, _, marker = address.partition(" ;")
    egg, wheel = _EGG.search(place), _WHEEL.search(place.partition("#")[0])
    told = egg[1] if egg else wheel[1] if wheel else ""
    return f"{told};{marker}" if told and marker else told


def _plain(text: str) -> str:
    """A match of conda's without its build and its brackets."""
    if brackets := _CONDA_BRACKETS.fullmatch(text):
        version = _CONDA_VERSION.search(brackets[2])
        text = f"{brackets[1]} {version[1].strip(_QUOTES)}" if version else brackets[1]
    found = _CONDA_BUILD.fullmatch(text) or _CONDA_ANY.fullmatch(text)
    return found[1] if found else text


def _read_conda(text: str, match: re.Match[str] | None) -> Reading:
    if not match:
        return read_line(from_conda(text.rsplit("::", 1)[1]))
    name, version, _star = match.groups()
    any_patch = ".*" if re.fullmatch(r"[0-9.]+", version) else ""
    return read_line(f"{from_conda(name)}=={version.rstrip('.')}{any_patch}")


def _drop(text: str, reason: str) -> Reading:
    return Reading(dropped=(Dropped(requirement=text[:200], reason=reason),))
