"""FormulaCode: merged performance pull requests become measured tasks; agents are scored on them."""

from importlib.metadata import version

__version__ = version("fc-data")
