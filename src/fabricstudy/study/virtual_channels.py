"""Virtual channels: all routings that a study compares on a machine have the same number, and so the same buffers.

The number is ``network.virtual_channels`` of the study, or that of the routing that needs most.
"""

from collections import defaultdict
from collections.abc import Iterable

from fabricstudy.engine.point import Point, machine_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Network
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing


class VirtualChannels:
    """The virtual channels of the points of a study; `compared` yields machine id, machine and routing."""

    def __init__(self, compared: Iterable[tuple[str, Topology, Routing]]) -> None:
        self._machines: dict[str, Topology] = {}
        self._routings: defaultdict[str, set[Routing]] = defaultdict(set)
        self._needed: dict[tuple[str, str], dict[Routing, int | None]] = {}
        for name, machine, routing in compared:
            self._machines[name] = machine
            self._routings[name].add(routing)

    def network(self, machine: str, routing: Routing, network: Network, engine: str) -> Network:
        """Return the network of a point with its virtual channels, unless the study sets them or all routings agree."""
        if network.virtual_channels is not None or len(self._routings[machine]) < 2:
            return network
        if (machine, engine) not in self._needed:
            built, adapter = self._machines[machine].build(), engine_named(engine)
            of_routing = {each: adapter.virtual_channels(each, built) for each in self._routings[machine]}
            self._needed[machine, engine] = of_routing  # None where they cannot be set
        needed = self._needed[machine, engine]
        most = max((count for count in needed.values() if count is not None), default=None)
        if needed[routing] in (None, most):
            return network
        resolved = network.model_copy(update={"virtual_channels": most})
        resolved.model_fields_set.discard("virtual_channels")  # the study does not set it
        return resolved

    def of_point(self, point: Point) -> Point:
        network = self.network(machine_id(point.machine), point.routing, point.network, point.engine.kind)
        return point if network is point.network else point.model_copy(update={"network": network})
