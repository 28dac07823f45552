"""A letterbox for public addresses: the names that users import from here live elsewhere."""

from datasmith.github.tokens import TokenPool

__all__ = ["TokenPool"]
