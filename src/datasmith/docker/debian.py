"""Names of Debian packages, as texts that nobody vouches for ask for them."""

import re

from datasmith.errors import ConfigError

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]{0,99}[a-z0-9+]")


def is_package_name(word: str) -> bool:
    """True for the plain name of a package; never for an option, a path, a version, or `git-`, which removes git."""
    return _NAME.fullmatch(word) is not None


def package_names(text: str) -> tuple[str, ...]:
    """The names in a text such as the value of FC_APT_PACKAGES, separated by white space.

    Raises:
        ConfigError: one of the words is no name of a package.
    """
    words = tuple(text.split())
    wrong = next((word for word in words if not is_package_name(word)), None)
    if wrong is not None:
        raise ConfigError(
            f"FC_APT_PACKAGES: {wrong[:100]!r} is no name of a Debian package (example: FC_APT_PACKAGES='libgeos-dev')"
        )
    return words
