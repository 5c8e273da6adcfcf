"""The jobs of a trace as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np
import numpy.typing as npt

from fabricstudy.core.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs in the order of submission; those of one instant by their number. Arrays are int64 or float64 [jobs]."""

    number: Ints
    """Number in the trace."""
    submit_s: Floats
    runtime_s: Floats
    request_s: Floats
    """Time of submission, run time without slowdown, and requested time, none of them rounded."""
    nodes: Ints
    """Requested nodes."""
    executable: Ints
    queue: Ints
    """Numbers of its program and of its queue; -1 if unknown."""
    repairs: Mapping[str, int] = field(default_factory=dict)
    """Number of repaired irregularities of the trace by name, without those that did not occur."""

    def __len__(self) -> int:
        return len(self.number)

    def at(self, positions: Ints) -> Jobs:
        """Return the jobs at these positions, ascending."""
        names = [column.name for column in fields(self) if column.name != "repairs"]
        return replace(self, **{name: getattr(self, name)[positions] for name in names})

    @classmethod
    def of(
        cls,
        submit_s: npt.ArrayLike,
        runtime_s: npt.ArrayLike,
        request_s: npt.ArrayLike,
        nodes: npt.ArrayLike,
        number: npt.ArrayLike | None = None,
        executable: npt.ArrayLike = -1,
        queue: npt.ArrayLike = -1,
        repairs: Mapping[str, int] | None = None,
    ) -> Jobs:
        """Return jobs from columns in any order; default numbers count the rows from 1.

        Examples
        --------
        >>> Jobs.of([5, 0], [60, 60], [90, 90], [512, 1024]).number.tolist()
        [2, 1]
        """
        submit = np.asarray(submit_s, dtype=np.float64)
        numbers = np.arange(1, len(submit) + 1) if number is None else np.asarray(number, dtype=np.int64)
        order = np.lexsort((numbers, submit))

        def whole(column: npt.ArrayLike) -> Ints:
            return np.broadcast_to(column, submit.shape)[order].astype(np.int64)

        times = [np.asarray(column, dtype=np.float64)[order] for column in (runtime_s, request_s)]
        return cls(
            numbers[order], submit[order], times[0], times[1], whole(nodes), whole(executable), whole(queue),
            dict(repairs or {}),
        )  # fmt: skip
