"""Words for counts and lists, for whoever writes sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def several(count: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> several(1, "seed"), several(1962, "simulation")
    ('1 seed', '1,962 simulations')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def listed(parts: Sequence[Any]) -> str:
    """Join with commas and an "and".

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(map(str, parts[:-1])), str(parts[-1])] if len(parts) > 1 else map(str, parts))
