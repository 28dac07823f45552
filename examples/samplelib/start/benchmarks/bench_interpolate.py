"""Evaluating a polynomial through many points."""

from samplelib import Lagrange


class Evaluate:
    """Fourteen points, evaluated at forty places."""

    repeat = 8
    sample_time = 0.005
    warmup_time = 0.01

    def setup(self):
        xs = [i / 7 for i in range(14)]
        self.polynomial = Lagrange(xs, [x * x - 1 for x in xs])
        self.places = [i / 20 + 0.01 for i in range(40)]

    def time_lagrange(self):
        for x in self.places:
            self.polynomial(x)
