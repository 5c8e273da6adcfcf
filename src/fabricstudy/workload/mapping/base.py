"""What every mapping has."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fabricstudy.kinds import Family, Kind

from ..messages import Indices, Messages
from .slots import Slots


class Mapping(Kind):
    """Which rank sits where on the nodes of a job."""

    FAMILY: ClassVar[Family] = Family("mapping", "fabricstudy.workload.mapping")

    needs_traffic: ClassVar[bool] = False
    """Whether it goes by the messages; a pattern that follows the placement has none before."""

    def check_ranks(self, ranks: int) -> None:
        """Refuse a number of ranks that the mapping cannot place.

        Raises
        ------
        ConfigError
            With the path below the mapping.
        """

    def map_ranks(self, slots: Slots, messages: Messages | None, rng: np.random.Generator) -> Indices:
        """Give the core of each rank, a permutation of the job's cores, integers [ranks].

        Parameters
        ----------
        slots : Slots
            The cores.
        messages : Messages or None
            What the ranks send; None if that depends on where they sit.
        rng : numpy.random.Generator
            Stream of the job's mapping.

        Raises
        ------
        WorkloadError
            If it cannot be done.
        """
        raise NotImplementedError
