"""Who sends to whom: one module a pattern.

In: the number of ranks and a random stream; or, for patterns that follow the job's place, a `Site`.
Out: the `Sends` of all iterations, in any order, never from a rank to itself. `in_send_order` then puts those of each
rank in the order that the study states.
"""

from fabricstudy.workload.pattern.send_order import in_send_order

from .base import MessagePattern, Pattern, Traffic
from .sends import Sends, in_phases, one_phase, repeat
from .site import Site

__all__ = ["MessagePattern", "Pattern", "Sends", "Site", "Traffic", "in_phases", "in_send_order", "one_phase", "repeat"]
