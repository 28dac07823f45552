"""Build and run: sandboxes of three tiers (base, env, pr) on docker, podman or bubblewrap."""

from datasmith.docker.images import ImageManager
from datasmith.docker.verifiers import MultiObjVerifier, ProfileVerifier, PytestVerifier, SmokeVerifier

__all__ = ["ImageManager", "MultiObjVerifier", "ProfileVerifier", "PytestVerifier", "SmokeVerifier"]
