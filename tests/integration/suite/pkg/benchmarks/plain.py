"""Benchmarks as they should be."""

from planted import work


def time_work():
    """Pure Python, no setup."""
    work(2000)


def track_answer():
    """Recorded, not scored."""
    return work(10)


track_answer.unit = "points"


def peakmem_list():
    """Recorded, not scored."""
    return [0] * 100_000


class Sized:
    """Two parameters, one combination of which does not apply."""

    params = ([1000, 2000], ["a", "b"])
    param_names = ("size", "letter")

    def setup(self, size, letter):
        """Refuse one combination."""
        if (size, letter) == (2000, "b"):
            raise NotImplementedError("b is never that large")
        self.size = size

    def time_sized(self, size, letter):
        """Timed one call at a time, as it has a setup."""
        work(self.size)


class Cached:
    """Gets what setup_cache left, as an object and as a file."""

    def setup_cache(self):
        """Write a file, return an object."""
        with open("numbers.txt", "w") as stream:
            stream.write("1 2 3")
        return {"size": 1500}

    def time_cached(self, cache):
        """Uses both."""
        with open("numbers.txt") as stream:
            assert stream.read() == "1 2 3"
        work(cache["size"])


class Told:
    """Chooses its own numbers."""

    number = 3
    repeat = 4
    warmup_time = 0.02
    sample_time = 0.005
    timeout = 30.0
    rounds = 2

    def time_told(self):
        """Three calls a sample, four samples."""
        work(5000)


def timeraw_statement():
    """Runs in a process of its own, once per sample."""
    return "work(20000)", "from planted import work"
