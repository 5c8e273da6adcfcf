"""Who sends to whom: one module a pattern.

In: the number of ranks and a random stream; or, for patterns that follow the job's place, a `JobPlacement`.
Out: the `Sends` of all iterations, in any order, never from a rank to itself. `in_send_order` then puts those of each
rank in the order that the study states.
"""

from fabricstudy.workload.pattern.send_order import in_send_order

from .base import MessagePattern, Pattern, TrafficEstimate
from .job_placement import JobPlacement
from .sends import Sends, concatenate_phases, one_phase, repeat

__all__ = [
    "JobPlacement",
    "MessagePattern",
    "Pattern",
    "Sends",
    "TrafficEstimate",
    "concatenate_phases",
    "in_send_order",
    "one_phase",
    "repeat",
]
