"""Verify task folders of both generations: built again from a copy of our own, run in sandboxes, judged by the host."""
