"""Candidates for the next machine, and the Pareto-efficient ones.

The traffic is that of jobs on the first nodes in the order of their numbers, with a linear mapping, which is the same
on every candidate. `PairBytes.bound_ns` has its lower bound for any routing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import inf, isnan
from typing import Any

import numpy as np
from pydantic import Field

from fabricstudy.core.errors import FabricstudyError, suggestion
from fabricstudy.core.model import ConfigError, Number, Whole, model_check
from fabricstudy.core.quantities import Bandwidth
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.proposals import proposals
from fabricstudy.machine.requirements import MachineRequirements
from fabricstudy.structure.bisection import BisectionBounds, bisection_bounds
from fabricstudy.structure.cost import bill_of_materials
from fabricstudy.structure.pareto import is_pareto_efficient, representatives
from fabricstudy.structure.prices import Prices, Tariff
from fabricstudy.structure.prices.besta_2014 import Besta2014
from fabricstudy.structure.summary import hop_figures
from fabricstudy.workload.job import Job
from fabricstudy.workload.pattern.all_to_all import AllToAll

from .base import Analysis, Row
from .pair_bytes import PairBytes

MAX_NODE_EXCESS = 0.05
MOST_LISTED = 20
"""Machines of the front with a reason."""
_COMPARED = ("nodes", "routers", "ports", "mean_hops", "bisection_upper_Bps", "price_per_node", "bound_ns")
"""Columns in which candidates of one row are equal."""
ALL_TO_ALL_JOB = Job(share=1.0, pattern=AllToAll.model_validate({"message": "1 kB"}))


class Candidates(Analysis, kind="candidates"):
    """All machines of every family with about so many nodes and routers of so many ports, and the Pareto front.

    All cables have one bandwidth. Machines with more than `ports_per_node` ports of routers for each node are left out;
    a full fat tree of three levels has 5. The columns:

    * `machine`: its keys; `family`: its kind; `equal`: other machines with the same numbers, which have no row of their
      own, as one network may be a dragonfly and a HyperX
    * `nodes`, `routers`; `ports`: in use of the largest router; `diameter`, `mean_hops`
    * `bisection_lower_Bps`, `bisection_upper_Bps`: a proven interval, closer for rows that may be on the front;
      `fabricstudy machine` searches small machines exhaustively and may find a narrower one
    * `taper_lower`, `taper_upper`: what half of the nodes can send, over the upper and the lower end
    * `price_per_node`, `power_per_node_W`: as in the analysis `cost`, every router with all its ports
    * `bound_ns`: lower bound on the time of the traffic of `jobs` for any routing, all jobs on the first nodes in order
    * `given`: 1 for those in `given_machines`, which are listed whatever their taper and price, else 0
    * `front`: 1 if no other candidate has at most its price a node, its bound and its `taper_upper` (below 1 counts as
      1), and less of one of them; else 0
    * `front_by`: the price lists by which it is on the front: `prices`, and those that need no file
    * `reason`: what at most 20 machines of the front have over the next cheaper one of them, empty for others; any
      other one on the front is about as good as one of the 20 (see `representatives`)
    * `undecided`: 1 if not on the front, and no other one on it has at most its price, bound and `taper_lower`, and
      less of one of them: the bisection decides; else 0
    """

    keys = ("machine",)
    labels = ("family", "equal", "front_by", "reason")
    numbers = (
        "nodes", "routers", "ports", "diameter", "mean_hops", "bisection_lower_Bps", "bisection_upper_Bps",
        "taper_lower", "taper_upper", "price_per_node", "power_per_node_W", "bound_ns", "given", "front", "undecided",
    )  # fmt: skip

    nodes: Whole = Field(ge=2, le=100_000, description="nodes, at least")
    max_nodes: Whole | None = Field(None, ge=2, description="nodes, at most; left out: 5 % more")
    radix: Whole = Field(ge=3, le=1024, description="ports of a router")
    ports_per_node: Number = Field(8.0, gt=0, le=1000, description="ports of all routers for each node, at most")
    taper: Number | None = Field(
        None, gt=0, description="`taper_lower`, at most, and `taper_upper` of those on the front; left out: any"
    )
    price_at_most: Number | None = Field(None, gt=0, description="price per node, at most; left out: any")
    price_at_least: Number | None = Field(None, ge=0, description="price per node, at least; left out: any")
    given_machines: dict[str, Topology] = Field(
        default_factory=dict, max_length=100, description="{label: machine}: further candidates, such as the incumbent"
    )
    families: tuple[str, ...] = Field((), description="kinds of machines; left out: all that offer some")
    bandwidth_Bps: Bandwidth = Field(
        "25 GB/s", alias="bandwidth", validate_default=True, description="of all cables, one direction"
    )
    cores_per_node: Whole = Field(1, ge=1, le=10_000, description="cores of a node")
    jobs: tuple[Job, ...] = Field(
        (ALL_TO_ALL_JOB,),
        min_length=1,
        max_length=1000,
        description="whose traffic the bound is of; a share is of `nodes`",
    )
    prices: Prices = Field(default_factory=Besta2014, description="price list")
    routers_per_rack: Whole | None = Field(
        8, ge=1, le=100_000, description="for the floor plan; null: cables as long as their latency says, 8 m"
    )

    @model_check
    def _fits(self) -> None:
        if self.largest < self.nodes:
            problem = f"fewer than the {self.nodes} at least"
            raise ConfigError(problem, "swap them", ("max_nodes",), self.max_nodes, "out-of-range")
        if self.price_at_most is not None and (self.price_at_least or 0) > self.price_at_most:
            problem = f"less than the {self.price_at_least:g} at least"
            raise ConfigError(problem, "swap them", ("price_at_most",), self.price_at_most, "out-of-range")
        offering = MachineRequirements(2, 1000, 64, 1000)
        for index, name in enumerate(self.families):
            kinds: dict[str, Any] = dict(Topology.FAMILY.members)
            families = [kind for kind, config in kinds.items() if next(config.configurations(offering), None)]
            if name not in families:
                problem = "no kind of machine that offers candidates"
                raise ConfigError(problem, suggestion(name, families), ("families", str(index)), name, "unknown-value")
        for index, job in enumerate(self.jobs):
            if job.pattern.follows_placement:
                problem = f"the pattern {job.pattern.kind} depends on the placement"
                path = ("jobs", str(index), "pattern")
                raise ConfigError(problem, "use another pattern", path, job.pattern.kind, "conflicting-keys")
        for label, machine in self.given_machines.items():
            if machine.nodes < self.nodes:
                problem = f"{machine.nodes} nodes, and the traffic is that of {self.nodes}"
                raise ConfigError(problem, "lower nodes", ("given_machines", label), machine.kind, "does-not-fit")
        wanted = sum(job.node_count(self.nodes) for job in self.jobs)
        if wanted > self.nodes:
            problem = f"they need {wanted} nodes of {self.nodes}"
            raise ConfigError(problem, "make them smaller", ("jobs",), wanted, "does-not-fit")

    @property
    def largest(self) -> int:
        """Most nodes."""
        return self.max_nodes or int(self.nodes * (1 + MAX_NODE_EXCESS))

    @property
    def predicted_cpu_s(self) -> float:
        # All families of 800 nodes took 17 s, and a machine about in proportion to its nodes.
        return 17.0 * self.largest / 800 * (len(self.families) / 11 if self.families else 1.0)

    def written(self) -> Iterator[tuple[str, dict[str, Any], Topology]]:
        """Yield the label of each candidate, its keys in a study, and the machine, as `proposals`."""
        most_routers = int(self.ports_per_node * self.largest / self.radix)
        wanted = MachineRequirements(self.nodes, self.largest, self.radix, most_routers)
        cores = {"cores_per_node": self.cores_per_node} if self.cores_per_node > 1 else {}
        found = proposals(wanted, {"bandwidth": f"{self.bandwidth_Bps / 1e9:g} GB/s", **cores}, self.families)
        first = next(found, None)
        if first is None and not self.given_machines:
            problem = f"no machine of {self.nodes} to {self.largest} nodes fits on routers of {self.radix} ports"
            raise FabricstudyError(f"{problem}; raise max_nodes, radix or ports_per_node")
        return chain([first] if first else [], found)

    def rows(self) -> list[Row]:
        return [row for row, _ in self.found(every_bound=True)]

    def found(
        self, tell: Callable[[str], None] | None = None, every_bound: bool = False
    ) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the row of each candidate and its keys in a study, sorted by price a node.

        `tell` is called with the progress before each machine. Lower bounds of bisections take most of the time; unless
        `every_bound`, they are 0 where a row is off the front at any of them. Raises FabricstudyError if there is no
        candidate.
        """
        traffic = PairBytes.of_jobs(self.jobs, self.nodes, self.cores_per_node)
        by_numbers = dict[tuple[float, ...], Row]()
        tariffs = {name: prices.tariff() for name, prices in self.price_lists.items()}
        candidates: list[_Candidate] = []
        for count, (label, written, config) in enumerate(self.written()):
            if tell is not None:
                tell(f"{count:,} so far, now {written['kind']}")
            one = self._candidate(label, written, config, every_bound, traffic, tariffs)
            price = one.row["price_per_node"]
            if not ((self.price_at_least or 0) <= price <= (self.price_at_most or inf) and self._may_fit(one)):
                continue
            first = by_numbers.setdefault(tuple(round(one.row[name], 6) for name in _COMPARED), one.row)
            if first is one.row:
                candidates.append(one)
            elif label not in (first["machine"], *first["equal"].split("; ")):
                first["equal"] = "; ".join(filter(None, (first["equal"], label)))
        for label, config in self.given_machines.items():
            one = self._candidate(label, {}, config, True, traffic, tariffs)
            one.row["given"] = 1
            one.bound_closely(traffic)
            candidates.append(one)
        if not candidates:
            problem = "no candidate has such a taper and price"
            raise FabricstudyError(f"{problem}; raise taper, price_at_most or ports_per_node, or lower price_at_least")
        candidates.sort(key=lambda one: (one.row["price_per_node"], one.row["bound_ns"]))
        for name in self.price_lists:
            for one in self._front(candidates, name, traffic):
                one.row["front_by"] = "; ".join(filter(None, (one.row["front_by"], name)))
                one.row["front"] |= int(name == self.prices.kind)
        self._mark_undecided(candidates)
        self._give_reasons([one for one in candidates if one.row["front"]])
        return [(one.row, one.written) for one in candidates if one.row["given"] or self._may_fit(one)]

    def _may_fit(self, one: "_Candidate") -> bool:
        return bool(one.row["taper_lower"] <= (self.taper or inf))

    @property
    def price_lists(self) -> dict[str, Prices]:
        """The price list, and the others that need no file, by kind."""
        return {self.prices.kind: self.prices} | self.prices.others()

    def _candidate(
        self,
        label: str,
        written: dict[str, Any],
        config: Topology,
        proven: bool,
        traffic: PairBytes,
        tariffs: dict[str, Tariff],
    ) -> "_Candidate":
        machine = config.build()
        bisection = bisection_bounds(machine, quickly=True, proven=proven)
        diameter, mean_hops = hop_figures(machine)
        radix = max(self.radix, machine.radix)
        totals = {
            name: bill_of_materials(machine, tariff, radix=radix, routers_per_rack=self.routers_per_rack)[-1]
            for name, tariff in tariffs.items()
        }
        power_W = totals[self.prices.kind].power_W / machine.nodes
        prices = {name: total.price / machine.nodes for name, total in totals.items()}
        row = {
            "machine": label, "family": machine.kind, "equal": "", "front_by": "", "reason": "", "nodes": machine.nodes,
            "routers": machine.routers, "ports": machine.radix, "diameter": diameter, "mean_hops": mean_hops,
            "price_per_node": prices[self.prices.kind], "power_per_node_W": None if isnan(power_W) else power_W,
            "bound_ns": traffic.bound_ns(machine, bisection.cut_side), "given": 0, "front": 0, "undecided": 0,
        }  # fmt: skip
        one = _Candidate(row, written, config, prices, bisection.exact)
        one.set_bisection(machine, bisection)
        return one

    def _front(self, candidates: list["_Candidate"], prices: str, traffic: PairBytes) -> list["_Candidate"]:
        """Return the candidates on the front by a price list, with close bounds of their bisections.

        A candidate without close bounds counts with its least possible taper, which no close bound is below; so what a
        front of close bounds alone excludes is off it at any bound.
        """
        while True:
            fitting = [one for one in candidates if one.row["given"] or one.taper(one.close) <= (self.taper or inf)]
            efficient = is_pareto_efficient(np.array([one.costs(prices, one.close) for one in fitting]).reshape(-1, 3))
            front = [one for one, best in zip(fitting, efficient, strict=True) if best]
            loose = [one for one in front if not one.close]
            if not loose:
                return front
            for one in loose:
                one.bound_closely(traffic)

    def _give_reasons(self, front: list["_Candidate"]) -> None:
        """Set the reason of the listed machines of the front, which are sorted by price."""
        costs = np.array([one.costs(self.prices.kind, True) for one in front]).reshape(-1, 3)
        chosen = representatives(costs, MOST_LISTED)
        least = costs.min(axis=0, initial=inf)
        for before, number in zip([None, *chosen], chosen, strict=False):
            price, *others = costs[number]
            words = [f"lowest {name}" for name, best in zip(_COSTS, costs[number] <= least, strict=True) if best]
            if before is not None:
                old_price, *old = costs[before]
                changes = [
                    f"{new / was - 1:+.1%} {name}"
                    for name, new, was in zip(_COSTS[1:], others, old, strict=True)
                    if new < was
                ]
                words.append(f"{' and '.join(changes)} for {price / old_price - 1:+.1%} price")
            front[number].row["reason"] = "; ".join(words)

    def _mark_undecided(self, candidates: list["_Candidate"]) -> None:
        """Mark those with close bounds that only the lower end of the bisection keeps off the front."""
        front = np.array([one.costs(self.prices.kind, True) for one in candidates if one.row["front"]])
        for one in candidates:
            if one.close and not one.row["front"] and (one.row["given"] or self._may_fit(one)):
                best = np.array(one.costs(self.prices.kind, False))
                beaten = len(front) and ((front <= best).all(axis=1) & (front < best).any(axis=1)).any()
                one.row["undecided"] = int(not beaten)


