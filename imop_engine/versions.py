"""Versions of what computed the numbers; results and reports say them."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Final

PACKAGES: Final = ("imop", "numpy", "scipy", "pandas", "numba")
# For pages of figures that are older than the release they are shown with.
NUMBERED: Final = (
    "The version is that of the latest release when this was measured: work on the next one goes "
    "by it until that is released."
)


def versions(packages: tuple[str, ...] = PACKAGES, missing: str = "unknown") -> dict[str, str]:
    """Return the version of Python and of packages.

    Args:
        packages: names as in the package index.
        missing: what is said of a package that is not installed; the project itself is not where
            it runs from a checkout that was never installed.

    Returns:
        Version by name, "python" first.
    """
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = installed_version(package)
        except PackageNotFoundError:
            found[package] = missing
    return found
