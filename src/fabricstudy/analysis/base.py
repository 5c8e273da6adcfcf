"""Base class of analyses."""

from typing import Any, ClassVar

from pydantic import AfterValidator

from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import ConfigError

Row = dict[str, Any]


class Analysis(Kind, family="analysis"):
    """A table of rows, computed without simulation."""

    keys: ClassVar[tuple[str, ...]]
    """Columns that identify rows."""

    labels: ClassVar[tuple[str, ...]] = ()
    """Further columns of text."""

    numbers: ClassVar[tuple[str, ...]]
    """Columns of numbers, for figures and claims, including keys that are numbers."""

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """Return all columns in order."""
        return tuple(dict.fromkeys((*cls.keys, *cls.labels, *cls.numbers)))

    def labels_of(self, key: str) -> tuple[str, ...] | None:
        """Return the labels in a column of keys if a mapping of the analysis has them (`machines`), else None."""
        named = getattr(self, f"{key}s", None)
        return tuple(named) if isinstance(named, dict) else None

    @property
    def predicted_cpu_s(self) -> float:
        """Predicted processor time; most analyses take one to five seconds."""
        return 2.0

    def other_prices(self) -> tuple[str, dict[str, "Analysis"]] | None:
        """Return the title of its price list, and itself with others, by their titles; None without prices."""
        return None

    def rows(self) -> list[Row]:
        """Return the table; a missing value is None."""
        raise NotImplementedError


def _refuse_empty(ends: tuple[int, int]) -> tuple[int, int]:
    if ends[0] > ends[1]:
        raise ConfigError("an empty range", "swap the two", (), list(ends), "out-of-range")
    return ends


IN_ORDER = AfterValidator(_refuse_empty)
"""Refuses a range that ends before it begins."""


def keys_of(kind: str) -> tuple[str, ...]:
    """Return the keys of a kind of analysis.

    Examples
    --------
    >>> keys_of("partitions")
    ('machine', 'blocks', 'choice')
    """
    member = Analysis.FAMILY.members[kind]
    assert issubclass(member, Analysis)
    return member.keys
