"""One stage per file, over one ledger."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasmith.runners.synthesize_contexts import SynthesizeImagesRunner

__all__ = ["SynthesizeImagesRunner"]


def __getattr__(name: str) -> object:
    """SynthesizeImagesRunner, imported where it is asked for."""
    if name == "SynthesizeImagesRunner":
        from datasmith.runners.synthesize_contexts import SynthesizeImagesRunner

        return SynthesizeImagesRunner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
