"""Allocations that keep jobs apart on grids and other low-diameter networks, and one that does not.

Those of Jain et al. (IPDPS 2017), and cuboids of routers in a grid.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Bools, Integers
from fabricstudy.core.model import ConfigError, Number, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grid import GridConfig
from fabricstudy.workload.allocation.base import NO_JOB, Allocation, Grant, Request
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.pattern.stencil import divisors

BoxSides = tuple[int, ...]
Prefer = Literal["best-bisection", "worst-bisection", "surface", "planes"]


def check_fits(nodes: int, most: int, part: str, value: str) -> None:
    """Raise ConfigError if a job needs more than the `most` nodes of a `part` of the machine."""
    if nodes > most:
        problem = f"the job needs {nodes} nodes, but a {part} has {most}"
        remedy = "make the job smaller, or use another allocation"
        raise ConfigError(problem, remedy, value=value, code="does-not-fit")


def reserved_groups(request: Request, groups: Integers) -> Grant:
    """Allocate the first nodes of some groups, and reserve all."""
    nodes = np.flatnonzero(np.isin(group_of_node(request), groups))
    return Grant(nodes[: request.wanted], nodes)


def sizes_and_taken(request: Request) -> tuple[Integers, Integers]:
    """Return the number of nodes of each group, and of its reserved nodes."""
    group = group_of_node(request)
    return np.bincount(group), np.bincount(group, weights=request.holder != NO_JOB).astype(np.int64)


def group_of_node(request: Request) -> Integers:
    """Return the group of each node; the groups of a tree are its pods."""
    assert request.machine.group is not None  # such policies need groups
    return request.machine.group[request.machine.node_router]


class OneGroup(Allocation, kind="one-group"):
    """A group (of a dragonfly or Slim Fly; pod of a fat tree) that no other job uses; the job reserves all of it.

    Minimal routes do not leave it, so such jobs share no links.
    """

    needs = "groups"

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        check_fits(nodes, machine.group_nodes, "group", self.kind)
        return machine.group_nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate the first group without jobs that is large enough."""
        sizes, used = sizes_and_taken(request)
        fitting = np.flatnonzero((used == 0) & (sizes >= request.wanted))
        if not len(fitting):
            raise WorkloadError(f"no free group has {request.wanted} nodes; make the job smaller, or use whole-groups")
        return reserved_groups(request, fitting[:1])


