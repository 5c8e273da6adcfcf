"""Numbers printed in a source."""

from typing import Annotated

from pydantic import Field

from fabricstudy.analysis.base import Analysis, Row
from fabricstudy.core.model import Number

Series = Annotated[dict[Number, Number], Field(min_length=1)]


class Printed(Analysis, kind="printed"):
    """A table printed in a source, to check statements of the source and to compare with computed tables.

    The columns:

    * `table`, `line`: labels of the table, and of its line
    * `at`: head of the column, such as cores
    * `number`: the number
    """

    keys = ("table", "line", "at")
    numbers = ("at", "number")

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
