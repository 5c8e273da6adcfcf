"""Deadlock freedom of routings."""

from pydantic import Field

from fabricstudy.core.model import ConfigError, at_path, model_check
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, Routing, cached_routes
from fabricstudy.structure.deadlock import channel_dependencies, is_deadlock_free

from .base import Analysis, Row


def _facts(machine: Machine, routing: Routing) -> Row:
    is_followed = isinstance(cached_routes(machine, routing), MemorylessRoutes)
    return {
        "dependencies": len(channel_dependencies(machine, routing)) if is_followed else None,
        "free": int(is_deadlock_free(machine, routing)),
        "free_with_one_channel": int(is_deadlock_free(machine, routing, one_channel=True)) if is_followed else None,
    }


MAX_CHECKED_ROUTERS = 600
"""Routers of the largest machine to check."""


class Deadlock(Analysis, kind="deadlock"):
    """Deadlock freedom (Dally and Seitz 1987) of each machine and routing.

    Valiant and UGAL use channel k for hop k, so that there are no cycles; for these only `free` is known. A routing
    that is undefined on a machine has no row. The columns:

    * `machine`, `routing`: labels of the row
    * `dependencies`: number of dependencies between channels
    * `free`: 1 if they have no cycle, else 0
    * `free_with_one_channel`: the same with one virtual channel a link instead of those that the routing uses
    """

    keys = ("machine", "routing")
    numbers = ("dependencies", "free", "free_with_one_channel")

    machines: dict[str, Topology] = Field(min_length=1, max_length=100, description="{label: machine}")
    routings: dict[str, Routing] = Field(min_length=1, max_length=100, description="{label: routing}")

    @model_check
    def _can_be_followed(self) -> None:
        for label, machine in self.machines.items():
            if machine.routers > MAX_CHECKED_ROUTERS:
                problem = f"{machine.routers:,} routers are too many to follow all channels"
                remedy = f"take a machine of at most {MAX_CHECKED_ROUTERS} routers"
                raise ConfigError(problem, remedy, ("machines", label), code="out-of-range")
        for name, routing in self.routings.items():
            for machine in self.machines.values():
                if routing.needs is None or routing.needs in machine.traits:
                    with at_path("routings", name):
                        routing.check_machine(machine)

    def rows(self) -> list[Row]:
        rows = []
        for label, machine_config in self.machines.items():
            machine = machine_config.build()
            rows += [
                {"machine": label, "routing": name, **_facts(machine, routing)}
                for name, routing in self.routings.items()
                if routing.needs is None or routing.needs in machine_config.traits
            ]
        return rows
