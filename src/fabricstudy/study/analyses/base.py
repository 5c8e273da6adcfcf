"""What every analysis has."""

from __future__ import annotations

from typing import ClassVar

from ..base import Model


class Analysis(Model):
    """A table of rows, computed without simulation."""

    keys: ClassVar[tuple[str, ...]]
    """Columns that tell rows apart."""

    labels: ClassVar[tuple[str, ...]] = ()
    """Further columns of text."""

    numbers: ClassVar[tuple[str, ...]]
    """Columns to draw or to judge; a key that is a number stands here, too."""

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(dict.fromkeys((*cls.keys, *cls.labels, *cls.numbers)))
