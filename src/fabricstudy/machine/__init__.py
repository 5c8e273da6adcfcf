"""The machines: routers, cables and nodes, with bandwidths and latencies.

In: the machine of a study, `MachineConfig`.
Out: `build` gives the `Machine` as numpy arrays: the router of each node, one row for the cables between two
routers, and the table of link classes. A machine is built from its description alone, the same each time;
`keep_machine` and `load_machine` keep it under its id, as the one file that `Machine.save` writes.
Adding a topology: one module with `build(config)`, one line in `registry.py`, one entry in the config union.
Router and node numbers are those of the module's docstring; everything after this stage uses only the arrays.
"""

from .graph import Dimension, LinkClass, Machine
from .registry import build
from .stage import keep_machine, load_machine

__all__ = ["Dimension", "LinkClass", "Machine", "build", "keep_machine", "load_machine"]
