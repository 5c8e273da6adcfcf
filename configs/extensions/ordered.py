"""Mapping along the dimensions of the machine, in a given order."""

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers, number_within
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.mapping.tasks import Slots, Tasks
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.pattern.base import Pattern

SEATS = "T"


class OrderedMapping(Mapping, kind="ordered"):
    """Ranks along the dimensions of the machine, the first letter fastest, as in the orders XYZT and TXYZ of Blue Gene.

    T stands for the cores of a router's nodes: XYZT maps consecutive ranks to neighbours along X, and uses the second
    core of each node last; TXYZ fills node after node. The dimensions have the letters of their link classes. The nodes
    of a job smaller than the machine keep this order (IBM Blue Gene/P Application Development, 2009).
    """

    order: str = Field(
        min_length=2, max_length=27, description="a permutation of T and the machine's dimensions, such as XYZT"
    )

    def check_fit(self, machine: Topology, pattern: Pattern, ranks: int) -> None:
        super().check_fit(machine, pattern, ranks)
        names = "".join(getattr(machine, "axis_names", ()))[: len(getattr(machine, "grid", ()))]
        if "dimensions" not in machine.traits:
            problem = f"{self.kind} needs dimensions, but a machine of kind {machine.kind} has none"
            remedy = "use another mapping, such as linear"
            raise ConfigError(problem, remedy, ("order",), self.order, "unsupported")
        _check_letters(self.order, names)

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        machine = slots.machine
        try:
            _check_letters(self.order, _letters(machine))
        except ConfigError as error:
            raise WorkloadError(str(error)) from None
        coordinates = dict(zip(_letters(machine), slots.coordinates_of_core.T, strict=True))
        coordinates[SEATS] = number_within(slots.router_of_core)
        return np.lexsort([coordinates[letter] for letter in self.order.upper()])


def _letters(machine: Machine) -> str:
    return "".join(link.name for link in machine.classes[: len(machine.dimensions)]).upper()


def _check_letters(order: str, names: str) -> None:
    letters = names.upper() + SEATS
    if sorted(order.upper()) != sorted(letters):
        problem = f"the order is not a permutation of the letters {letters}"
        remedy = f"write each of them once, such as {letters}"
        raise ConfigError(problem, remedy, ("order",), order, "unsupported")