@dataclass(eq=False)
class _Candidate:
    """A candidate: its row, keys in a study, machine, and prices per node by price list; `close` has close bounds."""

    row: dict[str, Any]
    written: dict[str, Any]
    config: Topology
    prices: dict[str, float]
    close: bool = False

    def taper(self, proven: bool) -> float:
        """Return the proven or the least possible taper."""
        return float(self.row["taper_upper" if proven else "taper_lower"])

    def costs(self, prices: str, proven: bool) -> tuple[float, ...]:
        """Return price, bound and taper, rounded, since they have floating-point errors."""
        costs = self.prices[prices], self.row["bound_ns"], max(1.0, self.taper(proven))
        return tuple(round(cost, 6) for cost in costs)

    def set_bisection(self, machine: Machine, bisection: BisectionBounds) -> None:
        """Set the bisection and the taper; without a lower bound the taper is at most None."""
        half_Bps, lower_Bps = machine.nodes / 2 * machine.host.bandwidth_Bps, bisection.lower_Bps
        self.row |= {
            "bisection_lower_Bps": lower_Bps, "bisection_upper_Bps": bisection.upper_Bps,
            "taper_lower": half_Bps / bisection.upper_Bps, "taper_upper": half_Bps / lower_Bps if lower_Bps else None,
        }  # fmt: skip

    def bound_closely(self, traffic: PairBytes) -> None:
        """Set the bounds of the bisection of `fabricstudy machine` without an exhaustive search, and of the time."""
        machine = self.config.build()
        bisection = bisection_bounds(machine, exhaustive=False)
        self.row["bound_ns"] = max(self.row["bound_ns"], traffic.bound_ns(machine, bisection.cut_side))
        self.set_bisection(machine, bisection)
        self.close = True


_COSTS = ("price", "bound", "taper")
"""Names of what `_Candidate.costs` returns."""
