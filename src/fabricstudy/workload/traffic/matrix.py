"""The traffic of a matrix file."""

from typing import Any

import numpy as np
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from ..pattern.matrix import MatrixFileKeys
from .base import Destinations, Traffic


class MatrixTraffic(MatrixFileKeys, Traffic, kind="matrix"):
    """Node i sends to each node in proportion to row i of a matrix; each row is normalised, empty ones are idle.

    The file formats are those of the pattern `matrix`.
    """

    rows: SkipJsonSchema[Whole] = 0

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        return {"rows": content.ranks}

    def check_machine(self, machine: Topology) -> None:
        if self.rows != machine.nodes:
            problem = f"the matrix has {self.rows} rows, and the machine has {machine.nodes} nodes"
            raise ConfigError(problem, "use a matrix with a row for each node", ("file",), self.file, "does-not-fit")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        matrix = self.listed()
        sent = np.bincount(matrix.source, weights=matrix.size_bytes, minlength=matrix.ranks)
        return Destinations(
            matrix.source, matrix.size_bytes / sent[matrix.source], matrix.destination, matrix.destination
        )
