"""Is a pull request about speed? Rules over title, body, files and patch: no model, no network, always the same.

Rules only nominate: what they let through is built and measured. They are tuned for recall.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from datasmith.agents.classification import Category, Classification, Difficulty
from datasmith.github.filters import has_core_file, is_core_path
from datasmith.github.models import PR, FileChange

DECIDED = 2
"""Evidence of this weight makes a pull request a candidate; less, but some, leaves it undecided."""
EASY_BELOW, HARD_FROM = 50, 500
"""Changed lines of core files."""
TITLE_CHARS, READ_CHARS = 500, 20_000
"""As much of a title, of a body and of a patch is read."""

_CODE = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True, slots=True)
class _Rule:
    """Weighted evidence; a negative weight speaks against."""

    weight: int
    says: str
    pattern: re.Pattern[str]


def _rules(*rows: tuple[int, str, str]) -> tuple[_Rule, ...]:
    return tuple(_Rule(weight, says, re.compile(pattern, re.IGNORECASE)) for weight, says, pattern in rows)


_ELSEWHERE = (
    r"(?:docs?|documentation|readthedocs|rtd|sphinx|ci|gha|github actions?|(?:unit ?)?tests?"
    r"|test suites?|pytest|linting)"
    r"(?: (?:builds?|jobs?|runs?|times?|suites?|collection|execution|pipelines?))?"
)
_NEVER = _rules(
    (0, "a revert", r"^\W*(?:revert|back ?out|undo)\b"),
    (0, "housekeeping", r"^\W*(?:ci|docs?|tests?|tst|rls|style|typing|lint|chore\(deps[^)]*\))\s*[:(,]"),
    (0, "speed of tests, documentation or CI", r"^\W*perf\((?:tests?|ci|docs?|bench\w*|build|dev)\)"),
    (
        0,
        "speed of tests, documentation or CI",
        r"\b(?:speed(?:ing)?[- ]?up|optimi[sz]\w*|faster|cach\w+|time|performance|of|for|in)"
        rf" (?:the |our |some |a few |slow )?{_ELSEWHERE}\W*$",
    ),
)
_TITLE = _rules(
    (3, "perf prefix", r"^\W*(?:\w+\W+)?perf(?:ormance)?\b\s*(?:\([^)]*\))?!?\s*[:,\]|]"),
    (3, "speed-up", r"\bspeed(?:s|ed|ing)?[- ]?ups?\b|\baccelerat\w+|\bquick(?:er|en)\b"),
    (3, "faster", r"\bfaster\b|\bfast[- ]?path\w*"),
    (3, "optimise", r"\b(?:micro[- ]?)?optimi[sz](?:e[sd]?|ing|ations?)\b"),
    (3, "performance", r"\b(?:performan(?:ce|t)|throughput|latency)\b"),
    (3, "speed", r"\b(?:improv\w+|increas\w+|better|boost\w*) (?:\w+ ){0,3}speed\b|\bspeed (?:improv|boost)"),
    (
        2,
        "cache",
        r"^(?:\w+: ?|\w+\([^)]*\): ?)?(?:use |enable |add )?(?:a )?(?:lru[_ ])?cach(?:e[sd]?|ing)\b|\bmemoi[sz]",
    ),
    (2, "vectorise", r"\bvectori[sz](?:e[sd]?|ing|ation)\b(?!_)|\bjit\b|\bnumba\b|\bcythoni[sz]"),
    (2, "parallel", r"\bin parallel\b|\bparalleli[sz](?:e[sd]?|ing|ation)\b|\breleases? the gil\b|\bnogil\b"),
    (
        2,
        "avoid work",
        r"\bavoid\w* (?:an? |the )?(?:unnecessary|redundant|needless|repeated|double|duplicate|extra|expensive"
        r"|deep ?cop|cop(?:y|ies|ying)|recomput|recalculat|re-?pars|materiali[sz]|build|creat|construct|allocat)",
    ),
    (
        2,
        "avoid work",
        r"\b(?:un(?:necessary|needed)|redundant) (?:cop(?:y|ies)|calls?|comput\w+|loops?|work|checks?)\b",
    ),
    (
        2,
        "reduce",
        r"\b(?:reduc|lower|cut|minimi[sz]|decreas|sav)\w* (?:\w+ ){0,3}(?:memory|time|overhead|allocations?"
        r"|cop(?:y|ies)|calls|work|complexity|size|cost)\b",
    ),
    (2, "memory", r"\bmemory (?:usage|use|footprint|consumption|backpressure|efficien)"),
    (2, "slow", r"\bslow(?:ness|down|er|ly)?\b|\boverhead\b|\befficien(?:t|tly|cy)\b"),
    (2, "a branch named so", r"^Merge \S+ (?:request )?#?[0-9]+ from \S*\b(?:perf|speed|optimi[sz]|faster)"),
    (2, "lazy", r"\b(?:lazy|lazily|defer(?:red)?)\b.*\bimport|\bimport time\b"),
    (2, "better algorithm", r"\btree reduction\b|\b(?:linear|quadratic|constant|logarithmic)[- ]time\b|\bO\([nN1]"),
    (
        1,
        "less work",
        r"\b(?:skip|hoist|inline|pre-?comput|pre-?compil|re-?us|short-?circuit|batch|lazy|lazily|parallel)\w*",
    ),
    (1, "layout", r"\b(?:__)?slots(?:__)?\b|\bin-?place\b"),
    (1, "avoid", r"^\W*(?:avoid|don't|do not|stop|no longer)\b"),
    (-1, "a fix", r"^\W*(?:fix(?:e[sd])?|bug|bugfix|hotfix)\b|\b(?:segfault|deadlock|crash)\w*"),
    (
        -2,
        "a warning or a pin",
        r"\b(?:deprecat(?:e[sd]?|ing|ions?)|warnings?|typo|pin|bump|docstrings?|comments?|lint\w*)\b",
    ),
    (-1, "a feature", r"^\W*(?:feat\b|add\w* support|support\b|allow\b)"),
)
_BODY = _rules(
    (
        2,
        "a factor in the body",
        r"\b[0-9][0-9.]{0,8}\s?(?:x|\u00d7|times|fold|%)\s+(?:\w+ )?(?:fast|speed|quick|improve|less time)",
    ),
    (
        2,
        "timings in the body",
        r"%timeit\b|\bper loop\b|\b[0-9.]{1,12} ?(?:ms|us|\u00b5s|\u03bcs|ns|s)\b[^.\n]{0,40}?(?:->|\u2192|\bvs\b)",
    ),
    (2, "faster, says the body", r"\b(?:much|significantly|considerably|way|is|are|be|gets?|becomes?) faster\b"),
    (1, "speed in the body", r"\bspeed(?:s|ed|ing)?[- ]?ups?\b|\bperformance\b|\bfaster\b|\befficien|\boptimi[sz]"),
)
_PATCH = _rules(
    (1, "caching in the patch", r"^\+.*\b(?:lru_cache|functools\.cache|cached_property|_cache\s*=)"),
    (1, "layout in the patch", r"^\+\s+__slots__\s*=|^\+.*\bslots=True"),
    (
        1,
        "compiled code in the patch",
        r"^\+.*(?:\bnogil\b|@(?:numba\.)?n?jit\b|\bnp\.(?:einsum|bincount|searchsorted)\()",
    ),
)
_NOTES = _rules((3, "a performance change note", r"\.perf(?:ormance)?\.(?:rst|md|txt)$"))
_TOUCHED = _rules((1, "a benchmark changed", r"(?:^|/)(?:asv_bench|benchmarks?)/.*\.py$"))

_STRATEGY_WORDS: dict[Category, str] = {
    "cache_and_reuse": r"\bcach(?:e[sd]?|ing)\b|\bmemoi[sz]|\breus(?:e|ing)\b|\breintroduce global",
    "use_parallelization": r"\bin parallel\b|\bparalleli[sz]|\bmulti-?thread|\breleases? the gil\b|\bnogil\b",
    "use_better_data_structure_and_layout": r"\bslots\b|__slots__|\bdata structure|\bdict\b as\b|\bMultiIndex\b",
    "micro_optimizations": r"\bmicro[- ]?optimi|\bstring building\b|\btranslate\b|\binlin(?:e|ing)\b|\ba bit\b|\bhoist",
    "use_better_algorithm": r"\balgorithm|\blinear time\b|\btree reduction\b|\bO\([nN1]|\bheap|\bcomplexity\b",
    "use_lower_level_system": r"\b(?:cython|numba|scalar|vectori[sz]\w*|ufuncs?|reduceat|numpy|nunique)\b",
    "do_it_earlier_batch_throttle": r"\bpre-?comp(?:ut|il)|\bbatch|\bbackpressure\b|\bthrottl",
    "io_and_latency_hiding": r"\basync\b|\bprefetch|\bbuffer(?:ed|ing)\b",
    "accept_less_precise_solution": r"\bapproximat|\binterpolat|\bprecision\b",
    "remove_or_reduce_work": r"\b(?:avoid|skip|remov|reduc|unnecessary|double|lazy|only\b|optimi[sz]|fast)",
}
_STRATEGIES = tuple((name, re.compile(words, re.IGNORECASE)) for name, words in _STRATEGY_WORDS.items())


def classify(pr: PR) -> Classification:
    """Judge one pull request; `reason` lists the evidence, `confidence` grows with its weight.

    A pull request that touches no core file, reverts another, or is about the speed of tests, documentation or CI
    is never a candidate, whatever its title claims.
    """
    title = _CODE.sub("`code`", pr.title[:TITLE_CHARS])
    against = _refusal(title, pr.files)
    if against:
        return Classification(is_performance=False, reason=against, confidence=95, difficulty=difficulty(pr.files))
    said, seen = _said(title, pr), _seen(pr)
    weight = sum(rule.weight for rule in said) + min(1, len(seen))
    decided = weight >= DECIDED
    undecided = 0 < weight < DECIDED
    return Classification(
        is_performance=None if undecided else decided,
        category=category(pr) if weight > 0 else "uncategorized",
        difficulty=difficulty(pr.files),
        reason=", ".join(dict.fromkeys(rule.says for rule in (*said, *seen))) or "nothing speaks of speed",
        confidence=30 if undecided else min(95, 50 + 12 * abs(weight - DECIDED + 1)),
    )


def _refusal(title: str, files: Sequence[FileChange]) -> str:
    if files and not has_core_file(change.path for change in files):
        return "no core file changed"
    return next((rule.says for rule in _NEVER if rule.pattern.search(title)), "")


def _said(title: str, pr: PR) -> list[_Rule]:
    """What title, body and change notes say."""
    body = pr.body[:READ_CHARS]
    found = [rule for rule in _TITLE if rule.pattern.search(title)]
    found += [rule for rule in _BODY if rule.pattern.search(body)]
    return found + [rule for rule in _NOTES if any(rule.pattern.search(change.path) for change in pr.files)]


def _seen(pr: PR) -> list[_Rule]:
    """What only the changes themselves show: a hint, never enough alone."""
    lines = [line for line in (pr.patch or "")[:READ_CHARS].split("\n") if line.startswith("+")]
    found = [rule for rule in _PATCH if any(rule.pattern.search(line) for line in lines)]
    return found + [rule for rule in _TOUCHED if any(rule.pattern.search(change.path) for change in pr.files)]


def category(pr: PR) -> Category:
    """The first strategy whose words stand in the title, else in the body."""
    for text in (pr.title[:TITLE_CHARS], pr.body[:READ_CHARS]):
        for name, pattern in _STRATEGIES:
            if pattern.search(text):
                return name
    return "uncategorized"


def difficulty(files: Sequence[FileChange]) -> Difficulty:
    """By changed lines of core files; unknown counts say medium."""
    core = [change for change in files if is_core_path(change.path)]
    if not core or any(change.additions is None for change in core):
        return "medium"
    lines = sum((change.additions or 0) + (change.deletions or 0) for change in core)
    return "easy" if lines < EASY_BELOW else "hard" if lines >= HARD_FROM else "medium"
