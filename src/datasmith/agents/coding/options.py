"""What the configuration says about one agent, handed to its constructor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from datasmith.errors import ConfigError
from datasmith.misfits import misfit

if TYPE_CHECKING:
    from datasmith.settings import Settings

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """One entry of the configuration. `directory` is where relative paths in it start: the configuration's own.

    `settings` are those of the run; None means that they are read when an agent needs them.
    """

    name: str
    model: str = "none"
    kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    model_kwargs: Mapping[str, JsonValue] = field(default_factory=dict)
    directory: Path = Path()
    settings: "Settings | None" = field(default=None, repr=False)

    def refuse_unknown(self, known: frozenset[str] = frozenset()) -> None:
        """Raise ConfigError where agent_kwargs holds a key that the agent does not read."""
        unknown = sorted(self.kwargs.keys() - known)
        if unknown:
            reads = f"reads {', '.join(sorted(known))}" if known else 'reads none; example: "agent_kwargs": {}'
            raise ConfigError(f"agent_kwargs of {self.name!r}: unknown {', '.join(unknown)} (it {reads})")

    def read_as(self, model: type[_Model], example: str) -> _Model:
        """agent_kwargs as this model.

        Raises:
            ConfigError: they are none; ends with the example.
        """
        try:
            return model.model_validate(dict(self.kwargs))
        except ValidationError as error:
            said = misfit(error, model.model_fields)
            raise ConfigError(f"agent_kwargs of {self.name!r}: {said} {example}") from error
