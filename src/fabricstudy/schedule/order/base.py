"""Base class of the orders of the queue."""

from typing import ClassVar

from fabricstudy.core.arrays import Floats
from fabricstudy.core.kinds import Kind


class Order(Kind, family="order"):
    """Which waiting job comes first: the one of highest score, then the earlier submitted, then the lower number."""

    changes: ClassVar[bool] = False
    """Whether the order of two jobs may change while they wait; then scores are computed at each pass."""

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        """Write the score of each job into `score`; all arrays are float64 [jobs].

        It is compiled by numba: use plain loops and the functions of numpy that numba supports. Without `changes` it
        must not read `now_s`.
        """
        raise NotImplementedError
