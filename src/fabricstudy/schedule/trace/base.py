"""What every trace has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from fabricstudy.kinds import Family, Kind
from fabricstudy.model import Number

from ..jobs import Jobs

Load = Annotated[Number, Field(gt=0, le=3)]
"""Above 3, a queue is all there is to see."""


class Trace(Kind):
    """The jobs of a schedule: when each comes, what it asks for, and how long it runs."""

    FAMILY: ClassVar[Family] = Family("trace", "fabricstudy.schedule.trace")

    is_drawn: ClassVar[bool] = True
    """Whether it depends on the seed; a log does not, so it takes one seed only."""

    @property
    def expected_jobs(self) -> int:
        """About how many jobs it has, for the predicted cost."""
        return 10_000

    def files(self) -> tuple[Path, ...]:
        """Give the files that it reads."""
        return ()

    def jobs(self, machine_nodes: int, block_nodes: int, seed: int) -> Jobs:
        """Give the jobs, for a machine of so many nodes in building blocks of so many.

        The same seed gives the same sizes and arrivals whatever the load.

        Raises
        ------
        StudyError
            If it cannot be read, or holds no job that could be run.
        """
        raise NotImplementedError
