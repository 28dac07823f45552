"""Tests of the resolution room's thinking: no index, no uv."""
