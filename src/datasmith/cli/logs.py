"""Logs of the commands: for people on standard error, as lines of JSON in a file; neither holds a secret."""

import logging
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING

from datasmith.errors import ConfigError
from datasmith.redact import Redactor

if TYPE_CHECKING:
    from structlog.typing import Processor

    from datasmith.runners.request import Request

OF_RUNS = "datasmith.run"
"""What this logger says is for the file: on standard error a command has its own last line."""
FILE_BYTES = 20_000_000
FILES_KEPT = 10
"""A log file that would grow beyond FILE_BYTES becomes `.1`, and so on; this many old ones are kept."""


def set_up_logging(level: str, log_file: Path | None = None) -> None:
    """Log to standard error (warnings and worse) and, where given, everything from `level` on to a file.

    Raises:
        ConfigError: `level` is no level, or the file cannot be written.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ConfigError(f"FC_LOG_LEVEL {level!r} is not a level (example: FC_LOG_LEVEL=INFO)")
    logging.raiseExceptions = False  # a log that cannot be written says nothing on top of what made it fail
    root = logging.getLogger("datasmith")
    root.setLevel(number)
    clean = our_redactor()
    console = logging.StreamHandler()
    console.setLevel(logging.WARNING)
    console.addFilter(lambda record: record.name != OF_RUNS)
    console.setFormatter(_CleanFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", clean))
    # The file comes first: what formats a line for people leaves it in the record.
    handlers: list[logging.Handler] = [_json_handler(log_file, clean)] if log_file else []
    handlers.append(console)
    for handler in root.handlers:
        handler.close()
    root.handlers = handlers


def our_redactor() -> Redactor:
    """A redactor that knows the secrets of this process's environment; without them where tokens.env is unreadable."""
    from datasmith.settings import environment, secrets_of  # pydantic is slow to import

    try:
        return Redactor(secrets_of(environment()))
    except ConfigError:
        return Redactor()


def log_run(request: "Request", what: str, error: BaseException | None = None, **facts: object) -> None:
    """One line of the log's file about the run itself: what happened, to which window and stages."""
    about = {"window": request.window.key, "asked": list(request.stages), "resume": request.resume, **facts}
    if error is None:
        logging.getLogger(OF_RUNS).info("run %s", what, extra=about)
        return
    about |= {"error": type(error).__name__, "says": str(error)}
    trace = error if isinstance(error, Exception) else None
    logging.getLogger(OF_RUNS).error("run %s", what, extra=about, exc_info=trace)


class _CleanFormatter(logging.Formatter):
    """Lines for people."""

    def __init__(self, form: str, clean: Redactor) -> None:
        super().__init__(form)
        self._clean = clean

    def format(self, record: logging.LogRecord) -> str:
        """The line with its traceback, if any, without secrets."""
        return self._clean(super().format(record))


def _json_handler(path: Path, clean: Redactor) -> logging.Handler:
    """One JSON object a line: timestamp (UTC), level, logger, event, what the call added, exception."""
    from logging.handlers import RotatingFileHandler  # only a command that works needs these

    import structlog

    def without_secrets(_logger: object, _method: str, event: MutableMapping[str, object]) -> Mapping[str, object]:
        cleaned = clean_value(dict(event), clean)
        assert isinstance(cleaned, dict)
        return cleaned

    about: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.ExtraAdder(),
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=about,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            without_secrets,  # after the traceback has become text
            structlog.processors.JSONRenderer(default=str, ensure_ascii=True),
        ],
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write the log {path}: {error.strerror} (example: --data-dir ./work)") from error
    handler.setFormatter(formatter)
    return handler


def clean_value(value: object, clean: Redactor) -> object:
    """A value as JSON can hold it, with every text in it, keys too, without secrets."""
    if isinstance(value, dict):
        return {clean(str(key)): clean_value(part, clean) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [clean_value(part, clean) for part in value]
    return value if isinstance(value, bool | int | float) or value is None else clean(str(value))
