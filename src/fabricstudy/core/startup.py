"""What lets a short process start fast."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Import a library as if some that it can do without, and that we ask it for nothing of, were not installed.

    What is loaded already stays.

    Examples
    --------
    >>> with without("tabnanny"):
    ...     try:
    ...         import tabnanny
    ...     except ImportError:
    ...         print("not there")
    not there
    >>> import tabnanny
    """
    hidden = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None is how Python is told
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
