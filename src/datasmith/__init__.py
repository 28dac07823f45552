"""FormulaCode: merged performance pull requests become measured tasks; agents are scored on them."""

TYPE_CHECKING = False  # typing takes longer to load than what comes before a command's first line

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name):
        """`__version__`, read when it is asked for: it takes as long as everything else that `--version` loads."""
        if name != "__version__":
            raise AttributeError(name)
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("fc-data")
        except PackageNotFoundError:
            return version("fc-eval")  # installed by itself
