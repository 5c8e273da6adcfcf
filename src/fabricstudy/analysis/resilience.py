"""Connectivity, hops, bisection and throughput of machines whose cables fail at random."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.model import ConfigError, Number, Whole, model_check
from fabricstudy.machine.base import Topology
from fabricstudy.machine.faults import Faults, fault_order, number_of, with_faults
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.minimal import MinimalRoutes
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.saturation import offered_rates
from fabricstudy.structure.summary import hop_figures
from fabricstudy.workload.traffic.adversarial import GroupShift, Tornado
from fabricstudy.workload.traffic.base import Destinations, Traffic
from fabricstudy.workload.traffic.permutations import Shift

from .base import Analysis, Row

SAMPLED_ROUTERS = 200
"""Routers from which hops are counted on machines of more than `MAX_EXACT` routers."""

MAX_EXACT = 2048
"""Routers up to which all pairs are considered, and loads are computed."""

RESILIENCE_METRICS = (
    "diameter", "mean_hops", "bisection_lower_Bps", "bisection_upper_Bps", "uniform_load", "adversary_load",
    "disconnected_percent",
)  # fmt: skip


class Resilience(Analysis, kind="resilience"):
    """Machines whose cables fail at random: connectivity, hops, bisection and throughput.

    For each draw the cables fail in a random order, so that those of 2 % are among those of 5 %. Packets take minimal
    paths on what is left. The columns:

    * `machine`, `percent`: label of the machine, and failed cables in percent of all
    * `failed`: number of failed cables
    * `connected`: share of the draws in which all routers with nodes are connected; the following ones are of these
    * `diameter`, `mean_hops`: between distinct routers with nodes; on machines of more than 2,048 routers from 200
      routers drawn at random (`sources`), so that the diameter is a lower bound
    * `bisection_lower_Bps`, `bisection_upper_Bps`: bounds of the bisection
    * `uniform_load`, `adversary_load`: load, over the bandwidth of a node's link, at which the bottleneck cable is full
      under minimal routing, where packets split equally at each hop; above 1 the nodes are the bottleneck. For uniform
      traffic, and for the adversary: group-shift traffic on machines with groups, tornado on grids, else a shift by
      half of the nodes. None on machines of more than 2,048 routers
    * `disconnected_percent`: failed cables at which routers with nodes are first disconnected, over all draws

    Each of these from the diameter on is the median over the draws; `_low` and `_high` are their minimum and maximum.
    """

    keys = ("machine", "percent")
    numbers = (
        "percent", "failed", "connected", "sources",
        *(f"{metric}{end}" for metric in RESILIENCE_METRICS for end in ("", "_low", "_high")),
    )  # fmt: skip

    machines: dict[str, Topology] = Field(min_length=1, max_length=1000, description="{label: machine}")
    percent: Annotated[tuple[Annotated[Number, Field(ge=0, lt=100)], ...], Field(min_length=1, max_length=100)] = Field(
        (0.0, 2.0, 5.0, 10.0), description="failed cables between routers, in percent of all"
    )
    draws: Whole = Field(5, ge=1, le=10_000, description="number of draws (seeds 1, 2, ...)")
    of: tuple[str, ...] = Field((), description="link classes of the cables that fail; default: all")
    bounds: Literal["all", "none"] = Field(
        "all", description="none: leave bisection and loads out, which take most of the time"
    )

    @model_check
    def _some_cables_fail(self) -> None:
        for label, machine in self.machines.items():
            for index, percent in enumerate(self.percent):
                if percent and not self.of:
                    try:
                        number_of(f"{percent:g} %", machine.cables, "cables")
                    except ConfigError as error:
                        problem = f"{label}: {error.problem}"
                        raise ConfigError(problem, "raise it", ("percent", str(index)), percent, error.code) from None

    def rows(self) -> list[Row]:
        return [row for label, config in self.machines.items() for row in self._rows(label, config)]

    def _rows(self, label: str, config: Topology) -> Iterator[Row]:
        machine = config.build()
        adversary = adversary_of(config).destinations(machine, np.random.default_rng(0))
        chosen = [number for number, link in enumerate(machine.classes) if not self.of or link.name in self.of]
        cables = np.flatnonzero(np.isin(machine.cable_class, chosen)[machine.row_of_cable])
        orders = (fault_order(cables, seed) for seed in range(1, self.draws + 1))
        disconnected = [100 * disconnected_at(machine, order) / len(cables) for order in orders]
        for percent in sorted(set(self.percent)):
            failed = number_of(f"{percent:g} %", len(cables), "cables") if percent else 0
            found = []
            for seed in range(1, self.draws + 1 if failed else 2):
                faults = Faults.model_validate({"cables": failed, "of": self.of, "seed": seed})
                left = connected_rest(machine, faults)
                if left is not None:
                    found.append(figures_of(left, adversary, self.bounds == "all"))
            columns: dict[str, list[Any]] = {name: [facts.get(name) for facts in found] for name in RESILIENCE_METRICS}
            columns["disconnected_percent"] = disconnected
            yield {
                "machine": label, "percent": percent, "failed": failed, "sources": len(sources_of(machine)),
                "connected": len(found) / (self.draws if failed else 1),
                **{name: value for metric, values in columns.items() for name, value in _spread(metric, values)},
            }  # fmt: skip


def _spread(metric: str, values: list[Any]) -> Iterator[tuple[str, float | None]]:
    known = [value for value in values if value is not None]
    for end, of in (("", np.median), ("_low", np.min), ("_high", np.max)):
        yield f"{metric}{end}", float(of(known)) if known else None


def adversary_of(config: Topology) -> Traffic:
    """Return the traffic that a machine carries worst, by its structure."""
    for traffic in (GroupShift(), Tornado()):
        try:
            traffic.check_on(config)
        except ConfigError:
            continue
        return traffic
    return Shift(nodes=max(1, config.nodes // 2))


def connected_rest(machine: Machine, faults: Faults) -> Machine | None:
    """Return what faults leave of a machine, or None if nodes are cut off."""
    try:
        left = with_faults(machine, faults) if faults.exist else machine
    except ConfigError as error:
        if error.code != "invalid-machine":
            raise
        return None
    return left if left.nodes == machine.nodes else None


def figures_of(
    machine: Machine, adversary: Destinations | None, bounds: bool = True, quickly: bool = True
) -> dict[str, float]:
    """Return the metrics of a connected machine."""
    diameter, mean_hops = hop_figures(machine, sources_of(machine))
    facts = {"diameter": float(diameter), "mean_hops": mean_hops}
    if not bounds:
        return facts
    bisection = bisection_bounds(machine, quickly)
    facts |= {"bisection_lower_Bps": bisection.lower_Bps, "bisection_upper_Bps": bisection.upper_Bps}
    if machine.routers <= MAX_EXACT:
        nodes = machine.nodes_of_router.astype(np.float64)
        facts["uniform_load"] = full_load(machine, np.outer(nodes, nodes) / (machine.nodes - 1))
        if adversary is not None:
            facts["adversary_load"] = full_load(machine, offered_rates(machine, *adversary).between)
    return facts


def full_load(machine: Machine, rates: Floats) -> float:
    """Return the load at which the bottleneck cable is full under minimal routing; `rates` [from, to] are of load 1."""
    between = rates * machine.host.bandwidth_Bps
    np.fill_diagonal(between, 0.0)
    busiest = machine.bottleneck_s(MinimalRoutes(machine).loads_between(between))
    return 1 / busiest if busiest else np.inf


def sources_of(machine: Machine) -> Ints:
    """Return the routers from which hops are counted: all with nodes, or a sample of them."""
    ends = np.flatnonzero(machine.nodes_of_router)
    return ends if machine.routers <= MAX_EXACT else np.random.default_rng(0).permutation(ends)[:SAMPLED_ROUTERS]


def disconnected_at(machine: Machine, order: Ints) -> int:
    """Return the number of failed cables, in `order`, at which some routers with nodes are disconnected.

    Cables that fail late form a maximum spanning tree; the first failure in its part between routers with nodes
    separates some of them. The number is one more than all cables if they remain connected.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    failure = np.full(machine.cables, len(order) + 1)
    failure[order] = np.arange(1, len(order) + 1)
    last = np.zeros(len(machine.cable_count), dtype=np.int64)
    np.maximum.at(last, machine.row_of_cable, failure)
    # Rows of two classes may join the same routers.
    ends = np.sort(np.stack([machine.cable_tail, machine.cable_head]), axis=0).astype(np.int64)
    pair, index = np.unique(ends[0] * machine.routers + ends[1], return_inverse=True)
    latest = np.zeros(len(pair), dtype=np.int64)
    np.maximum.at(latest, index, last)
    weight = (len(order) + 2 - latest).astype(np.float64)
    graph = csr_array((weight, np.divmod(pair, machine.routers)), shape=(machine.routers,) * 2)
    tree = minimum_spanning_tree(graph).tocoo()
    tail, head, fails = tree.row, tree.col, len(order) + 2 - tree.data
    while True:  # prune branches without nodes
        degree = np.bincount(np.concatenate([tail, head]), minlength=machine.routers)
        bare = (degree == 1) & (machine.nodes_of_router == 0)
        kept = ~(bare[tail] | bare[head])
        if kept.all():
            return int(fails.min())
        tail, head, fails = tail[kept], head[kept], fails[kept]
