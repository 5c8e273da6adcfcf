"""Virtual channels: where a study compares routings on a machine, all of them get the same number.

Otherwise a comparison of routings would be one of buffers, too. A study that sets ``network.virtual_channels`` has that
number; else the routing that needs most decides, machine by machine.
"""

from collections import defaultdict
from collections.abc import Iterable

from fabricstudy.engine.point import Point, machine_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Network
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing


class VirtualChannels:
    """The virtual channels of the points of a study, of which `compared` has machine id, machine and routing."""

    def __init__(self, compared: Iterable[tuple[str, Topology, Routing]]) -> None:
        self._machines: dict[str, Topology] = {}
        self._routings: defaultdict[str, set[Routing]] = defaultdict(set)
        self._needed: dict[tuple[str, str], dict[Routing, int | None]] = {}
        for name, machine, routing in compared:
            self._machines[name] = machine
            self._routings[name].add(routing)

    def network(self, machine: str, routing: Routing, network: Network, engine: str) -> Network:
        """Return the network of a point; its own if it says how many channels there are, or all routings agree."""
        if network.virtual_channels is not None or len(self._routings[machine]) < 2:
            return network
        needed = self._needed_on(machine, engine)
        own, most = needed[routing], max((count for count in needed.values() if count is not None), default=None)
        if own in (None, most):
            return network
        resolved = network.model_copy(update={"virtual_channels": most})
        resolved.model_fields_set.discard("virtual_channels")  # the study does not set it
        return resolved

    def of_point(self, point: Point) -> Point:
        """Return the point with its virtual channels."""
        network = self.network(machine_id(point.machine), point.routing, point.network, point.engine.kind)
        return point if network is point.network else point.model_copy(update={"network": network})

    def _needed_on(self, machine: str, engine: str) -> dict[Routing, int | None]:
        """Return what each routing of the study takes by itself on a machine; None where that cannot be set."""
        if (machine, engine) not in self._needed:
            built, adapter = self._machines[machine].build(), engine_named(engine)
            routings = self._routings[machine]
            self._needed[machine, engine] = {one: adapter.virtual_channels(one, built) for one in routings}
        return self._needed[machine, engine]
