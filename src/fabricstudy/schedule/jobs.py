"""Jobs of a trace, as every part of the schedule reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs in the order in which they were submitted; those of one instant stand by their number.

    Parameters
    ----------
    number : int64 array [jobs]
        Number in the trace.
    submit_s, runtime_s, request_s : float64 array [jobs]
        When it was submitted, how long it runs where nothing slows it, and how long it asked for. Nothing is rounded.
    nodes : int64 array [jobs]
        Nodes that it asked for.
    executable, queue : int64 array [jobs]
        Numbers of its program and of its queue; -1 where they are not known.
    counted : mapping
        Irregularities that were repaired while the trace was read, by name, with how often; only those that occurred.
    """

    number: Ints
    submit_s: Floats
    runtime_s: Floats
    request_s: Floats
    nodes: Ints
    executable: Ints
    queue: Ints
    counted: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.number)

    def at(self, places: Ints) -> Jobs:
        """Return the jobs at these places, ascending."""
        names = ("number", "submit_s", "runtime_s", "request_s", "nodes", "executable", "queue")
        return replace(self, **{name: getattr(self, name)[places] for name in names})

    @classmethod
    def of(
        cls,
        submit_s: npt.ArrayLike,
        runtime_s: npt.ArrayLike,
        request_s: npt.ArrayLike,
        nodes: npt.ArrayLike,
        number: npt.ArrayLike | None = None,
        executable: npt.ArrayLike | None = None,
        queue: npt.ArrayLike | None = None,
        counted: Mapping[str, int] | None = None,
    ) -> Jobs:
        """Put jobs in order; without numbers they are numbered from 1 as they stand.

        Examples
        --------
        >>> Jobs.of([5, 0], [60, 60], [90, 90], [512, 1024]).number.tolist()
        [2, 1]
        """
        submit = np.asarray(submit_s, dtype=np.float64)
        unknown = np.full(len(submit), -1)
        numbers = np.arange(1, len(submit) + 1) if number is None else np.asarray(number, dtype=np.int64)
        order = np.lexsort((numbers, submit))

        def whole(values: npt.ArrayLike | None) -> Ints:
            return np.asarray(unknown if values is None else values, dtype=np.int64)[order]

        return cls(
            number=numbers[order],
            submit_s=submit[order],
            runtime_s=np.asarray(runtime_s, dtype=np.float64)[order],
            request_s=np.asarray(request_s, dtype=np.float64)[order],
            nodes=whole(nodes),
            executable=whole(executable),
            queue=whole(queue),
            counted=dict(counted or {}),
        )
