"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# As Snakemake does for its jobs. Threads of linear algebra that wait for each other burn many times what one takes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from fabricstudy.extensions import LOADED, unload_extensions

# Machines are loaded and noisy: no example fails for its time. The same examples come each time, unless others are
# asked for: RANDOM_EXAMPLES=1 python -m pytest.
settings.register_profile("fabricstudy", deadline=None, derandomize="RANDOM_EXAMPLES" not in os.environ)
settings.load_profile("fabricstudy")


@pytest.fixture(autouse=True)
def no_extension_is_left() -> Iterator[None]:
    """Take away the extensions that a test imported, for those after it."""
    yield
    for package in list(LOADED):
        unload_extensions(package)
