"""Base class of analyses."""

from collections.abc import Iterable
from typing import Any, ClassVar

from fabricstudy.core.kinds import Family, Kind

Row = dict[str, Any]


class Analysis(Kind):
    """A table of rows, computed without simulation."""

    FAMILY: ClassVar[Family] = Family("analysis")

    keys: ClassVar[tuple[str, ...]]
    """Columns that identify rows."""

    labels: ClassVar[tuple[str, ...]] = ()
    """Further columns of text."""

    numbers: ClassVar[tuple[str, ...]]
    """Columns of numbers, for figures and claims, including keys that are numbers."""

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*cls.keys, *cls.labels, *cls.numbers)))

    def labels_of(self, key: str) -> tuple[str, ...] | None:
        """Return the labels in the column `key` if they are those of a mapping in the study (`machines`), else None."""
        named = getattr(self, f"{key}s", None)
        return tuple(named) if isinstance(named, dict) else None

    def kinds_used(self) -> Iterable[type[Kind]]:
        """Return the kinds whose code it runs, without those that the study names."""
        return ()

    def rows(self) -> list[Row]:
        """Return the table; a missing value is None."""
        raise NotImplementedError


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
