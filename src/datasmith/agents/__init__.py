"""Who thinks: rules, models and coding agents."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasmith.agents.synthesize import Synthesizer

__all__ = ["Synthesizer"]

_LAZY = "datasmith.agents.synthesize"


def __getattr__(name: str) -> object:
    """Synthesizer, imported where it is asked for: fc-eval uses the coding agents alone, and has no store."""
    if name == "Synthesizer":
        from importlib import import_module

        return getattr(import_module(_LAZY), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
