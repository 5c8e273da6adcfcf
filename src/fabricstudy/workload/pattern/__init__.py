"""Communication patterns: one module per pattern.

In: the number of ranks and a random stream; or a `JobPlacement`, for patterns that depend on the placement.
Out: the `Sends` of all iterations, in any order, never from a rank to itself. `in_send_order` then sorts those of each
rank into the order set in the study.
"""

from .base import JobPlacement, MessagePattern, Sends, TrafficEstimate, concatenate_phases, one_phase, repeat

__all__ = ["JobPlacement", "MessagePattern", "Sends", "TrafficEstimate", "concatenate_phases", "one_phase", "repeat"]
