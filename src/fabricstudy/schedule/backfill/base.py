"""Base class of the backfilling rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.kinds import Family, Kind
from fabricstudy.core.model import ConfigError

if TYPE_CHECKING:
    from ..partitions import NodePool
    from ..state import ScheduleState


class Backfill(Kind):
    """Which later jobs may start while an earlier one waits."""

    FAMILY: ClassVar[Family] = Family("backfill")

    follows_order: ClassVar[bool] = True
    """Whether the order of the queue matters; otherwise it is that of submission."""

    needs_above: ClassVar[bool] = False
    """Whether it uses the larger partitions above each."""

    rule: ClassVar[int]
    """Its number in `fabricstudy.schedule.state`."""

    on_nodes: ClassVar[bool] = False
    """Whether it works on nodes without a topology."""

    def schedule(self, state: ScheduleState, score: Any) -> tuple[Floats, Ints]:
        """Run the event loop with this rule; write the starts and ends of jobs into `state`.

        Returns
        -------
        times_s, counts : float64 array [instants], int64 array [instants, 6]
            Instants, and from each on the midplanes that are busy, empty, idle for lack of cables, held and scattered,
            and the waiting jobs, as in `UtilisationSeries`.
        """
        from ..kernel import run_in_order

        return run_in_order(state, score, self.rule)

    def schedule_on_nodes(self, state: ScheduleState, score: Any, pool: NodePool) -> tuple[Floats, Ints, Ints]:
        """Run the event loop on nodes without a topology.

        Returns
        -------
        times_s, counts : float64 array [instants], int64 array [instants, 6]
            As `schedule`, with nodes for midplanes.
        spans : int64 array [spans, 3]
            Job, first node and last node.

        Raises ConfigError if this rule needs partitions.
        """
        if not self.on_nodes:
            problem = "this backfilling rule needs partitions"
            remedy = "use none, easy or conservative, or a list of partitions"
            raise ConfigError(problem, remedy, code="conflicting-keys")
        from ..kernel import run_nodes

        return run_nodes(state, score, pool.machine_nodes, self.rule, pool.counts_only)
