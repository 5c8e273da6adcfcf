"""The jobs: their nodes, the mapping of their ranks, and their messages.

In: the jobs of a point and its seed, its `Machine`, and one side of the machine's best cut.
Out: `place` returns a `PlacedJob` per job: the node of each rank, and its `Messages` by phase in a defined, seeded
send order, as plain numpy arrays. `write_workload_tables` writes them as tables, `hop_bytes` sums up bytes times hops.
The same point results in the same jobs on every host. A job that cannot be placed raises a `WorkloadError`.
Patterns, allocations and mappings are in the packages of these names.
"""
