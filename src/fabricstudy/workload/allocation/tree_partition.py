"""Rules for fat trees under which jobs share no links."""

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.machine.base import Topology
from fabricstudy.machine.fat_tree import FatTreeConfig

from ..allocation import groups
from ..messages import Indices, Mask, WorkloadError
from .base import Allocation
from .request import NO_JOB, Grant, Request


@register
class TreePartition(Allocation):
    """Nodes of a fat tree by the rules under which jobs share no links (Jain et al., IPDPS 2017).

    one-leaf (i): nodes of one leaf. whole-leaves (ii): whole leaves of one pod, which the job holds. shared-pods
    (iii): nodes of any pods in which every other job keeps (i) or (ii) where it lies; jobs allocated later do so if
    they follow this policy. whole-pods (iv): whole pods, which the job holds. auto: the first of i, ii, iii that the
    job fits.
    """

    needs: ClassVar[str | None] = "pods"

    kind: Literal["tree-partition"] = "tree-partition"
    rule: Literal["auto", "one-leaf", "whole-leaves", "shared-pods", "whole-pods"] = Field(
        "auto", description="the rule to keep"
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        """Nodes of the leaves or pods that the rule reserves."""
        assert isinstance(machine, FatTreeConfig)  # the policy needs pods
        leaf = machine.half_radix
        if self.rule == "one-leaf":
            groups.check_fits(nodes, leaf, "leaf", self.rule)
        if self.rule == "whole-leaves":
            groups.check_fits(nodes, machine.group_nodes, "pod", self.rule)
            return -(-nodes // leaf) * leaf
        return groups.whole_nodes(machine, nodes) if self.rule == "whole-pods" else nodes

    def allocate(self, request: Request) -> Grant:
        """Take nodes by the rule of the study: see the model, and the function of each rule."""
        rules = ("one-leaf", "whole-leaves", "shared-pods") if self.rule == "auto" else (self.rule,)
        for rule in rules:
            grant = _RULES[rule](request)
            if grant is not None:
                return grant
        problem = f"no free {request.wanted} nodes keep the rule {self.rule} of tree-partition; place large jobs first"
        raise WorkloadError(problem)


def _one_leaf(request: Request) -> Grant | None:
    """(i) Nodes of the leaf with the fewest free nodes that are enough; other jobs may have the leaf's other nodes."""
    leaf = request.machine.node_router
    room = np.bincount(leaf[request.free], minlength=request.machine.routers)
    best = _tightest(room, request.wanted)
    return None if best is None else Grant(_first_free(request, leaf == best))


def _whole_leaves(request: Request) -> Grant | None:
    """(ii) The first empty leaves of the pod that has the fewest empty leaves that are enough; the job holds them."""
    machine, leaf = request.machine, request.machine.node_router
    taken = np.bincount(leaf[~request.free], minlength=machine.routers)
    empty = (taken == 0)[leaf]  # of each node: whether its leaf is
    best = _tightest(np.bincount(groups.group_of_node(request)[empty]), request.wanted)
    if best is None:
        return None
    nodes = np.flatnonzero(empty & (groups.group_of_node(request) == best))
    last = leaf[nodes[request.wanted - 1]]
    return Grant(nodes[: request.wanted], nodes[leaf[nodes] <= last])


def _shared_pods(request: Request) -> Grant | None:
    """(iii) All free nodes of pods in which every job keeps (i) or (ii), those with the most free nodes first.

    What the jobs there keep is judged by where they lie: all nodes they hold on one leaf, or on leaves of one pod
    that hold nobody else's. Nodes that are left free may later go to jobs that keep (i) or (ii).
    """
    pod = groups.group_of_node(request)
    open_pods = np.ones(int(pod.max()) + 1, dtype=np.bool_)
    for job in np.unique(request.holder[request.holder != NO_JOB]):
        mine = request.holder == job
        if not _keeps_to_itself(request, mine):
            open_pods[np.unique(pod[mine])] = False
    room = np.bincount(pod[request.free], minlength=len(open_pods)) * open_pods
    order = np.argsort(-room, kind="stable")
    pods = int(np.searchsorted(np.cumsum(room[order]), request.wanted)) + 1
    return None if pods > len(order) else Grant(_first_free(request, np.isin(pod, order[:pods])))


def _keeps_to_itself(request: Request, mine: Mask) -> bool:
    """Return whether a job, by the nodes it holds, keeps rule (i) or (ii)."""
    leaf = request.machine.node_router
    leaves = np.unique(leaf[mine])
    if len(leaves) == 1:
        return True
    alone = np.array_equal(np.isin(leaf, leaves), mine)
    return alone and len(np.unique(groups.group_of_node(request)[mine])) == 1


def _tightest(room: npt.NDArray[np.integer], wanted: int) -> int | None:
    """Number of the first place with the least room that is enough, or None."""
    enough = np.flatnonzero(room >= wanted)
    return int(enough[np.argmin(room[enough])]) if len(enough) else None


def _first_free(request: Request, where: Mask) -> Indices:
    return np.flatnonzero(request.free & where)[: request.wanted]


_RULES: dict[str, Callable[[Request], Grant | None]] = {
    "one-leaf": _one_leaf,
    "whole-leaves": _whole_leaves,
    "shared-pods": _shared_pods,
    "whole-pods": groups.allocate_whole_groups,
}
