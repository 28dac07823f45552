"""The table of checks: which there are, in which order, and which stages need each."""

from pathlib import Path

from datasmith.errors import ConfigError
from datasmith.github.forges import FORGES, Sources
from datasmith.preflight import accounts, here, inputs
from datasmith.preflight.base import Answer, Check, Facts, Line, Report, report
from datasmith.settings import engine_name, environment, load_settings
from datasmith.storage.base import STAGES

ALL = frozenset(STAGES)
CHECKS = (
    Check("Environment", "tokens.env", ALL, here.tokens_file),
    Check("Environment", "FC_ variables", ALL, here.variables),
    Check("Environment", "GH_TOKENS", frozenset({1, 2}), accounts.github_tokens),
    Check("Environment", "sources", frozenset({1, 2, 4, 5}), inputs.sources),
    Check("Environment", "FC_INDEX_URL", frozenset({4, 5}), inputs.package_index),
    Check("Environment", "agents", frozenset({5}), here.agents),
    Check("Store", "Connection and schema", ALL, here.store),
    Check("Disk", "data_dir", ALL, here.data_room),
    Check("Disk", "cache_dir", frozenset({4, 5}), here.cache_room),
    Check("Programs", "git", frozenset({1, 2, 4, 5}), here.git),
    Check("Programs", "uv", frozenset({4, 5}), here.uv),
    Check("Engine", "Cores to measure on", frozenset({5}), here.cores),
    Check("Engine", "Sandbox", frozenset({4, 5}), here.engine),
    Check("Engine", "Interpreters", frozenset({4, 5}), here.pythons),
    Check("GitHub", "API access", frozenset({1, 2}), accounts.github_calls),
    Check("Model", "DSPY_MODEL", frozenset({3, 5}), accounts.model),
    Check("Docker Hub", "DOCKERHUB_TOKEN", frozenset({6}), accounts.docker_hub),
    Check("Registries", "FC_REGISTRIES", frozenset({6}), accounts.registries),
    Check("Hugging Face", "HF_TOKEN", frozenset({6}), accounts.hugging_face),
)


def look(
    *,
    stages: tuple[int, ...] = (),
    forge: str = "git",
    data_dir: Path | None = None,
    engine: str = "",
    sources: Sources | None = None,
) -> Report:
    """Run every check; those that no named stage needs are skipped. Settings that cannot be read are the only line.

    Raises:
        ConfigError: there is no such stage, forge or engine.
    """
    if engine:
        engine_name(engine)
    if forge not in FORGES:
        raise ConfigError(f"--forge {forge} is not known; there is {', '.join(FORGES)} (example: --forge github)")
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown:
        raise ConfigError(f"--stage {unknown[0]}: there are stages 1 to {len(STAGES)} (example: --stage 4)")
    try:
        facts = Facts(load_settings(data_dir=data_dir, engine=engine), environment(), forge, sources)
    except ConfigError as error:
        answer = Answer("FAIL", " ".join(str(error).split()), "mend the setting that the message names")
        return Report((Line("Environment", "settings", answer),))
    return report(CHECKS, facts, stages)
