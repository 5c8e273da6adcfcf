"""Numbers that a source prints: rows."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Number

from .base import Analysis, Row

Series = Annotated[dict[Number, Number], Field(min_length=1)]


@register
class Printed(Analysis):
    """A table that a source prints, so that what its text says of the table can be checked, and drawn beside ours.

    The columns:

    * `table`, `line`: labels of the row: which table, and which line of it
    * `at`: what stands above the number, such as cores
    * `number`: the number
    """

    keys: ClassVar[tuple[str, ...]] = ("table", "line", "at")
    numbers: ClassVar[tuple[str, ...]] = ("at", "number")

    kind: Literal["printed"] = "printed"
    tables: dict[str, dict[str, Series]] = Field(
        min_length=1, max_length=100, description="{table: {line: {at: number}}}; what is not printed is left out"
    )

    def rows(self) -> list[Row]:
        return [
            {"table": table, "line": line, "at": at, "number": number}
            for table, lines in self.tables.items()
            for line, series in lines.items()
            for at, number in series.items()
        ]
