"""Orders as compiled code."""

from __future__ import annotations

from functools import cache
from typing import Any

from fabricstudy.core.source import extension_package

from .base import Order


def compiled_score(order: Order) -> Any:
    """Give the score of an order as a function that compiled code can call; ours are kept beside their file."""
    return _compiled(type(order))


@cache
def _compiled(order: type[Order]) -> Any:
    from numba import cfunc

    from ..kernel import SCORE

    # Where an order never changes, nobody asks for its scores again.
    return cfunc(SCORE, cache=not extension_package(order.__module__))(order.score)
