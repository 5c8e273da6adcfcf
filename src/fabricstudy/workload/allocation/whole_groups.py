"""As many entire groups as the job needs."""

from typing import ClassVar, Literal

from fabricstudy.core.kinds import register
from fabricstudy.machine.base import Topology

from .base import Allocation
from .groups import allocate_whole_groups, whole_nodes
from .request import Grant, Request


@register
class WholeGroups(Allocation):
    """As many entire groups, or pods of a fat tree, as the job needs; the job reserves all of them.

    On dragonflies and fat trees their minimal routes share no links with those of other such jobs; on a Slim Fly only
    the routes within one group are isolated.
    """

    needs: ClassVar[str | None] = "groups"

    kind: Literal["whole-groups"] = "whole-groups"

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        return whole_nodes(machine, nodes)

    def allocate(self, request: Request) -> Grant:
        return allocate_whole_groups(request)
