"""What tokens cost: a table that the user gives, since no API tells its prices."""

from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from datasmith.agents.coding.dialects import Tokens
from datasmith.errors import ConfigError, said_by
from datasmith.misfits import misfit
from datasmith.written_json import written_json

EXAMPLE = '(example: {"gpt-5": {"input": 1.25, "output": 10, "cached": 0.125}}, dollars for a million tokens)'
_MILLION = 1_000_000


class Price(BaseModel):
    """Dollars for a million tokens; what is not given of `cached` and `written` costs what `input` costs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    written: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def of(self, tokens: Tokens) -> float | None:
        """Dollars for what was read and written; None where that is not known."""
        if tokens.input is None or tokens.output is None:
            return None
        cached, written = tokens.cached or 0, tokens.written or 0
        plain = max(0, tokens.input - cached - written)
        dollars = plain * self.input + tokens.output * self.output
        dollars += cached * (self.input if self.cached is None else self.cached)
        dollars += written * (self.input if self.written is None else self.written)
        return dollars / _MILLION


Prices = Mapping[str, Price]
"""Model -> its price."""
PriceOf = Callable[[str], Price | None]
"""What a model's answers cost, by its name; None where nobody says."""


def price_of(prices: Prices, model: str) -> Price | None:
    """The price of a model, by its name or by the part of it after the provider ("openai/gpt-5")."""
    return prices.get(model) or prices.get(model.rpartition("/")[2])


def read_prices(path: Path | None) -> Prices:
    """The table in a JSON file; without one there are no prices.

    Raises:
        ConfigError: it cannot be read as a table of prices.
    """
    if path is None:
        return {}
    try:
        return TypeAdapter(dict[str, Price]).validate_python(written_json(path.read_bytes()))
    except (OSError, ValueError) as error:
        what = misfit(error, Price.model_fields) if isinstance(error, ValidationError) else said_by(error)
        raise ConfigError(f"FC_PRICES={path} is no table of prices: {what} {EXAMPLE}") from error