class WholeGroups(Allocation, kind="whole-groups"):
    """As many entire groups, or pods of a fat tree, as the job needs; the job reserves all of them.

    On dragonflies and fat trees their minimal routes share no links with those of other such jobs; on a Slim Fly only
    the routes within one group are isolated.
    """

    needs = "groups"

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        return -(-nodes // machine.group_nodes) * machine.group_nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate and reserve the first groups without jobs that together are large enough."""
        sizes, used = sizes_and_taken(request)
        free = np.flatnonzero((used == 0) & (sizes > 0))
        groups = int(np.searchsorted(np.cumsum(sizes[free]), request.wanted)) + 1
        if groups > len(free):
            problem = f"{len(free)} groups are free, but {request.wanted} nodes need more"
            raise WorkloadError(f"{problem}; make the jobs smaller")
        return reserved_groups(request, free[:groups])


def exact_boxes(routers: int, lines: Sequence[Dimension], prefer: Prefer = "best-bisection") -> tuple[BoxSides, ...]:
    """Return the sides of all cuboids of exactly `routers` routers, the preferred ones first.

    Ties in bisection or surface are broken by the shorter longest side; "planes" sorts by the longest first sides.

    Examples
    --------
    >>> exact_boxes(8, (Dimension(8, wrap=True), Dimension(4)))
    ((2, 4), (4, 2), (8, 1))
    >>> exact_boxes(8, (Dimension(8, wrap=True), Dimension(4)), "planes")
    ((8, 1), (4, 2), (2, 4))
    """
    return _sorted(list(_factorisations(routers, lines)), lines, prefer, routers)


def _factorisations(routers: int, lines: Sequence[Dimension]) -> Iterator[BoxSides]:
    if not lines and routers == 1:
        yield ()
    for side in divisors(routers) if lines else ():
        if side <= lines[0].length:
            yield from ((side, *rest) for rest in _factorisations(routers // side, lines[1:]))


@lru_cache(maxsize=1024)
def convex_boxes(
    routers: int,
    lines: tuple[Dimension, ...],
    block: BoxSides | None = None,
    prefer: Prefer = "best-bisection",
    spare: float = 0.0,
) -> tuple[BoxSides, ...]:
    """Return the sides of the minimal cuboids of at least `routers` routers that internal routes never leave.

    `Dimension.is_convex` defines the allowed sides; no side of a minimal cuboid can be shortened. The smallest come
    first, ties sorted as in `exact_boxes`; cuboids of up to (1 + `spare`) times `routers` count as equally large. Each
    side is a multiple of that of `block`, if given.

    Examples
    --------
    >>> convex_boxes(5, (Dimension(4), Dimension(4)))
    ((2, 3), (3, 2))
    >>> convex_boxes(5, (Dimension(4), Dimension(4)), (2, 4))
    ((2, 4),)
    >>> ring = Dimension(14, wrap=True)
    >>> convex_boxes(7, (ring, ring), prefer="surface")[0], convex_boxes(7, (ring, ring), None, "surface", 0.2)[0]
    ((1, 7), (2, 4))
    """
    sides = [
        [side for side in range(step, line.length + 1, step) if line.is_convex(side)]
        for step, line in zip(block or (1,) * len(lines), lines, strict=True)
    ]

    def shortens(box: BoxSides, axis: int) -> bool:
        index = sides[axis].index(box[axis])
        return index > 0 and math.prod(box) // box[axis] * sides[axis][index - 1] >= routers

    boxes = set(_covering(routers, sides))
    minimal = [box for box in boxes if not any(shortens(box, axis) for axis in range(len(box)))]
    return _sorted(minimal, lines, prefer, math.floor(routers * (1 + spare) + 1e-9))


def _covering(routers: int, sides: list[list[int]]) -> Iterator[BoxSides]:
    """BoxSides of cuboids of at least `routers` routers, the last side as short as possible."""
    for side in sides[0]:
        if len(sides) > 1:
            yield from ((side, *rest) for rest in _covering(-(-routers // side), sides[1:]))
        elif side >= routers:
            yield (side,)
        if side >= routers:
            return


def box_bisection_cables(box: BoxSides, lines: Sequence[Dimension]) -> int:
    """Return the cables across the middle of a cuboid in the dimension with the fewest; 0 for a single router.

    Only cables between routers of the cuboid count, so a ring counts twice only where the cuboid spans it.

    Examples
    --------
    >>> lines = [Dimension(8, wrap=True), Dimension(4)]
    >>> box_bisection_cables((8, 4), lines), box_bisection_cables((4, 4), lines), box_bisection_cables((2, 4), lines)
    (8, 4, 2)
    """
    routers = math.prod(box)
    return min((routers // side * line.cut(side) for side, line in zip(box, lines, strict=True) if side > 1), default=0)


def box_surface(box: BoxSides, lines: Sequence[Dimension]) -> int:
    """Return the faces of routers towards other routers; on rings, the cables that leave the cuboid.

    Examples
    --------
    >>> ring = Dimension(8, wrap=True)
    >>> box_surface((2, 4), [ring, ring]), box_surface((1, 8), [ring, ring])
    (12, 16)
    """
    routers = math.prod(box)
    return sum(2 * routers // side for side, line in zip(box, lines, strict=True) if side < line.length)


def _sorted(boxes: Sequence[BoxSides], lines: Sequence[Dimension], prefer: Prefer, equal: int) -> tuple[BoxSides, ...]:
    """Sort by size, where up to `equal` routers are equally large, then by preference."""

    def key(box: BoxSides) -> tuple[object, ...]:
        routers = math.prod(box)
        larger = max(routers, equal)
        if prefer == "planes":
            return larger, tuple(-side for side in box)
        if prefer == "surface":
            return larger, box_surface(box, lines), routers, max(box), box
        sign = 1 if prefer == "worst-bisection" else -1
        return larger, sign * box_bisection_cables(box, lines), routers, max(box), box

    return tuple(sorted(boxes, key=key))


BoxSide = Annotated[Whole, Field(ge=1)]


class Box(Allocation):
    """Base of the policies that allocate a free cuboid of routers in a grid."""

    needs = "dimensions"

    prefer: Prefer = Field(
        "best-bisection",
        description="which of equally large cuboids are tried first: by their bisection, those with the smallest "
        "surface, or those longest in the first dimensions (planes), which leaves entire planes to other jobs",
    )

    def routers_needed(self, machine: Machine | Topology, nodes: int) -> int:
        """Return the number of routers that have `nodes` nodes; all routers of a grid have equally many."""
        return -(-nodes // (machine.nodes // machine.routers))

    def nodes_of_box(self, machine: Topology, box: BoxSides) -> int:
        return math.prod(box) * (machine.nodes // machine.routers)

    def check_sides(self, machine: Topology, key: str) -> None:
        """Raise ConfigError, with the path `key`, if the cuboid of this key does not fit in a machine."""
        sides, lines = getattr(self, key), dimensions_of(machine)
        if len(sides) != len(lines):
            problem = f"{len(sides)} sides for a machine of {len(lines)} dimensions"
            raise ConfigError(problem, "write one side per dimension", (key,), list(sides), "out-of-range")
        if any(side > line.length for side, line in zip(sides, lines, strict=True)):
            problem = f"the cuboid does not fit in {shape_of(machine)}"
            raise ConfigError(problem, "shorten it", (key,), list(sides), "does-not-fit")

    def first_free(self, request: Request, boxes: Iterable[BoxSides], what: str, step: BoxSides | None = None) -> Grant:
        """Allocate the first of the cuboids that is free, at its lowest free position; the job reserves all of it.

        Ranks fill the nodes in the order of the routers within the cuboid, first dimension fastest. Corners lie at
        multiples of `step`, if given; `what` describes the cuboids in the error message.

        Raises WorkloadError if none is free.
        """
        machine = request.machine
        used = np.bincount(machine.node_router[~request.free], minlength=machine.routers)
        # By router, the last dimension first.
        free = np.equal(used, 0).reshape([line.length for line in reversed(machine.dimensions)])
        for box in boxes:
            corner = _first_corner(free, box, machine.dimensions, step or (1,) * len(box))
            if corner is not None:
                nodes = _nodes_of(machine, corner, box)
                return Grant(nodes[: request.wanted], nodes)
        raise WorkloadError(f"no {what} is free; place large jobs first, or change the job's size")


def dimensions_of(machine: Topology) -> tuple[Dimension, ...]:
    assert isinstance(machine, GridConfig)  # callers need dimensions
    return machine.grid


def shape_of(machine: Topology) -> str:
    """Return the shape of a grid as text, such as ``4 x 4 x 2``."""
    return " x ".join(str(line.length) for line in dimensions_of(machine))


def _first_corner(free: Bools, box: BoxSides, lines: tuple[Dimension, ...], step: BoxSides) -> BoxSides | None:
    """Lowest coordinates of the first free cuboid, first dimension fastest, or None."""
    fits = free
    for axis, (side, line, stride) in enumerate(list(zip(box, lines, step, strict=True))[::-1]):
        if line.wrap and side < line.length:
            fits = np.concatenate([fits, np.take(fits, range(side - 1), axis)], axis)
        windows = np.lib.stride_tricks.sliding_window_view(fits, side, axis)
        fits = np.all(windows, axis=-1)[(slice(None),) * axis + (slice(None, None, stride),)]
    if not fits.any():
        return None
    corner = np.unravel_index(int(np.argmax(fits)), fits.shape)[::-1]
    return tuple(int(index) * stride for index, stride in zip(corner, step, strict=True))


def _nodes_of(machine: Machine, corner: BoxSides, box: BoxSides) -> Integers:
    """Nodes of the routers of a cuboid, first dimension fastest; nodes are numbered in the order of their routers."""
    router, stride = np.zeros(1, dtype=np.int64), 1
    for start, side, line in zip(corner, box, machine.dimensions, strict=True):
        along = (start + np.arange(side)) % line.length * stride
        router = (along[:, None] + router).reshape(-1)
        stride *= line.length
    per_router = machine.nodes // machine.routers
    return (router[:, None] * per_router + np.arange(per_router)).reshape(-1)


class ConvexBlock(Box, kind="convex-block"):
    """The smallest free cuboid of routers in a grid that holds the job.

    Dimension-order and adaptive routes do not leave it, so such jobs share no links (variable-sized blocks of Jain et
    al., IPDPS 2017, as on Blue Waters): on a ring its side is the full ring or at most half. The job reserves the
    entire cuboid.
    """

    spare: Number = Field(
        0.0,
        ge=0,
        le=1,
        description="share of routers beyond the job's need that a cuboid may have and still count as equally large; "
        "`prefer` then selects compact cuboids instead of the smallest ones",
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        routers = self.routers_needed(machine, nodes)
        if routers > machine.routers:
            return nodes
        return self.nodes_of_box(machine, convex_boxes(routers, dimensions_of(machine))[0])

    def allocate(self, request: Request) -> Grant:
        routers = self.routers_needed(request.machine, request.wanted)
        boxes = convex_boxes(routers, request.machine.dimensions, prefer=self.prefer, spare=self.spare)
        return self.first_free(request, boxes, f"convex block of at least {routers} routers")


class Cuboid(Box, kind="cuboid"):
    """A free cuboid of exactly the routers needed, which may wrap around a ring; the job reserves all of it."""

    shape: tuple[BoxSide, ...] | None = Field(
        None,
        min_length=1,
        description="routers along each dimension, at least as many as the job needs; default: chosen by `prefer`",
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        routers = self.routers_needed(machine, nodes)
        if self.shape is None:
            boxes = exact_boxes(routers, dimensions_of(machine))
            if not boxes:
                problem = f"no cuboid of exactly {routers} routers fits in {shape_of(machine)}"
                remedy = "change the job's size, set a shape, or use convex-block"
                raise ConfigError(problem, remedy, code="does-not-fit")
            return self.nodes_of_box(machine, boxes[0])
        self.check_sides(machine, "shape")
        if math.prod(self.shape) < routers:
            problem = f"the cuboid has {math.prod(self.shape)} routers, but the job's {nodes} nodes need {routers}"
            raise ConfigError(problem, "use a larger cuboid", ("shape",), list(self.shape), "does-not-fit")
        return self.nodes_of_box(machine, self.shape)

    def allocate(self, request: Request) -> Grant:
        """Allocate the cuboid of the given shape, else one of exactly the routers needed, the preferred ones first."""
        routers = self.routers_needed(request.machine, request.wanted)
        if self.shape:
            return self.first_free(request, [self.shape], f"cuboid of {' x '.join(map(str, self.shape))} routers")
        boxes = exact_boxes(routers, request.machine.dimensions, self.prefer)
        return self.first_free(request, boxes, f"cuboid of exactly {routers} routers")


class BuildingBlocks(Box, kind="building-blocks"):
    """A convex cuboid of blocks of one shape, into which the grid is divided (Jain et al., IPDPS 2017)."""

    block: tuple[BoxSide, ...] = Field(
        min_length=1, description="routers of a block along each dimension, a divisor of the dimension's length"
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        self.check_sides(machine, "block")
        lines = dimensions_of(machine)
        if any(line.length % side for side, line in zip(self.block, lines, strict=True)):
            problem = f"the block does not divide {shape_of(machine)}"
            remedy = "use a divisor of each dimension's length"
            raise ConfigError(problem, remedy, ("block",), list(self.block), "does-not-fit")
        boxes = convex_boxes(self.routers_needed(machine, nodes), lines, self.block)
        return self.nodes_of_box(machine, boxes[0]) if boxes else nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate the smallest free convex cuboid of blocks that holds the job, the preferred ones first."""
        routers = self.routers_needed(request.machine, request.wanted)
        boxes = convex_boxes(routers, request.machine.dimensions, self.block, self.prefer)
        return self.first_free(request, boxes, f"cuboid of blocks with {routers} routers or more", self.block)


class SwappedCluster(Allocation, kind="swapped-cluster"):
    """The first free nodes in an order in which pairs of nodes are swapped (Jain et al., IPDPS 2017).

    All jobs of a point see the same order, so that jobs that fill the machine exchange nodes.
    """

    swaps: Number = Field(
        0.05,
        ge=0,
        le=10,
        description="pairs of nodes swapped, one after another and the same for all jobs, as a share of the machine's "
        "nodes; 0.05 displaces 9.5 % of the nodes",
    )

    def allocate(self, request: Request) -> Grant:
        order = swapped(request.machine.nodes, self.swaps, request.common_rng)
        return Grant(order[request.free[order]][: request.wanted])


def swapped(nodes: int, share: float, rng: np.random.Generator) -> Integers:
    """Return the node numbers after ``share * nodes`` swaps of random pairs, one after another.

    Examples
    --------
    >>> order = swapped(10_000, 0.05, np.random.default_rng(1))
    >>> int(np.count_nonzero(order != np.arange(10_000)))
    958
    """
    order = np.arange(nodes)
    for pair in rng.integers(nodes, size=(round(share * nodes), 2)):
        order[pair] = order[pair[::-1]]
    return order


class TreePartition(Allocation, kind="tree-partition"):
    """Nodes of a fat tree by the rules under which jobs share no links (Jain et al., IPDPS 2017).

    one-leaf (i): nodes of one leaf. whole-leaves (ii): entire leaves of one pod, which the job reserves. shared-pods
    (iii): nodes of any pods in which every other job satisfies (i) or (ii); later jobs do so if they use this policy.
    whole-pods (iv): entire pods, which the job reserves. auto: the first of i, ii, iii that the job fits.
    """

    needs = "pods"
    rule: Literal["auto", "one-leaf", "whole-leaves", "shared-pods", "whole-pods"] = Field(
        "auto", description="the rule to apply"
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        assert isinstance(machine, FatTreeConfig)  # the policy needs pods
        leaf = machine.half_radix
        if self.rule == "one-leaf":
            check_fits(nodes, leaf, "leaf", self.rule)
        if self.rule == "whole-leaves":
            check_fits(nodes, machine.group_nodes, "pod", self.rule)
            return -(-nodes // leaf) * leaf
        return WholeGroups().reserved_nodes(machine, nodes) if self.rule == "whole-pods" else nodes

    def allocate(self, request: Request) -> Grant:
        rules = ("one-leaf", "whole-leaves", "shared-pods") if self.rule == "auto" else (self.rule,)
        for rule in rules:
            grant = _RULES[rule](request)
            if grant is not None:
                return grant
        raise WorkloadError(
            f"no {request.wanted} free nodes satisfy the rule {self.rule} of tree-partition; place large jobs first"
        )


def _one_leaf(request: Request) -> Grant | None:
    """(i) Nodes of the leaf with the fewest free nodes that are enough; other jobs may have its other nodes."""
    leaf = request.machine.node_router
    best = _best_fit(np.bincount(leaf[request.free], minlength=request.machine.routers), request.wanted)
    return None if best is None else Grant(_first_free(request, leaf == best))


def _whole_leaves(request: Request) -> Grant | None:
    """(ii) The first empty leaves of the pod with the fewest empty leaves that are enough; the job reserves them."""
    machine, leaf, pod = request.machine, request.machine.node_router, group_of_node(request)
    used = np.bincount(leaf[~request.free], minlength=machine.routers)
    on_empty_leaf = (used == 0)[leaf]
    best = _best_fit(np.bincount(pod[on_empty_leaf]), request.wanted)
    if best is None:
        return None
    nodes = np.flatnonzero(on_empty_leaf & (pod == best))
    last = leaf[nodes[request.wanted - 1]]
    return Grant(nodes[: request.wanted], nodes[leaf[nodes] <= last])


def _shared_pods(request: Request) -> Grant | None:
    """(iii) All free nodes of pods in which every job satisfies (i) or (ii), those with the most free nodes first.

    A job satisfies them if all its nodes are on one leaf, or on leaves of one pod that no other job uses. Nodes left
    free may later be allocated to jobs that satisfy (i) or (ii).
    """
    leaf, pod = request.machine.node_router, group_of_node(request)
    open_pods = np.ones(int(pod.max()) + 1, dtype=np.bool_)
    for job in np.unique(request.holder[request.holder != NO_JOB]):
        nodes = request.holder == job
        leaves, pods = np.unique(leaf[nodes]), np.unique(pod[nodes])
        exclusive = np.array_equal(np.isin(leaf, leaves), nodes) and len(pods) == 1
        if len(leaves) > 1 and not exclusive:
            open_pods[pods] = False
    free = np.bincount(pod[request.free], minlength=len(open_pods)) * open_pods
    order = np.argsort(-free, kind="stable")
    count = int(np.searchsorted(np.cumsum(free[order]), request.wanted)) + 1
    return None if count > len(order) else Grant(_first_free(request, np.isin(pod, order[:count])))


def _best_fit(free: Integers, wanted: int) -> int | None:
    """Index of the first element with the fewest free nodes that are enough, or None."""
    enough = np.flatnonzero(free >= wanted)
    return int(enough[np.argmin(free[enough])]) if len(enough) else None


def _first_free(request: Request, where: Bools) -> Integers:
    return np.flatnonzero(request.free & where)[: request.wanted]


_RULES: dict[str, Callable[[Request], Grant | None]] = {
    "one-leaf": _one_leaf,
    "whole-leaves": _whole_leaves,
    "shared-pods": _shared_pods,
    "whole-pods": WholeGroups().allocate,
}
