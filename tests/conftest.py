"""Settings of all tests."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# As Snakemake does for its jobs. Threads of linear algebra that wait for each other burn many times what one takes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.extensions import LOADED, load_extensions, unload_extensions

# Machines are loaded and noisy: no example fails for its time. The same examples come each time, unless others are
# asked for: RANDOM_EXAMPLES=1 python -m pytest.
settings.register_profile("fabricstudy", deadline=None, derandomize="RANDOM_EXAMPLES" not in os.environ)
settings.load_profile("fabricstudy")


def compile_one_at_a_time() -> None:
    """Let no two processes of the tests compile the same loop: who waits finds it compiled."""
    from numba.core.dispatcher import Dispatcher

    compiled, depth = Dispatcher.compile, 0

    def compile(dispatcher: Any, signature: Any) -> Any:
        nonlocal depth
        with Path(__file__).open() as lock:
            if depth == 0:
                fcntl.flock(lock, fcntl.LOCK_EX)
            depth += 1
            try:
                return compiled(dispatcher, signature)
            finally:
                depth -= 1

    setattr(Dispatcher, "compile", compile)  # noqa: B010


if "PYTEST_XDIST_WORKER" in os.environ:
    compile_one_at_a_time()


_FIRST = ("slurm/", "workflow/", "docs/", "mutations/", "unit/table/test_pairs.py", "unit/report/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the folders that mostly wait for other processes first, then the longest files: none is the last."""
    here = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        path = item.path.relative_to(here).as_posix() if item.path.is_relative_to(here) else ""
        return next((at for at, first in enumerate(_FIRST) if path.startswith(first)), len(_FIRST))

    items.sort(key=place)


@pytest.fixture(autouse=True)
def extensions_of_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Import the bundled extensions that a module of tests lists as EXTENSIONS; take away all after each test."""
    load_extensions([f"extensions/{name}.py" for name in getattr(request.module, "EXTENSIONS", [])], CONFIGS)
    yield
    for package in list(LOADED):
        unload_extensions(package)
