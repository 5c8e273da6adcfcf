"""Where the routers of a machine stand in a picture, and which lines stand for its cables; one module a layout.

In: a machine. Out: a `Layout`. Grids are drawn as grids, trees level by level, machines of groups as groups on a
circle, and any other graph so that routers are the further apart the more hops are between them.
"""

from fabricstudy.report.layouts.base import Layout
from fabricstudy.report.layouts.choice import lay_out

__all__ = ["Layout", "lay_out"]
