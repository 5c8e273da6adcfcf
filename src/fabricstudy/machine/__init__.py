"""The machines: routers, cables and nodes, with bandwidths and latencies.

In: the machine of a study, `MachineConfig`.
Out: `build` gives the `Machine` as numpy arrays: the router of each node, one row for the cables between two
routers, and the table of link classes. A machine is built from its description alone, the same each time, and
`Machine.save` and `Machine.load` keep it as one file.
Adding a topology: one module with `build(config)`, one line in `registry.py`, one entry in the config union.
Router and node numbers are those of the module's docstring; everything after this stage uses only the arrays.
"""

from .graph import LinkClass, Machine
from .registry import build

__all__ = ["LinkClass", "Machine", "build"]
