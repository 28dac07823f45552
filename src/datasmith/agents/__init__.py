"""Who thinks: rules, models and coding agents."""

from datasmith.agents.synthesize import Synthesizer

__all__ = ["Synthesizer"]
