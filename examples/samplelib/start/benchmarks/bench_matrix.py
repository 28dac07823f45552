"""Products of matrices."""

import random

from samplelib import Matrix


class Product:
    """Square matrices."""

    params = [20]
    param_names = ["size"]
    repeat = 8
    sample_time = 0.005
    warmup_time = 0.01

    def setup(self, size):
        source = random.Random(size)
        self.left = Matrix([[source.random() for _ in range(size)] for _ in range(size)])
        self.right = Matrix([[source.random() for _ in range(size)] for _ in range(size)])

    def time_matmul(self, size):
        self.left @ self.right
