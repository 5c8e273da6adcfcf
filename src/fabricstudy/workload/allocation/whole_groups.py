"""As many whole groups as the job needs."""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricstudy.kinds import register

from .base import Allocation
from .groups import whole
from .request import Grant, Request


@register
class WholeGroups(Allocation):
    """As many whole groups, or pods of a fat tree, as the job needs, which it holds.

    On dragonflies and fat trees minimal routes do not meet those of other such jobs; on a Slim Fly only the routes
    within one group keep to themselves.
    """

    needs: ClassVar[str | None] = "groups"

    kind: Literal["whole-groups"] = "whole-groups"

    def allocate(self, request: Request) -> Grant:
        """Take the first groups without jobs that together are large enough."""
        return whole(request)
