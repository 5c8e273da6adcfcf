"""What every analysis has."""

from collections.abc import Iterable
from typing import Any, ClassVar

from fabricstudy.core.kinds import Family, Kind

Row = dict[str, Any]


class Analysis(Kind):
    """A table of rows, computed without simulation."""

    FAMILY: ClassVar[Family] = Family("analysis")

    keys: ClassVar[tuple[str, ...]]
    """Columns that tell rows apart."""

    labels: ClassVar[tuple[str, ...]] = ()
    """Further columns of text."""

    numbers: ClassVar[tuple[str, ...]]
    """Columns of numbers, to draw or to judge; keys that are numbers included."""

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(dict.fromkeys((*cls.keys, *cls.labels, *cls.numbers)))

    def labels_of(self, key: str) -> tuple[str, ...] | None:
        """Return the labels in the column `key` where a mapping of the file names them (`machines`), None elsewhere."""
        named = getattr(self, f"{key}s", None)
        return tuple(named) if isinstance(named, dict) else None

    def kinds_used(self) -> Iterable[type[Kind]]:
        """Return the kinds whose code it runs without naming them; those that stand in it count anyway."""
        return ()

    def rows(self) -> list[Row]:
        """Compute the table; a missing value is None."""
        raise NotImplementedError


def keys_of(kind: str) -> tuple[str, ...]:
    """Return the columns that tell the rows of a kind of analysis apart.

    Examples
    --------
    >>> keys_of("partitions")
    ('machine', 'blocks', 'choice')
    """
    member = Analysis.FAMILY.members[kind]
    assert issubclass(member, Analysis)
    return member.keys
