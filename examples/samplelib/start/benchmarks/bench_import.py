"""What users wait for first."""


class Import:
    """Importing the package in a fresh interpreter."""

    repeat = 3
    number = 1
    warmup_time = 0

    def timeraw_import(self):
        return "import samplelib"
