"""All paths that a routing allows, as an acyclic graph."""

from typing import NamedTuple

from fabricstudy.core.arrays import Floats, Int32s, Ints


class PathGraph(NamedTuple):
    """Paths of flows; a state is a packet at a router with a goal."""

    begin: Ints
    """State s has the hops ``begin[s] : begin[s + 1]``, none at a goal; int64 [states + 1]."""
    link: Int32s
    to: Int32s
    """Directed link and next state, which has a lower number, of each hop; int32 [hops] each."""
    start: Ints
    """First state of each flow; int64 [flows]."""
    size_bytes: Floats
    """Bytes of each flow; float64 [flows]."""

    @property
    def work(self) -> int:
        """Work of `shortest`, in hops."""
        return len(self.link)

    def shortest(self, length: Floats) -> Floats:
        """Return the bytes on each link, float64 [links], if flows take paths of least total `length` [links]."""
        # Imports numba, which planning does not need.
        from .kernels import shortest_loads

        load: Floats = shortest_loads(*self, length)
        return load

    def limits(self, capacity_Bps: Floats, latency_ns: Floats) -> tuple[Floats, Floats]:
        """Return the bandwidth of all paths of each flow together, at most, and the latency of its fastest one.

        The arguments are float64 [links], the results float64 [flows]. The bandwidth is exact for one path.
        """
        # Imports numba, which planning does not need.
        from .kernels import path_limits

        bandwidth_Bps, least_ns = path_limits(self.begin, self.link, self.to, capacity_Bps, latency_ns)
        return bandwidth_Bps[self.start], least_ns[self.start]
