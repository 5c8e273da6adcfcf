"""Routings: one module per routing.

In: a `Machine`, the `Routing` of a study, and flows between routers (or from routers to nodes, for routings by
destination node).
Out: `Routes`: the bytes on each directed link for oblivious routings, the links that packets may use for all routings,
and the next hops of memoryless routings. The engines implement the same rules.
"""
