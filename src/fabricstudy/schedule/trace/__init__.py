"""Where jobs come from: one module a kind of trace.

In: what a study says of it, the size of the machine, a seed.
Out: `Jobs`, with a count of what was odd.
"""

from .base import Trace

__all__ = ["Trace"]
