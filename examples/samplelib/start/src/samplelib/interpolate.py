"""Interpolation between given points."""


class Lagrange:
    """The polynomial of least degree through the points (xs[i], ys[i]); the xs are all different."""

    def __init__(self, xs, ys):
        if len(xs) != len(ys) or not xs:
            raise ValueError("as many xs as ys are needed, and at least one")
        if len(set(xs)) != len(xs):
            raise ValueError("two points have the same x")
        self.xs = list(xs)
        self.ys = list(ys)

    def __call__(self, x):
        total = 0.0
        for i, (xi, yi) in enumerate(zip(self.xs, self.ys)):
            basis = 1.0
            for j, xj in enumerate(self.xs):
                if j != i:
                    basis *= (x - xj) / (xi - xj)
            total += yi * basis
        return total
