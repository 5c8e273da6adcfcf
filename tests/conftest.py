"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from fabricstudy.extensions import LOADED, unload_extensions

# Machines are loaded and noisy: no example fails for its time. In CI the same examples come each time.
settings.register_profile("fabricstudy", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("fabricstudy")


@pytest.fixture(autouse=True)
def no_extension_is_left() -> Iterator[None]:
    """Take away the extensions that a test imported, for those after it."""
    yield
    for package in list(LOADED):
        unload_extensions(package)
