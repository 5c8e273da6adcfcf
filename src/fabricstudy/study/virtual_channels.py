"""Virtual channels: all routings of a machine in an experiment have the same number, and so the same buffers.

The number is ``network.virtual_channels`` of the study, or that of the routing that needs most.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache, lru_cache

from fabricstudy.engine.point import Point, machine_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Network
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing


class VirtualChannels:
    """The virtual channels of the points of a study; `compared` yields experiment, machine id, machine and routing."""

    def __init__(self, compared: Iterable[tuple[str, str, Topology, Routing]]) -> None:
        self._machines: dict[str, Topology] = {}
        self._routings: defaultdict[tuple[str, str], set[Routing]] = defaultdict(set)
        self._built = lru_cache(maxsize=4)(lambda machine: self._machines[machine].build())
        self._of_routing = cache(self._virtual_channels)
        self._of_experiment = cache(self._needed)
        for experiment, name, machine, routing in compared:
            self._machines[name] = machine
            self._routings[experiment, name].add(routing)

    def _virtual_channels(self, machine: str, engine: str, routing: Routing) -> int | None:
        """Return the default of a routing, or None where the engine sets them itself."""
        return engine_named(engine).virtual_channels(routing, self._built(machine))

    def _needed(self, experiment: str, machine: str, engine: str) -> dict[Routing, int | None]:
        """Return the default of each routing of a machine in an experiment."""
        return {each: self._of_routing(machine, engine, each) for each in self._routings[experiment, machine]}

    def network(self, experiment: str, machine: str, routing: Routing, network: Network, engine: str) -> Network:
        """Return the network of a point with its virtual channels, unless the study sets them or all routings agree."""
        if network.virtual_channels is not None or len(self._routings[experiment, machine]) < 2:
            return network
        needed = self._of_experiment(experiment, machine, engine)
        most = max((count for count in needed.values() if count is not None), default=None)
        if needed[routing] in (None, most):
            return network
        resolved = network.model_copy(update={"virtual_channels": most})
        resolved.model_fields_set.discard("virtual_channels")  # the study does not set it
        return resolved

    def of_point(self, experiment: str, point: Point) -> Point:
        name = machine_id(point.machine)
        network = self.network(experiment, name, point.routing, point.network, point.engine.kind)
        return point if network is point.network else point.model_copy(update={"network": network})
