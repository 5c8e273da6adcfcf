"""Communication patterns: one module per pattern.

In: the number of ranks and a random stream; or a `JobPlacement`, for patterns that depend on the placement.
Out: the `Sends` of all iterations, in any order, never from a rank to itself. `in_send_order` then sorts those of each
rank into the order set in the study.
"""

from fabricstudy.workload.pattern.send_order import in_send_order

from .base import MessagePattern, Pattern, TrafficEstimate
from .job_placement import JobPlacement
from .sends import Sends, concatenate_phases, one_phase, repeat

__all__ = [
    "JobPlacement", "MessagePattern", "Pattern", "Sends", "TrafficEstimate", "concatenate_phases", "in_send_order",
    "one_phase", "repeat",
]  # fmt: skip
