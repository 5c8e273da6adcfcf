"""The traffic of a communication matrix file."""

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.arrays import Integers
from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import SIZES, Size, to_unit

from ..matrix_file import MatrixFile, read_matrix
from .base import MessagePattern, TrafficEstimate
from .sends import Sends, one_phase
from .traffic_file import TrafficFile


@register
class Matrix(TrafficFile, MessagePattern):
    """The traffic of a communication matrix: row r contains the bytes from rank r to each rank, all in one phase.

    File formats are Matrix Market (.mtx), numpy (.npz: one array, or a sparse matrix of scipy) and CSV (.csv: the
    full matrix, or rows below the header source,destination,bytes). The job has as many ranks as the matrix has rows.
    Bytes are rounded to integers of at least 1; the diagonal is ignored. The point contains the digest of the file.
    """

    kind: Literal["matrix"] = "matrix"
    message_bytes: Size = Field(alias="message", description="maximum message size; the bytes of a pair are split")
    rows: SkipJsonSchema[Whole] = 0
    whole_messages: SkipJsonSchema[Whole] = 0
    rests: SkipJsonSchema[Whole] = 0
    rest_bytes: SkipJsonSchema[Whole] = 0

    READER: ClassVar[Any] = staticmethod(read_matrix)

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        try:
            cut_bytes = int(to_unit(str(value.get("message")), SIZES.unit, "100 kB"))
            SIZES.check(cut_bytes)
        except ConfigError:
            return {}  # validation of the key raises the same error
        rest = content.size_bytes % cut_bytes
        return {
            "rows": content.ranks,
            "whole_messages": int((content.size_bytes // cut_bytes).sum()),
            "rests": int(np.count_nonzero(rest)),
            "rest_bytes": int(rest.sum()),
        }

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size; the last messages of all pairs by their mean."""
        parts = [(self.whole_messages, int(self.message_bytes)), (self.rests, self.rest_bytes // max(1, self.rests))]
        return tuple(
            TrafficEstimate(float(count) * self.iterations, size_bytes) for count, size_bytes in parts if count
        )

    def check_ranks(self, ranks: int) -> None:
        if ranks != self.rows:
            problem = f"the matrix has {self.rows} rows, but the job has {ranks} ranks"
            raise ConfigError(problem, f"give the job {self.rows} ranks", ("file",), self.file, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        source, destination, size_bytes = split_into_messages(self.listed(), int(self.message_bytes))
        return one_phase(source, destination, self.iterations, size_bytes)


def split_into_messages(matrix: MatrixFile, most_bytes: int) -> tuple[Integers, Integers, Integers]:
    """Split the bytes of each pair into messages of `most_bytes`, the last one of a pair with the remainder.

    Examples
    --------
    >>> matrix = MatrixFile(2, np.array([0]), np.array([1]), np.array([25]))
    >>> split_into_messages(matrix, 10)[2].tolist()
    [10, 10, 5]
    """
    count = -(-matrix.size_bytes // most_bytes)
    size_bytes = np.full(int(count.sum()), most_bytes, dtype=np.int64)
    size_bytes[np.cumsum(count) - 1] = matrix.size_bytes - (count - 1) * most_bytes
    return np.repeat(matrix.source, count), np.repeat(matrix.destination, count), size_bytes
