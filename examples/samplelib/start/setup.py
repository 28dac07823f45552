"""Only what pyproject.toml cannot say yet: the compiled module."""

from setuptools import Extension, setup

setup(ext_modules=[Extension("samplelib._native", ["src/samplelib/_native.c"])])
